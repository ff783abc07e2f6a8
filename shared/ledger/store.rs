//! The records on disk: an append-only file, trusted up to a committed length, with an index into it.
//! When to commit, and what the records add up to, is left to `state`, `book` and `update`.

use super::disk::Disk;
use super::hash;
use super::index::{self, Index};
use super::layout::{Bytes, Place, SIZE};
use super::record::{self, Record};
use super::sighting::id_kind;
use super::winner::Part;
use crate::error::{Error, Result};
use crate::exit::Exit;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Records held before they are written without a commit, to keep memory bounded.
const TAIL: usize = 24 * 1024;
/// Index pages held before the same.
const PAGES: usize = 6 << 20;
/// Records read at once when the whole file is walked.
const STRIDE: usize = 512;

/// The file of records of an era.
pub(super) fn facts_path(dir: &Path, era: u32) -> PathBuf {
    dir.join(format!("facts.{era}"))
}

/// What the names of an era's index files begin with.
pub(super) fn index_path(dir: &Path, era: u32) -> PathBuf {
    dir.join(format!("index.{era}"))
}

/// The store is damaged: told apart from a failed read or write, since it is set aside and made anew.
pub(super) fn broken(path: &Path, what: &str) -> Error {
    Error::new(Exit::Data, "the ledger's store is damaged:").at(path).caused_by(what)
}

/// Whether an error says that the store is damaged.
pub(super) fn is_broken(error: &Error) -> bool {
    error.exit() == Exit::Data
}

/// The store, open for an update.
pub(super) struct Store<'d> {
    disk: &'d dyn Disk,
    path: PathBuf,
    file: File,
    /// Records below this stand in the file; the tail follows.
    written: Place,
    pub(super) tail: Vec<Bytes>,
    index: Index<'d>,
    unsynced: bool,
    pub(super) names: HashMap<Arc<str>, Place>,
    pub(super) texts: HashMap<Place, Arc<str>>,
}

impl<'d> Store<'d> {
    /// Opens the store of an era with its committed length, filling what the index lacks.
    pub(super) fn open(disk: &'d dyn Disk, dir: &Path, era: u32, committed: Place) -> Result<Self> {
        let path = facts_path(dir, era);
        let failed = |error| Error::io("cannot open", &path, &error);
        let file = disk.open(&path, committed == 0).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        if length < u64::from(committed) * SIZE as u64 {
            return Err(broken(&path, "it is shorter than what was committed"));
        }
        let stem = index_path(dir, era);
        let mut store = Self {
            disk,
            file,
            written: committed,
            tail: Vec::new(),
            index: Index::new(disk, &stem),
            unsynced: false,
            names: HashMap::new(),
            texts: HashMap::new(),
            path,
        };
        let stale = store.index.open(committed).map_err(|error| Error::io("cannot open", &stem, &error))?;
        for generation in stale {
            store.fill(generation)?;
        }
        Ok(store)
    }

    /// Makes a generation of the index anew from the records it covers.
    fn fill(&mut self, generation: usize) -> Result<()> {
        let range = index::range(generation);
        let end = range.end.min(u64::from(self.written));
        for place in range.start..end {
            let place = place as Place;
            if let Some(hash) = self.key(place, &self.record(place)?)? {
                self.index.insert(hash, place).map_err(|error| self.index_error(&error))?;
            }
        }
        self.index.flush(self.written, true).map_err(|error| self.index_error(&error))
    }

    fn index_error(&self, error: &std::io::Error) -> Error {
        Error::io("cannot write the index of", &self.path, error)
    }

    /// The length: where the next record goes.
    pub(super) fn length(&self) -> Place {
        self.written + self.tail.len() as Place
    }

    fn bytes(&self, place: Place) -> Result<Bytes> {
        if let Some(at) = place.checked_sub(self.written) {
            return self
                .tail
                .get(at as usize)
                .copied()
                .ok_or_else(|| broken(&self.path, &format!("a link points past the end, to {place}")));
        }
        let mut bytes = [0; SIZE];
        let offset = u64::from(place) * SIZE as u64;
        self.file
            .read_exact_at(&mut bytes, offset)
            .map_err(|error| Error::io("cannot read", &self.path, &error))?;
        Ok(bytes)
    }

    /// The record at a place.
    pub(super) fn record(&self, place: Place) -> Result<Record> {
        record::read(&self.bytes(place)?)
            .ok_or_else(|| broken(&self.path, &format!("record {place} does not hold its check")))
    }

    /// The key under which a record is found; name parts are only found through their first.
    fn key(&self, place: Place, record: &Record) -> Result<Option<u64>> {
        Ok(match record {
            Record::Message(message) => {
                let id = hash::of_bytes(id_kind(message.without_id), self.id(message.id)?.as_bytes());
                Some(if message.further { further_key(id, message.member.part) } else { id })
            }
            Record::Session(session) => Some(session_key(session.name)),
            Record::Grant(grant) => Some(grant_key(grant.session, grant.number)),
            Record::Served(served) => {
                let id = hash::of_bytes(id_kind(false), self.id(served.id)?.as_bytes());
                Some(served_key(served.session, id))
            }
            Record::Name { .. } => Some(hash::of_bytes(b'n', self.read_name(place)?.as_bytes())),
            Record::More(_) => None,
        })
    }

    /// The file of records, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn candidates(&mut self, hash: u64) -> Result<Vec<Place>> {
        let length = self.length();
        self.index.candidates(hash, length).map_err(|error| self.index_error(&error))
    }

    pub(super) fn index(&mut self, hash: u64, place: Place) -> Result<()> {
        self.index.insert(hash, place).map_err(|error| self.index_error(&error))
    }

    /// The newest record under a key that `wanted` takes.
    pub(super) fn find<T>(
        &mut self,
        hash: u64,
        wanted: impl Fn(&Self, Record) -> Result<Option<T>>,
    ) -> Result<Option<(Place, T)>> {
        for place in self.candidates(hash)? {
            if let Some(found) = wanted(self, self.record(place)?)? {
                return Ok(Some((place, found)));
            }
        }
        Ok(None)
    }

    /// Adds a record.
    pub(super) fn add(&mut self, hash: u64, bytes: impl FnOnce(u32) -> Bytes) -> Result<Place> {
        let place = self.length();
        if place == Place::MAX {
            return Err(Error::new(Exit::Io, "the ledger's store is full:").at(&self.path));
        }
        self.tail.push(bytes(0));
        self.index(hash, place)?;
        Ok(place)
    }

    /// Puts a newer version in a record's place: over it while it is not written yet, else behind all others.
    pub(super) fn supersede(
        &mut self,
        hash: u64,
        place: Place,
        bytes: impl FnOnce(u32) -> Bytes,
    ) -> Result<Place> {
        let at = place.checked_sub(self.written).and_then(|at| self.tail.get_mut(at as usize));
        if let Some(old) = at {
            *old = bytes(record::previous(old));
            return Ok(place);
        }
        self.add(hash, |_| bytes(place + 1))
    }

    /// Whether so much is held that it should be written.
    pub(super) fn is_heavy(&self) -> bool {
        self.tail.len() > TAIL || self.index.held() > PAGES
    }

    /// Writes what is held. Only a commit makes it count.
    pub(super) fn write(&mut self, sync: bool) -> Result<()> {
        let failed = |error| Error::io("cannot write", &self.path, &error);
        if !self.tail.is_empty() {
            let bytes = self.tail.as_flattened();
            self.disk.write(&self.file, bytes, u64::from(self.written) * SIZE as u64).map_err(failed)?;
            self.written += self.tail.len() as Place;
            self.tail.clear();
            self.unsynced = true;
        }
        if sync && self.unsynced {
            self.disk.sync(&self.file).map_err(failed)?;
            self.unsynced = false;
        }
        // Bounded like everything else; what is needed again is read again.
        if self.names.len() > 1 << 14 {
            self.names.clear();
        }
        if self.texts.len() > 1 << 14 {
            self.texts.clear();
        }
        self.index.flush(self.written, sync).map_err(|error| self.index_error(&error))
    }

    /// Some records from a place on, at least one where there is one.
    pub(super) fn block(&self, place: Place) -> Result<Vec<Bytes>> {
        if place >= self.written {
            return Ok(self.tail.get((place - self.written) as usize..).unwrap_or_default().to_vec());
        }
        let mut records = vec![[0; SIZE]; ((self.written - place) as usize).min(STRIDE)];
        self.file
            .read_exact_at(records.as_flattened_mut(), u64::from(place) * SIZE as u64)
            .map_err(|error| Error::io("cannot read", &self.path, &error))?;
        Ok(records)
    }

    /// Walks over all records in order, with the version each one supersedes.
    pub(super) fn walk(&self, mut each: impl FnMut(Place, &Bytes) -> Result<()>) -> Result<()> {
        walk(&self.file, &self.path, self.written, &mut each)?;
        self.tail.iter().zip(self.written..).try_for_each(|(bytes, place)| each(place, bytes))
    }
}

/// Walks over the records of a file in order.
pub(super) fn walk(
    file: &File,
    path: &Path,
    length: Place,
    each: &mut dyn FnMut(Place, &Bytes) -> Result<()>,
) -> Result<()> {
    let mut buffer = vec![[0; SIZE]; STRIDE];
    let mut place: Place = 0;
    while place < length {
        let count = ((length - place) as usize).min(STRIDE);
        let records = buffer.get_mut(..count).unwrap_or_default();
        file.read_exact_at(records.as_flattened_mut(), u64::from(place) * SIZE as u64)
            .map_err(|error| Error::io("cannot read", path, &error))?;
        for bytes in records {
            each(place, bytes)?;
            place += 1;
        }
    }
    Ok(())
}

/// The key of a part that is not its id's first.
pub(super) fn further_key(id: u64, part: Part) -> u64 {
    match part {
        Part::Request(reference) => hash::of_numbers(b'R', [id, reference]),
        Part::Input(input) => hash::of_numbers(b'I', [id, input]),
    }
}

/// The key of a session.
pub(super) fn session_key(name: Place) -> u64 {
    hash::of_numbers(b's', [u64::from(name), 0])
}

/// The key of a session's grant.
pub(super) fn grant_key(session: Place, number: u32) -> u64 {
    hash::of_numbers(b'g', [u64::from(session), u64::from(number)])
}

/// The key of who answered a message of a session, by the hash of its id.
pub(super) fn served_key(session: Place, id: u64) -> u64 {
    hash::of_numbers(b'v', [u64::from(session), id])
}

#[cfg(test)]
mod tests {
    use super::super::disk::RealDisk;
    use super::*;

    #[test]
    fn a_damaged_record_and_a_short_file_are_told() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(&RealDisk, dir.path(), 1, 0).unwrap();
        let place = store.name("text").unwrap();
        store.write(true).unwrap();
        let path = facts_path(dir.path(), 1);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[9] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let store = Store::open(&RealDisk, dir.path(), 1, 1).unwrap();
        assert!(is_broken(&store.record(place).unwrap_err()));
        assert!(is_broken(&Store::open(&RealDisk, dir.path(), 1, 2).map(|_| ()).unwrap_err()));
    }
}
