//! Transcripts taken in: which have changed, from where each is to be read, on one thread or two. When
//! what was taken in counts is left to `update`.

use super::homes::{self, Home, Identity, Listing, Transcript};
use super::merge::Open;
use super::scan::{self, Limit, Scanner, Start};
use super::sighting::{Folder, Piece};
use super::state::{Mark, State};
use super::tally::Tally;
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// How much of a file is read before it is merged.
const PIECE: u64 = 16 << 20;

/// Told how many bytes were read and how many there are in all.
pub type Progress<'a> = dyn Fn(u64, u64) + Sync + 'a;

/// The transcripts that have changed.
#[derive(Debug, Default)]
pub(super) struct Pending<'a> {
    pub(super) transcripts: Vec<&'a Transcript>,
    /// How many of all transcripts were read before.
    pub(super) known: usize,
    /// Bytes that were not read yet, as far as the sizes tell.
    pub(super) bytes: u64,
}

/// What was taken in.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// How far each file was read.
    pub(super) marks: HashMap<(u64, u64), Mark>,
    pub(super) unreadable: Vec<PathBuf>,
    pub(super) bytes: u64,
    pub(super) rows: u64,
    /// The budget was used up before the end.
    pub(super) is_short: bool,
}

impl Mark {
    fn is_current(&self, identity: &Identity) -> bool {
        (self.size, self.modified, self.changed) == (identity.size, identity.modified, identity.changed)
    }

    /// Bytes that are new in a file of this size, if it only grew.
    fn unread(&self, identity: &Identity) -> u64 {
        if identity.size > self.size { identity.size.saturating_sub(self.offset) } else { identity.size }
    }
}

/// Compares the listing with what was read before.
pub(super) fn pending<'a>(listing: &'a Listing, state: &State) -> Pending<'a> {
    let mut pending = Pending::default();
    for transcript in &listing.transcripts {
        let identity = &transcript.identity;
        let mark = state.mark(identity.device, identity.inode);
        pending.known += usize::from(mark.is_some());
        match mark {
            Some(mark) if mark.is_current(identity) => continue,
            Some(mark) => pending.bytes += mark.unread(identity),
            None => pending.bytes += identity.size,
        }
        pending.transcripts.push(transcript);
    }
    pending
}

/// One run over the changed transcripts.
pub(super) struct Intake<'a, 'd> {
    pub(super) homes: &'a [Home],
    pub(super) state: &'a State,
    pub(super) tally: &'a mut Tally<'d>,
    pub(super) open: &'a mut Open,
    pub(super) max_bytes: u64,
    pub(super) threads: usize,
    pub(super) progress: &'a Progress<'a>,
}

/// What the threads share.
struct Shared<'a, 'd> {
    tally: &'a mut Tally<'d>,
    open: &'a mut Open,
    taken: Taken,
}

struct Run<'a, 'd> {
    homes: &'a [Home],
    state: &'a State,
    max_bytes: u64,
    total: u64,
    bytes: AtomicU64,
    progress: &'a Progress<'a>,
    jobs: Mutex<std::vec::IntoIter<&'a Transcript>>,
    shared: Mutex<Shared<'a, 'd>>,
}

/// A lock that a panicking thread left behind is taken over: the other thread's error is what counts.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Intake<'a, '_> {
    /// Reads all pending transcripts, or as many as the budget allows, the newest first.
    pub(super) fn run(self, mut pending: Pending<'a>) -> Result<Taken> {
        let is_bounded = self.max_bytes < pending.bytes;
        pending.transcripts.sort_by_key(|transcript| {
            let Identity { modified, size, .. } = transcript.identity;
            std::cmp::Reverse(if is_bounded { modified } else { size })
        });
        let threads = self.threads.min(pending.transcripts.len());
        let run = Run {
            homes: self.homes,
            state: self.state,
            max_bytes: self.max_bytes,
            total: pending.bytes,
            bytes: AtomicU64::new(0),
            progress: self.progress,
            jobs: Mutex::new(pending.transcripts.into_iter()),
            shared: Mutex::new(Shared { tally: self.tally, open: self.open, taken: Taken::default() }),
        };
        if threads > 1 {
            let results: Vec<Result<()>> = thread::scope(|scope| {
                let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| run.work())).collect();
                let own = run.work();
                let others = others.into_iter().map(|other| other.join().unwrap_or(Ok(())));
                std::iter::once(own).chain(others).collect()
            });
            results.into_iter().collect::<Result<()>>()?;
        } else {
            run.work()?;
        }
        let mut taken = run.shared.into_inner().unwrap_or_else(PoisonError::into_inner).taken;
        taken.bytes = run.bytes.into_inner();
        Ok(taken)
    }
}

impl Run<'_, '_> {
    fn work(&self) -> Result<()> {
        let mut scanner = Scanner::new();
        loop {
            let Some(transcript) = lock(&self.jobs).next() else { return Ok(()) };
            if self.bytes.load(Ordering::Relaxed) >= self.max_bytes {
                lock(&self.shared).taken.is_short = true;
                return Ok(());
            }
            match self.read(&mut scanner, transcript) {
                Ok(()) => {}
                Err(Failed::File(error)) if error.kind() == io::ErrorKind::NotFound => {}
                Err(Failed::File(_)) => lock(&self.shared).taken.unreadable.push(transcript.path.clone()),
                Err(Failed::Store(error)) => return Err(error),
            }
        }
    }

    fn read(&self, scanner: &mut Scanner, transcript: &Transcript) -> Result<(), Failed> {
        let file = File::open(&transcript.path)?;
        let identity = Identity::of(&rustix::fs::fstat(&file)?);
        let old = self.state.mark(identity.device, identity.inode);
        let (mut start, mut mark) = begin(&file, &identity, old)?;
        let session = homes::session_of(&transcript.path);
        let project = homes::project_of(&transcript.path);
        let folder = Folder { session: &session, project: &project };
        let worker = self.homes.get(transcript.home).map_or("", |home| &home.worker);
        loop {
            let spent = self.bytes.load(Ordering::Relaxed);
            let left = self.max_bytes.saturating_sub(spent);
            let limit = Limit { bytes: left.min(PIECE), hard: left <= PIECE };
            let progress = |bytes: u64| {
                let done = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
                (self.progress)(done, self.total.max(done));
            };
            let mut piece = Piece::default();
            let reached = scanner.scan(&file, start, limit, folder, &mut piece, &progress)?;
            mark.offset = reached.offset;
            mark.recent = scan::recent_hash(&reached.recent);
            mark.size = if reached.at_end { identity.size } else { reached.offset };
            mark.rows = mark.rows.saturating_add(piece.rows);
            mark.skipped = mark.skipped.saturating_add(piece.skipped);
            let held = homes::held_by(&transcript.path);
            self.merge(&piece, worker, held, mark).map_err(Failed::Store)?;
            if reached.at_end {
                return Ok(());
            }
            if limit.hard && self.bytes.load(Ordering::Relaxed) >= self.max_bytes {
                lock(&self.shared).taken.is_short |= reached.offset < identity.size;
                return Ok(());
            }
            start = Start { offset: reached.offset, recent: reached.recent };
        }
    }

    fn merge(&self, piece: &Piece, worker: &str, held: Option<&str>, mark: Mark) -> Result<()> {
        let mut shared = lock(&self.shared);
        let Shared { tally, open, taken } = &mut *shared;
        tally.merge(open, piece, worker)?;
        if let Some(session) = held.and_then(|session| tally.store.find_name(session).transpose()) {
            tally.hold(session?, worker)?;
        }
        taken.rows += u64::from(piece.rows);
        taken.marks.insert((mark.device, mark.inode), mark);
        Ok(())
    }
}

/// A file that cannot be read is told and passed; a store that cannot be written ends the run.
enum Failed {
    File(io::Error),
    Store(Error),
}

impl From<rustix::io::Errno> for Failed {
    fn from(error: rustix::io::Errno) -> Self {
        Self::File(error.into())
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

/// From where to read: on from the last row where the file only grew, else from its beginning. Reading
/// rows again never counts them again.
fn begin(file: &File, identity: &Identity, old: Option<&Mark>) -> io::Result<(Start, Mark)> {
    let Identity { device, inode, size, modified, changed } = *identity;
    let new = Mark { device, inode, modified, changed, ..Mark::default() };
    if let Some(old) = old.filter(|old| size > old.size && size >= old.offset) {
        let recent = scan::recent(file, old.offset)?;
        if scan::recent_hash(&recent) == old.recent {
            let start = Start { offset: old.offset, recent };
            return Ok((start, Mark { rows: old.rows, skipped: old.skipped, ..new }));
        }
    }
    Ok((Start::default(), new))
}
