//! The commit: one small file, replaced whole, that says up to where the records count, how far each
//! transcript was read and what it all adds up to. What the sums mean is left to `book`.

use super::book::Book;
use super::disk::{self, Disk};
use super::hash;
use super::layout::Place;
use super::store::broken;
use crate::error::{Error, Result};
use crate::exit::Exit;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const MAGIC: [u8; 8] = *b"moledger";
/// The format of the store. A newer one is left alone, an older one is migrated by reading its records.
/// Version 1 knew nothing of the gateway's audit: its fields are zero there, and it was not read yet.
const VERSION: u64 = 2;
const HEAD: usize = 8 * 7;

/// How far a transcript was read, and by what it is known again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mark {
    pub(super) device: u64,
    pub(super) inode: u64,
    /// The end of the last whole row.
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) modified: u64,
    pub(super) changed: u64,
    /// The hash of the bytes before the offset.
    pub(super) recent: u64,
    pub(super) rows: u32,
    pub(super) skipped: u32,
}

/// A dispatch record that was read, and when it had been written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Seen {
    pub(super) dispatch: u64,
    pub(super) modified: u64,
}

/// Everything that an update begins from.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct State {
    /// Which set of files; a rebuild makes a new one.
    pub(super) era: u32,
    /// How many records count.
    pub(super) length: Place,
    /// One more with every commit.
    pub(super) generation: u64,
    pub(super) book: Book,
    /// Sorted by device and inode.
    pub(super) marks: Vec<Mark>,
    /// Sorted by dispatch.
    pub(super) seen: Vec<Seen>,
}

/// Where the state lies.
pub(super) fn path(dir: &Path) -> PathBuf {
    dir.join("state")
}

impl State {
    /// Reads the state; `None` when there is none yet.
    pub(super) fn read(dir: &Path) -> Result<Option<Self>> {
        let path = path(dir);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("cannot read", &path, &error)),
        };
        if bytes.get(..8) == Some(&MAGIC) && number(&bytes, 8) > Some(VERSION) {
            return Err(Error::new(Exit::Config, "a newer mo-ledger wrote").at(&path).hint(
                "update model-orchestration, or move its folder away and run `mo-ledger rebuild`: it counts what is still there",
            ));
        }
        decode(&bytes).map(Some).ok_or_else(|| broken(&path, "it does not hold its check"))
    }

    /// Replaces the state: from then on what it says counts.
    pub(super) fn commit(&self, disk: &dyn Disk, dir: &Path) -> Result<()> {
        let path = path(dir);
        disk::replace(disk, &path, &encode(self), true)
            .map_err(|error| Error::io("cannot write", &path, &error))
    }

    /// How far a file was read.
    pub(super) fn mark(&self, device: u64, inode: u64) -> Option<&Mark> {
        self.marks
            .binary_search_by_key(&(device, inode), |mark| (mark.device, mark.inode))
            .ok()
            .and_then(|at| self.marks.get(at))
    }
}

pub(super) fn encode(state: &State) -> Vec<u8> {
    let book = serde_json::to_vec(&state.book).unwrap_or_default();
    let mut bytes = MAGIC.to_vec();
    let mut put = |number: u64| bytes.extend_from_slice(&number.to_le_bytes());
    put(VERSION);
    put(u64::from(state.era));
    put(u64::from(state.length));
    put(state.generation);
    put(book.len() as u64);
    put(state.marks.len() as u64);
    for mark in &state.marks {
        for number in
            [mark.device, mark.inode, mark.offset, mark.size, mark.modified, mark.changed, mark.recent]
        {
            put(number);
        }
        put(u64::from(mark.rows) << 32 | u64::from(mark.skipped));
    }
    for seen in &state.seen {
        put(seen.dispatch);
        put(seen.modified);
    }
    bytes.extend_from_slice(&book);
    let check = hash::of_bytes(b'S', &bytes);
    bytes.extend_from_slice(&check.to_le_bytes());
    bytes
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

pub(super) fn decode(bytes: &[u8]) -> Option<State> {
    let end = bytes.len().checked_sub(8)?;
    let body = bytes.get(..end)?;
    if body.get(..8)? != MAGIC
        || !(1..=VERSION).contains(&number(body, 8)?)
        || number(bytes, end)? != hash::of_bytes(b'S', body)
    {
        return None;
    }
    let book_at = end.checked_sub(usize::try_from(number(body, 40)?).ok()?)?;
    let marks = usize::try_from(number(body, 48)?).ok()?;
    let numbers = |from: usize, to: usize| {
        body.get(from..to).map(|bytes| {
            bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()))
        })
    };
    let marks_end = HEAD.checked_add(marks.checked_mul(64)?)?;
    let mut words = numbers(HEAD, marks_end)?;
    let mut all_marks = Vec::with_capacity(marks);
    for _ in 0..marks {
        let mut next = || words.next().unwrap_or(0);
        let mut mark = Mark {
            device: next(),
            inode: next(),
            offset: next(),
            size: next(),
            modified: next(),
            changed: next(),
            recent: next(),
            ..Mark::default()
        };
        let counts = next();
        (mark.rows, mark.skipped) = ((counts >> 32) as u32, counts as u32);
        all_marks.push(mark);
    }
    let words: Vec<u64> = numbers(marks_end, book_at)?.collect();
    let seen = words
        .as_chunks::<2>()
        .0
        .iter()
        .map(|[dispatch, modified]| Seen { dispatch: *dispatch, modified: *modified });
    Some(State {
        era: u32::try_from(number(body, 16)?).ok()?,
        length: Place::try_from(number(body, 24)?).ok()?,
        generation: number(body, 32)?,
        book: serde_json::from_slice(body.get(book_at..)?).ok()?,
        marks: all_marks,
        seen: seen.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::disk::RealDisk;
    use super::*;

    fn state() -> State {
        let mark = Mark { device: 1, inode: 2, offset: 3, rows: 7, skipped: u32::MAX, ..Mark::default() };
        State {
            era: 3,
            length: 9,
            generation: 12,
            marks: vec![mark, Mark { inode: 5, ..mark }],
            seen: vec![Seen { dispatch: 1, modified: 2 }],
            ..State::default()
        }
    }

    #[test]
    fn it_reads_back_as_written_and_finds_its_marks() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(State::read(dir.path()).unwrap(), None);
        state().commit(&RealDisk, dir.path()).unwrap();
        let read = State::read(dir.path()).unwrap().unwrap();
        assert_eq!(read, state());
        assert_eq!(read.mark(1, 5).map(|mark| mark.rows), Some(7));
        assert_eq!(read.mark(2, 2), None);
    }

    #[test]
    fn any_cut_or_flipped_bit_is_seen() {
        let bytes = encode(&state());
        for at in 0..bytes.len() {
            assert_eq!(decode(&bytes[..at]), None);
            let mut broken = bytes.clone();
            broken[at] ^= 4;
            assert_eq!(decode(&broken), None, "byte {at}");
        }
    }

    #[test]
    fn a_newer_format_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let mut bytes = encode(&state());
        bytes[8] = 3;
        std::fs::write(path(dir.path()), bytes).unwrap();
        assert_eq!(State::read(dir.path()).unwrap_err().exit(), Exit::Config);
    }
}
