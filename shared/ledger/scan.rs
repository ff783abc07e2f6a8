//! A transcript read from an offset, in bounded memory whatever the length of its lines, up to the end of
//! its last whole row. What the rows mean is left to `row`, which files to read to `update`.

use super::hash;
use super::row::{Kind, Reader, read_long};
use super::sighting::{Folder, Piece};
use memchr::{memchr, memmem, memrchr};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;

/// What is read at once: small enough to stay in a core's own cache.
const CHUNK: usize = 256 << 10;
/// Lines up to this length are held whole; a longer one is only passed over, and read again in a stream
/// if it speaks of usage.
const LONGEST_HELD: usize = 4 << 20;
/// The bytes before an offset by which a file is known again. The last fields of a row are the same in
/// every row of a session, so it must reach back to its uuid and time.
const RECENT: usize = 1024;
/// Both `"usage"` and `"modelUsage"` end in it; what stands before tells them from `"message"`.
const NEEDLE: &[u8] = b"sage\"";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads transcripts one after the other, keeping its buffers.
pub(super) struct Scanner {
    reader: Reader,
    finder: memmem::Finder<'static>,
    buffer: Vec<u8>,
}

/// How far a scan came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reached {
    /// The end of the last whole row.
    pub(super) offset: u64,
    /// Bytes read.
    pub(super) bytes: u64,
    /// The bytes before the offset.
    pub(super) recent: Vec<u8>,
    /// The end of the file was met.
    pub(super) at_end: bool,
}

/// From where to read: an offset and the bytes before it.
#[derive(Debug, Clone, Default)]
pub(super) struct Start {
    pub(super) offset: u64,
    pub(super) recent: Vec<u8>,
}

/// When to stop before the end of the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    /// After about so many bytes, at the end of a row.
    pub(super) bytes: u64,
    /// Even in the middle of a row.
    pub(super) hard: bool,
}

/// The hash of the bytes before an offset.
pub(super) fn recent_hash(recent: &[u8]) -> u64 {
    hash::of_bytes(b't', recent)
}

/// The bytes before an offset, as they stand in the file now.
pub(super) fn recent(file: &File, offset: u64) -> io::Result<Vec<u8>> {
    let length = offset.min(RECENT as u64);
    let mut bytes = vec![0; length as usize];
    file.read_exact_at(&mut bytes, offset - length)?;
    Ok(bytes)
}

impl Scanner {
    pub(super) fn new() -> Self {
        Self { reader: Reader::default(), finder: memmem::Finder::new(NEEDLE), buffer: vec![0; CHUNK] }
    }

    /// Reads on and folds the rows into the piece.
    pub(super) fn scan(
        &mut self,
        file: &File,
        start: Start,
        limit: Limit,
        folder: Folder<'_>,
        piece: &mut Piece,
        progress: &dyn Fn(u64),
    ) -> io::Result<Reached> {
        let mut buffer = std::mem::take(&mut self.buffer);
        // The buffer holds what stands in the file from `offset` on.
        let Start { mut offset, mut recent } = start;
        let (mut held, mut bytes) = (0, 0);
        let at_end = loop {
            if held == buffer.len() && buffer.len() < LONGEST_HELD {
                buffer.resize(buffer.len() * 2, 0);
            }
            if held == buffer.len() {
                let enough = limit.hard.then(|| limit.bytes.saturating_sub(bytes));
                let Some(end) = self.pass_over(file, &buffer, offset, enough, &mut bytes, progress)? else {
                    break !limit.hard || bytes < limit.bytes;
                };
                let usage = end.speaks;
                if usage {
                    let section = Section { file, at: offset, end: end.at };
                    note(read_long(BufReader::with_capacity(CHUNK, section)), folder, piece);
                }
                offset = end.at + 1;
                recent = self::recent(file, offset)?;
                held = 0;
                continue;
            }
            let room = buffer.get_mut(held..).unwrap_or_default();
            let count = read_at(file, room, offset + held as u64)?;
            bytes += count as u64;
            progress(count as u64);
            let all = buffer.get(..held + count).unwrap_or_default();
            // Only what was just read can hold a new end of line.
            let end = memrchr(b'\n', all.get(held..).unwrap_or_default()).map(|at| held + at + 1);
            held += count;
            if let Some(end) = end {
                let rows = all.get(..end).unwrap_or_default();
                self.rows(rows, offset == 0, folder, piece);
                remember(&mut recent, rows);
                offset += end as u64;
                buffer.copy_within(end..held, 0);
                held -= end;
            }
            if count == 0 {
                break true;
            }
            if bytes >= limit.bytes && (limit.hard || end.is_some()) {
                break false;
            }
        };
        buffer.truncate(LONGEST_HELD);
        self.buffer = buffer;
        Ok(Reached { offset, bytes, recent, at_end })
    }

    /// Reads the rows among some whole lines.
    pub(super) fn rows(&mut self, lines: &[u8], at_start: bool, folder: Folder<'_>, piece: &mut Piece) {
        let lines = match lines.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) if at_start => rest,
            _ => lines,
        };
        let mut from = 0;
        while let Some(rest) = lines.get(from..) {
            let Some(found) = self.finder.find(rest) else { break };
            let at = from + found;
            if !speaks_of_usage(lines.get(..at).unwrap_or_default()) {
                from = at + NEEDLE.len();
                continue;
            }
            let start = memrchr(b'\n', lines.get(..at).unwrap_or_default()).map_or(0, |at| at + 1);
            let length = memchr(b'\n', lines.get(at..).unwrap_or_default());
            let end = length.map_or(lines.len(), |length| at + length);
            note(self.reader.read(lines.get(start..end).unwrap_or_default()), folder, piece);
            from = end + 1;
        }
    }

    /// Passes over a line longer than the buffer, looking for its end and for what it speaks of.
    fn pass_over(
        &self,
        file: &File,
        head: &[u8],
        offset: u64,
        enough: Option<u64>,
        bytes: &mut u64,
        progress: &dyn Fn(u64),
    ) -> io::Result<Option<LongLine>> {
        const OVERLAP: usize = 16;
        let mut speaks = self.speaks(head);
        let mut at = offset + head.len() as u64;
        let mut window = head.get(head.len().saturating_sub(OVERLAP)..).unwrap_or_default().to_vec();
        let mut passed = 0;
        loop {
            if enough.is_some_and(|enough| passed >= enough) {
                return Ok(None);
            }
            let kept = window.len();
            window.resize(kept + CHUNK, 0);
            let count = read_at(file, window.get_mut(kept..).unwrap_or_default(), at)?;
            window.truncate(kept + count);
            if count == 0 {
                return Ok(None);
            }
            *bytes += count as u64;
            passed += count as u64;
            progress(count as u64);
            let end = memchr(b'\n', window.get(kept..).unwrap_or_default());
            let line = window.get(..end.map_or(window.len(), |end| kept + end)).unwrap_or_default();
            speaks = speaks || self.speaks(line);
            if let Some(end) = end {
                return Ok(Some(LongLine { at: at + end as u64, speaks }));
            }
            at += count as u64;
            window.drain(..window.len().saturating_sub(OVERLAP));
        }
    }

    fn speaks(&self, bytes: &[u8]) -> bool {
        self.finder.find_iter(bytes).any(|at| speaks_of_usage(bytes.get(..at).unwrap_or_default()))
    }
}

/// The end of a long line, and whether it needs to be read.
struct LongLine {
    at: u64,
    speaks: bool,
}

/// Whether the needle found after these bytes ends one of the two names.
fn speaks_of_usage(before: &[u8]) -> bool {
    before.ends_with(b"\"u") || before.ends_with(b"\"modelU")
}

/// Counts what a line turned out to be.
fn note(kind: Kind<'_>, folder: Folder<'_>, piece: &mut Piece) {
    match kind {
        Kind::Message(row) => piece.add(&row, folder),
        Kind::Cost(cost) => piece.add_cost(&cost),
        Kind::Junk => piece.skipped += 1,
        Kind::Synthetic | Kind::Other => {}
    }
}

/// Keeps the last bytes before the offset.
fn remember(recent: &mut Vec<u8>, rows: &[u8]) {
    let new = rows.get(rows.len().saturating_sub(RECENT)..).unwrap_or_default();
    recent.drain(..(recent.len() + new.len()).saturating_sub(RECENT).min(recent.len()));
    recent.extend_from_slice(new);
}

fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    loop {
        match file.read_at(buffer, offset) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// A part of a file as a stream.
struct Section<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl Read for Section<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = ((self.end - self.at) as usize).min(buffer.len());
        let count = read_at(self.file, buffer.get_mut(..room).unwrap_or_default(), self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const FOLDER: Folder<'_> = Folder { session: "s", project: "p" };

    fn row(id: &str, content: &str) -> String {
        format!(
            r#"{{"type":"assistant","message":{{"id":"{id}","model":"m","content":"{content}","usage":{{"output_tokens":1}}}}}}"#
        )
    }

    fn scan(text: &[u8], offset: u64, limit: Limit) -> (Reached, Vec<String>, u32) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        let mut piece = Piece::default();
        let start = Start { offset, recent: recent(&file, offset).unwrap() };
        let reached = Scanner::new().scan(&file, start, limit, FOLDER, &mut piece, &|_| {}).unwrap();
        assert_eq!(reached.recent, recent(&file, reached.offset).unwrap());
        (reached, piece.sightings.iter().map(|seen| seen.id.to_string()).collect(), piece.skipped)
    }

    const ALL: Limit = Limit { bytes: u64::MAX, hard: false };

    #[test]
    fn a_half_row_at_the_end_is_left_for_later() {
        let text = format!("\u{feff}{}\r\n\nundefined\n{}", row("a", "x"), row("b", "é"));
        for cut in 0..text.len() {
            let whole = text.as_bytes()[..cut].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let (reached, ids, _) = scan(&text.as_bytes()[..cut], 0, ALL);
            assert_eq!(reached.offset, whole as u64);
            assert_eq!(ids.len(), usize::from(whole > 0));
        }
        let (_, ids, _) = scan(format!("{text}\n").as_bytes(), 0, ALL);
        assert_eq!(ids, ["a", "b"]);
    }

    #[test]
    fn a_row_is_found_whatever_its_length() {
        for length in [CHUNK - 100, CHUNK, CHUNK * 3, LONGEST_HELD - 100, LONGEST_HELD + 1, LONGEST_HELD * 3]
        {
            let text = format!("{}\n{}\n{}\n", row("a", ""), row("b", &"x".repeat(length)), row("c", ""));
            let (reached, ids, skipped) = scan(text.as_bytes(), 0, ALL);
            assert_eq!(
                (ids.as_slice(), skipped),
                (["a", "b", "c"].map(String::from).as_slice(), 0),
                "{length}"
            );
            assert_eq!(reached.offset, text.len() as u64);
            let (reached, ids, _) = scan(&text.as_bytes()[..text.len() - 120 - row("c", "").len()], 0, ALL);
            assert_eq!((ids.len(), reached.offset), (1, row("a", "").len() as u64 + 1), "{length} cut");
        }
    }

    #[test]
    fn a_limit_stops_at_the_end_of_a_row_and_a_hard_one_anywhere() {
        let text = format!("{}\n", row("a", &"x".repeat(3000))).repeat(400);
        let (reached, _, _) = scan(text.as_bytes(), 0, Limit { bytes: 10, hard: false });
        assert!(reached.offset > 0 && reached.offset < text.len() as u64 && !reached.at_end);
        let long = "x".repeat(LONGEST_HELD * 2);
        let (reached, _, _) = scan(long.as_bytes(), 0, Limit { bytes: 1 << 20, hard: true });
        assert!(reached.offset == 0 && !reached.at_end);
    }

    #[test]
    fn junk_is_counted_and_stops_nothing() {
        let text = format!(
            "{}\n{}\n[1,{{\"usage\":5}}]\n{}\n",
            row("a", ""),
            "{\"type\":\"assistant\",\"message\":{\"usage\":{\"out",
            row("b", "")
        );
        let (_, ids, skipped) = scan(text.as_bytes(), 0, ALL);
        assert_eq!((ids.len(), skipped), (2, 2));
    }
}
