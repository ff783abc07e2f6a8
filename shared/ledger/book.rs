//! The sums that are kept up to date with every message, so that nothing needs to be added up when a hook
//! asks: totals, workers by model, manager sessions. How they change is left to `tally`.

use super::audit::AuditMarks;
use super::usage::Total;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Prompts above each of these have another price at some providers.
pub const STEPS: [u64; 3] = [100_000, 200_000, 512_000];
/// How many manager sessions are kept at hand.
pub(super) const MANAGERS: usize = 64;

/// Messages of one worker and model, by the size of their prompt: up to each of [`STEPS`], and above.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cell {
    bands: [Total; STEPS.len() + 1],
}

impl Cell {
    /// The sum that a message with this prompt belongs to.
    pub(super) fn band(&mut self, prompt: u64) -> &mut Total {
        let [first, second, third, last] = &mut self.bands;
        match STEPS.iter().position(|step| prompt <= *step) {
            Some(0) => first,
            Some(1) => second,
            Some(2) => third,
            _ => last,
        }
    }

    /// All sums, each with the smallest and the largest prompt that it can hold.
    pub fn bands(&self) -> impl Iterator<Item = (u64, u64, Total)> {
        let from = std::iter::once(0).chain(STEPS.iter().map(|step| step + 1));
        let to = STEPS.iter().copied().chain([u64::MAX]);
        from.zip(to).zip(self.bands).map(|((from, to), total)| (from, to, total))
    }
}

/// The sums over all sessions that dispatched workers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AllTime {
    /// Fresh tokens of the workers they dispatched.
    pub worker_fresh: u64,
    /// Fresh tokens of both together.
    pub fresh: u64,
    /// How many sessions.
    pub sessions: u64,
}

/// A session that dispatched workers, or whose messages the gateway gave to some: fresh tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Manager {
    /// The session.
    pub session: String,
    /// When it last did or dispatched something, in milliseconds since 1970.
    pub at: i64,
    /// Its own tokens.
    pub main: u64,
    /// Those of the workers that worked for it.
    pub by_worker: BTreeMap<String, u64>,
}

/// All sums, and what an update found worth telling.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Book {
    /// All messages with an id.
    pub totals: Total,
    /// Rows without an id.
    pub no_id: Total,
    /// Messages whose rows all lack a stop reason.
    pub incomplete: u64,
    /// Messages that the gateway's audit gives to several workers; they stay with their session.
    pub contested: u64,
    /// By worker, then model.
    pub workers: BTreeMap<String, BTreeMap<String, Cell>>,
    /// Over all sessions that dispatched workers.
    pub all_time: AllTime,
    /// The sessions that dispatched workers last, the newest at the end.
    pub managers: Vec<Manager>,
    /// Rows and skipped lines of transcripts that are gone.
    pub gone_rows: u64,
    /// See `gone_rows`.
    pub gone_skipped: u64,
    /// Folders and files that could not be read last time.
    pub unreadable: Vec<String>,
    /// Months of dispatch records, with the time their folder changed.
    pub months: BTreeMap<String, u64>,
    /// How far the gateway's audit was read.
    pub(super) audit: AuditMarks,
    /// Where a damaged store was set aside, until the next rebuild.
    pub set_aside: Option<String>,
    /// The first run over everything is not done yet.
    pub catching_up: bool,
}

impl Book {
    /// The sum of one worker.
    pub fn worker(&self, name: &str) -> Total {
        let mut sum = Total::default();
        for cell in self.workers.get(name).into_iter().flat_map(BTreeMap::values) {
            cell.bands.iter().for_each(|band| sum += *band);
        }
        sum
    }

    /// Puts a manager session's sums in its place and keeps the newest.
    pub(super) fn put_manager(&mut self, manager: Manager) {
        self.drop_manager(&manager.session);
        self.managers.push(manager);
        self.managers.sort_by(|a, b| (a.at, &a.session).cmp(&(b.at, &b.session)));
        let surplus = self.managers.len().saturating_sub(MANAGERS);
        self.managers.drain(..surplus);
    }

    /// Forgets a session that turned out to have dispatched nothing.
    pub(super) fn drop_manager(&mut self, session: &str) {
        self.managers.retain(|manager| manager.session != session);
    }

    /// The same notes with all sums at zero.
    pub(super) fn emptied(&self) -> Self {
        Self {
            gone_rows: self.gone_rows,
            gone_skipped: self.gone_skipped,
            unreadable: self.unreadable.clone(),
            months: self.months.clone(),
            audit: self.audit.clone(),
            set_aside: self.set_aside.clone(),
            catching_up: self.catching_up,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_falls_into_the_band_of_its_prompt() {
        let mut cell = Cell::default();
        for prompt in [0, 100_000, 100_001, 200_001, 512_001] {
            cell.band(prompt).messages += 1;
        }
        let bands: Vec<_> = cell.bands().map(|(from, to, total)| (from, to, total.messages)).collect();
        let expected =
            [(0, 100_000, 2), (100_001, 200_000, 1), (200_001, 512_000, 1), (512_001, u64::MAX, 1)];
        assert_eq!(bands, expected);
    }

    #[test]
    fn the_newest_manager_sessions_are_kept() {
        let mut book = Book::default();
        for at in (0..100).rev() {
            let session = format!("s{at}");
            book.put_manager(Manager { session, at, ..Manager::default() });
        }
        book.put_manager(Manager { session: "s99".into(), at: 99, main: 7, ..Manager::default() });
        assert_eq!(book.managers.len(), MANAGERS);
        assert_eq!(book.managers.first().map(|manager| manager.at), Some(36));
        assert_eq!(book.managers.last().map(|manager| manager.main), Some(7));
    }
}
