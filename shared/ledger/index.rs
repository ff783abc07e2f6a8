//! Where a record lies, by the hash of its key: open addressing on disk, read and written by pages, in
//! generations that are never rebuilt as the store grows. What a key is is left to `store`.
//!
//! A generation covers a fixed range of places, each four times as large as the one before. Slots are only
//! ever added. A slot is a hint: it counts only where it points below the committed length and the record
//! there has the key. So a slot of an update that was cut off is harmless, and a missing or old index file
//! is rebuilt from the records of its range.

use super::disk::Disk;
use super::hash;
use super::layout::Place;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const PAGE: usize = 4096;
const SLOT: usize = 8;
const SLOTS_IN_PAGE: u64 = (PAGE / SLOT) as u64;
/// Places in the first generation; twice as many slots, so that a chain stays short.
const FIRST: u64 = 1 << 14;
const MAGIC: u64 = u64::from_le_bytes(*b"moindex1");

/// The place of a record's slot, and what tells it apart there.
type Hash = u64;

struct Generation {
    file: File,
    slots: u64,
    /// Pages read or changed in this run, by number.
    pages: BTreeMap<u64, (Box<[u8; PAGE]>, bool)>,
    /// Something was written that is not on the medium for sure.
    unsynced: bool,
}

/// The index of one store.
pub(super) struct Index<'d> {
    disk: &'d dyn Disk,
    stem: PathBuf,
    generations: Vec<Generation>,
}

/// The places that a generation covers.
pub(super) fn range(generation: usize) -> std::ops::Range<u64> {
    let start = |generation: u32| FIRST * (4_u64.pow(generation) - 1) / 3;
    start(generation as u32)..start(generation as u32 + 1)
}

/// The generation of a place.
fn generation_of(place: Place) -> usize {
    let mut generation = 0;
    while !range(generation).contains(&u64::from(place)) {
        generation += 1;
    }
    generation
}

fn slot(hash: Hash, place: Place) -> u64 {
    (hash << 32) | (u64::from(place) + 1)
}

impl Generation {
    fn page(&mut self, number: u64) -> io::Result<&mut (Box<[u8; PAGE]>, bool)> {
        use std::collections::btree_map::Entry;
        match self.pages.entry(number) {
            Entry::Occupied(page) => Ok(page.into_mut()),
            Entry::Vacant(page) => {
                let mut bytes = Box::new([0; PAGE]);
                self.file.read_exact_at(bytes.as_mut_slice(), (number + 1) * PAGE as u64)?;
                Ok(page.insert((bytes, false)))
            }
        }
    }

    fn read(&mut self, at: u64) -> io::Result<u64> {
        let (page, _) = self.page(at / SLOTS_IN_PAGE)?;
        let from = (at % SLOTS_IN_PAGE) as usize * SLOT;
        Ok(page.get(from..from + SLOT).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes))
    }

    fn write(&mut self, at: u64, slot: u64) -> io::Result<()> {
        let (page, changed) = self.page(at / SLOTS_IN_PAGE)?;
        let from = (at % SLOTS_IN_PAGE) as usize * SLOT;
        page.iter_mut().skip(from).zip(slot.to_le_bytes()).for_each(|(to, from)| *to = from);
        *changed = true;
        Ok(())
    }

    /// The slots from a hash's own one on, until an empty one.
    fn first(&self, hash: Hash) -> u64 {
        ((u128::from(hash) * u128::from(self.slots)) >> 64) as u64
    }
}

impl<'d> Index<'d> {
    /// An index over files that begin with `stem`; nothing is read before it is needed.
    pub(super) fn new(disk: &'d dyn Disk, stem: &Path) -> Self {
        Self { disk, stem: stem.to_owned(), generations: Vec::new() }
    }

    fn path(&self, generation: usize) -> PathBuf {
        let mut name = self.stem.as_os_str().to_owned();
        name.push(format!(".{generation}"));
        name.into()
    }

    /// Opens the generations that cover `committed` records, and tells which of them must be filled anew:
    /// those whose file is missing, foreign or older than the records.
    pub(super) fn open(&mut self, committed: Place) -> io::Result<Vec<usize>> {
        let mut stale = Vec::new();
        let last = generation_of(committed);
        for generation in 0..=last {
            let filled = self.add()?;
            if filled < u64::from(committed).min(range(generation).end) || (committed == 0 && filled > 0) {
                self.clear(generation)?;
                stale.push(generation);
            }
        }
        Ok(stale)
    }

    /// Opens or makes the next generation; answers up to which place it was filled.
    fn add(&mut self) -> io::Result<u64> {
        let generation = self.generations.len();
        let covered = range(generation);
        let slots = (covered.end - covered.start) * 2;
        let file = self.disk.open(&self.path(generation), false)?;
        let length = (slots / SLOTS_IN_PAGE + 1) * PAGE as u64;
        let mut head = [0; 24];
        let known = file.metadata()?.len() == length && file.read_exact_at(&mut head, 0).is_ok();
        let filled = if known { read_head(&head) } else { None };
        if !known {
            self.disk.set_length(&file, length)?;
        }
        self.generations.push(Generation { file, slots, pages: BTreeMap::new(), unsynced: false });
        Ok(filled.unwrap_or(0))
    }

    /// Empties a generation, to be filled anew.
    pub(super) fn clear(&mut self, generation: usize) -> io::Result<()> {
        if let Some(old) = self.generations.get_mut(generation) {
            old.pages.clear();
            let length = (old.slots / SLOTS_IN_PAGE + 1) * PAGE as u64;
            self.disk.set_length(&old.file, 0)?;
            self.disk.set_length(&old.file, length)?;
        }
        Ok(())
    }

    /// Adds a record's slot. `committed` is the length below which slots are to be kept.
    pub(super) fn insert(&mut self, hash: Hash, place: Place) -> io::Result<()> {
        let generation = generation_of(place);
        while self.generations.len() <= generation {
            let new = self.generations.len();
            if self.add()? > range(new).start {
                self.clear(new)?;
            }
        }
        let Some(generation) = self.generations.get_mut(generation) else { return Ok(()) };
        let wanted = slot(hash, place);
        let mut at = generation.first(hash);
        for _ in 0..generation.slots {
            let found = generation.read(at)?;
            if found == wanted {
                return Ok(());
            }
            // A slot that points past this record is left over from an update that was cut off.
            if found == 0 || (found & u64::from(u32::MAX)) > u64::from(place) + 1 {
                return generation.write(at, wanted);
            }
            at = (at + 1) % generation.slots;
        }
        Err(io::Error::other("an index file is full"))
    }

    /// Places below `length` that may hold the key, the newest first.
    pub(super) fn candidates(&mut self, hash: Hash, length: Place) -> io::Result<Vec<Place>> {
        let mut places = Vec::new();
        for generation in self.generations.iter_mut().rev() {
            let mut at = generation.first(hash);
            for _ in 0..generation.slots {
                let found = generation.read(at)?;
                if found == 0 {
                    break;
                }
                let place = (found & u64::from(u32::MAX)) - 1;
                if found >> 32 == hash & u64::from(u32::MAX) && place < u64::from(length) {
                    places.push(place as Place);
                }
                at = (at + 1) % generation.slots;
            }
        }
        places.sort_unstable_by(|a, b| b.cmp(a));
        Ok(places)
    }

    /// How much memory the pages of this run take.
    pub(super) fn held(&self) -> usize {
        self.generations.iter().map(|generation| generation.pages.len()).sum::<usize>() * PAGE
    }

    /// Writes the changed pages, whole runs of neighbours at once, and lets all pages go.
    pub(super) fn flush(&mut self, length: Place, sync: bool) -> io::Result<()> {
        for (number, generation) in self.generations.iter_mut().enumerate() {
            let mut changed = false;
            let mut run: (u64, Vec<u8>) = (0, Vec::new());
            for (page, (bytes, _)) in generation.pages.iter().filter(|(_, (_, changed))| *changed) {
                changed = true;
                let next = run.0 + (run.1.len() / PAGE) as u64;
                if next != *page || run.1.len() >= 1 << 20 {
                    write_run(self.disk, &generation.file, &run)?;
                    run = (*page, Vec::new());
                }
                run.1.extend_from_slice(bytes.as_slice());
            }
            if changed {
                write_run(self.disk, &generation.file, &run)?;
                let filled = u64::from(length).min(range(number).end);
                self.disk.write(&generation.file, &head(filled), 0)?;
                generation.unsynced = true;
            }
            if sync && generation.unsynced {
                self.disk.sync(&generation.file)?;
                generation.unsynced = false;
            }
            generation.pages.clear();
        }
        Ok(())
    }
}

fn write_run(disk: &dyn Disk, file: &File, run: &(u64, Vec<u8>)) -> io::Result<()> {
    if run.1.is_empty() {
        return Ok(());
    }
    disk.write(file, &run.1, (run.0 + 1) * PAGE as u64)
}

fn head(filled: u64) -> Vec<u8> {
    [MAGIC, filled, hash::of_numbers(b'i', [MAGIC, filled])].iter().flat_map(|n| n.to_le_bytes()).collect()
}

fn read_head(bytes: &[u8; 24]) -> Option<u64> {
    let filled = u64::from_le_bytes(bytes.get(8..16)?.try_into().ok()?);
    (head(filled) == bytes).then_some(filled)
}

#[cfg(test)]
mod tests {
    use super::super::disk::RealDisk;
    use super::*;

    fn key(n: u32) -> Hash {
        hash::of_numbers(0, [u64::from(n), 0])
    }

    #[test]
    fn a_hundred_thousand_places_are_found_again_after_a_flush() {
        let dir = tempfile::tempdir().unwrap();
        let stem = dir.path().join("index");
        let mut index = Index::new(&RealDisk, &stem);
        assert_eq!(index.open(0).unwrap(), Vec::<usize>::new());
        for n in 0..100_000 {
            index.insert(key(n), n).unwrap();
        }
        index.flush(100_000, true).unwrap();
        let mut index = Index::new(&RealDisk, &stem);
        assert_eq!(index.open(100_000).unwrap(), Vec::<usize>::new());
        for n in (0..100_000).step_by(97) {
            assert_eq!(index.candidates(key(n), 100_000).unwrap(), [n]);
            assert!(index.candidates(key(n), n).unwrap().is_empty(), "past the committed length");
        }
        assert!(index.candidates(key(100_001), 100_000).unwrap().is_empty());
    }

    #[test]
    fn a_missing_broken_or_old_file_is_to_be_filled_anew() {
        let dir = tempfile::tempdir().unwrap();
        let stem = dir.path().join("index");
        let open = |committed| Index::new(&RealDisk, &stem).open(committed).unwrap();
        assert_eq!(open(20_000), [0, 1]);
        let mut index = Index::new(&RealDisk, &stem);
        index.open(0).unwrap();
        index.insert(key(1), 1).unwrap();
        index.flush(2, false).unwrap();
        assert_eq!(open(2), Vec::<usize>::new());
        assert_eq!(open(3), [0], "older than the records");
        std::fs::write(dir.path().join("index.0"), "x").unwrap();
        assert_eq!(open(1), [0]);
    }

    #[test]
    fn leftovers_of_a_cut_off_update_are_taken_over() {
        let dir = tempfile::tempdir().unwrap();
        let mut index = Index::new(&RealDisk, &dir.path().join("index"));
        index.open(0).unwrap();
        for _ in 0..3 {
            for n in 0..16_000 {
                index.insert(key(n), n).unwrap();
                index.insert(key(n + 1_000_000), n).unwrap();
            }
        }
        assert!(index.candidates(key(15_999), 16_000).unwrap().contains(&15_999));
    }
}
