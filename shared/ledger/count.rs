//! Transcripts counted on their own, without a store: what a filter needs. The rules are the ledger's.

use super::fact::{Fact, MAIN};
use super::homes;
use super::row::{Kind, Reader};
use super::scan::{Limit, Scanner, Start};
use super::sighting::{Folder, Piece, Sighting};
use super::winner::{Member, messages};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// A last line without its end is read when it is not longer than this.
const LONGEST_TAIL: u64 = 64 << 20;

/// Counts transcripts that are handed to it one after the other.
pub struct Counter {
    scanner: Scanner,
    piece: Piece,
}

impl Default for Counter {
    fn default() -> Self {
        Self { scanner: Scanner::new(), piece: Piece::default() }
    }
}

impl Counter {
    /// Reads one transcript to its end, a last line without its end included.
    pub fn read(&mut self, file: &File, path: &Path) -> io::Result<()> {
        let (session, project) = (homes::session_of(path), homes::project_of(path));
        let folder = Folder { session: &session, project: &project };
        let limit = Limit { bytes: u64::MAX, hard: false };
        let reached = self.scanner.scan(file, Start::default(), limit, folder, &mut self.piece, &|_| {})?;
        let left = file.metadata()?.len().saturating_sub(reached.offset);
        if left > LONGEST_TAIL {
            self.piece.skipped += 1;
            return Ok(());
        }
        let mut tail = vec![0; left as usize];
        file.read_exact_at(&mut tail, reached.offset)?;
        // Half a row is what every transcript ends in while it is written: it is no skipped line.
        if !matches!(Reader::default().read(&tail), Kind::Junk) {
            self.scanner.rows(&tail, reached.offset == 0, folder, &mut self.piece);
        }
        Ok(())
    }

    /// Rows with usage that were read.
    pub fn rows(&self) -> u64 {
        u64::from(self.piece.rows)
    }

    /// Lines that speak of usage and could not be read.
    pub fn skipped_lines(&self) -> u64 {
        u64::from(self.piece.skipped)
    }

    /// The counted messages, in no order; nobody is credited.
    pub fn facts(&self) -> Vec<Fact> {
        let mut ids: BTreeMap<(bool, &str), Vec<&Sighting>> = BTreeMap::new();
        for sighting in &self.piece.sightings {
            ids.entry((sighting.without_id, &sighting.id)).or_default().push(sighting);
        }
        let mut texts: BTreeMap<u32, Arc<str>> = BTreeMap::new();
        let mut text = |at: u32| Arc::clone(texts.entry(at).or_insert_with(|| self.piece.text(at).into()));
        let mut facts = Vec::with_capacity(ids.len());
        for parts in ids.values() {
            let members: Vec<Member> = parts.iter().map(|part| part.member).collect();
            for group in messages(&members, |a, b| self.rank(parts.get(a), parts.get(b))) {
                let Some(winner) = group.first().and_then(|at| parts.get(*at)) else { continue };
                let finished = group.iter().any(|at| members.get(*at).is_some_and(|member| member.finished));
                let claim = winner.member.claim;
                facts.push(Fact {
                    id: winner.id.to_string(),
                    usage: claim.usage,
                    model: text(winner.model),
                    session: text(winner.session),
                    manager: None,
                    worker: MAIN.into(),
                    project: text(winner.project),
                    at: claim.at,
                    sidechain: claim.sidechain,
                    incomplete: !finished,
                    without_id: winner.without_id,
                });
            }
        }
        facts
    }

    fn rank(&self, a: Option<&&Sighting>, b: Option<&&Sighting>) -> std::cmp::Ordering {
        let texts = |part: &Sighting| [part.session, part.model, part.project].map(|at| self.piece.text(at));
        match (a, b) {
            (Some(a), Some(b)) => (a.member.claim.rank(&b.member.claim))
                .then_with(|| texts(a).cmp(&texts(b)))
                .then(a.member.part.cmp(&b.member.part)),
            _ => a.is_none().cmp(&b.is_none()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_last_row_without_its_end_counts_and_half_a_row_does_not() {
        let row = r#"{"type":"assistant","message":{"id":"a","usage":{"output_tokens":7}}}"#;
        for (tail, messages) in [(row, 1), (&row[..row.len() - 2], 0), ("", 0)] {
            let mut file = tempfile::tempfile().unwrap();
            write!(file, "{{}}\n{tail}").unwrap();
            let mut counter = Counter::default();
            counter.read(&file, Path::new("s.jsonl")).unwrap();
            assert_eq!((counter.facts().len(), counter.skipped_lines()), (messages, 0));
        }
    }
}
