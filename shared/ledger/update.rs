//! The update: what is new since the last one is read, counted, committed and published, under the
//! ledger's lock. It costs what is new, never what is there.

use super::audit::{self, Audit};
use super::credits::{self, Credits};
use super::disk::{Disk, RealDisk};
use super::era;
use super::fact::MAIN;
use super::grants::Said;
use super::homes::{self, Home, Listing};
use super::intake::{Intake, Progress, Taken, pending};
use super::merge::Open;
use super::publish::{self, Price};
use super::state::State;
use super::store::{Store, is_broken};
use super::tally::Tally;
use crate::clock::rfc3339;
use crate::error::Result;
use crate::exit::Exit;
use crate::lock::{self, Lock};
use crate::world::World;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How much a caller can afford.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// Bytes of transcripts to read; the rest is left to the next run.
    pub max_bytes: u64,
    /// How long to wait for another process's update.
    pub lock_wait: Duration,
    /// How many threads read.
    pub threads: usize,
}

impl Budget {
    /// What a hook can afford.
    pub const HOOK: Self = Self { max_bytes: 64 << 20, lock_wait: Duration::from_millis(50), threads: 1 };
    /// Everything, with both cores.
    pub const WHOLE: Self = Self { max_bytes: u64::MAX, lock_wait: lock::PATIENCE, threads: 2 };
}

/// What an update did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Another process was at it for longer than the caller could wait; the next update catches up.
    pub busy: bool,
    /// The sums may have changed.
    pub changed: bool,
    /// Transcripts found.
    pub files: u64,
    /// Bytes and rows read.
    pub bytes: u64,
    /// See `bytes`.
    pub rows: u64,
    /// Bytes that the budget left unread, about.
    pub bytes_left: u64,
    /// Where a damaged store was set aside.
    pub set_aside: Option<PathBuf>,
    /// Which commit of the store shows the result.
    pub generation: u64,
}

/// Everything an update sees before it decides what to do.
struct Seen {
    homes: Vec<Home>,
    listing: Listing,
    state: State,
    credits: Credits,
    audit: Audit,
}

/// Brings the ledger up to date.
pub fn update(world: &World, budget: &Budget) -> Result<Outcome> {
    update_on(&RealDisk, world, budget, &|_, _| {}, &|_, _, _| None)
}

/// The same on a disk of the caller's, telling how far it is; `price` fills the published costs.
pub fn update_on(
    disk: &dyn Disk,
    world: &World,
    budget: &Budget,
    progress: &Progress<'_>,
    price: &Price<'_>,
) -> Result<Outcome> {
    let dir = world.paths.usage()?;
    let before = match State::read(&dir) {
        Err(error) if is_broken(&error) => None,
        state => Some(state?.unwrap_or_default()),
    };
    let mut before = before.map(|state| look(world, state)).transpose()?;
    if let Some(seen) = before.as_ref().filter(|seen| is_current(seen, &dir)) {
        let files = seen.listing.transcripts.len() as u64;
        return Ok(Outcome { files, generation: seen.state.generation, ..Outcome::default() });
    }
    let _lock = match Lock::acquire(&dir.join("lock"), budget.lock_wait) {
        Err(error) if error.exit() == Exit::Busy => return Ok(Outcome { busy: true, ..Outcome::default() }),
        lock => lock?,
    };
    let run = Update { disk, world, budget, progress, price, dir: &dir };
    match run.locked(before.take()) {
        Err(error) if is_broken(&error) => run.set_aside_and_recover(),
        outcome => outcome,
    }
}

/// Makes the ledger anew from the transcripts that exist, keeping what only the old one knows.
pub fn rebuild(world: &World, progress: &Progress<'_>, price: &Price<'_>) -> Result<Outcome> {
    rebuild_on(&RealDisk, world, progress, price)
}

/// The same on a disk of the caller's.
pub fn rebuild_on(
    disk: &dyn Disk,
    world: &World,
    progress: &Progress<'_>,
    price: &Price<'_>,
) -> Result<Outcome> {
    let dir = world.paths.usage()?;
    let _lock = Lock::acquire(&dir.join("lock"), Budget::WHOLE.lock_wait)?;
    let run = Update { disk, world, budget: &Budget::WHOLE, progress, price, dir: &dir };
    let rebuilt = State::read(&dir).and_then(|old| match old {
        None if era::was_damaged(&dir) => run.recover(),
        old => {
            let old = old.unwrap_or_default();
            run.anew(&old, Some(&old))
        }
    });
    match rebuilt {
        Err(error) if is_broken(&error) => run.set_aside_and_recover(),
        outcome => outcome,
    }
}

fn look(world: &World, state: State) -> Result<Seen> {
    let homes = homes::homes(world)?;
    let listing = homes::list(&homes);
    let credits = credits::look(&world.paths.dispatch()?, &state.seen, &state.book.months);
    let audit = audit::look(&world.paths.proxy()?.join("audit"), &state.book.audit);
    Ok(Seen { homes, listing, state, credits, audit })
}

/// Nothing is new, nothing has gone, and what is published shows the last commit.
fn is_current(seen: &Seen, dir: &Path) -> bool {
    let Seen { listing, state, credits, audit, .. } = seen;
    let pending = pending(listing, state);
    let known = |path: &PathBuf| state.book.unreadable.iter().any(|known| *known == path.to_string_lossy());
    let all_there = !listing.unreadable.is_empty() || pending.known == state.marks.len();
    let nothing_new = pending.transcripts.iter().all(|transcript| known(&transcript.path))
        && listing.unreadable.iter().all(known)
        && audit.unread.iter().all(|file| known(&file.path))
        && credits.records.is_empty()
        && credits.seen == state.seen
        && !state.book.catching_up;
    let published = || publish::read(dir).is_some_and(|shown| shown.generation == state.generation);
    let shown = if state.generation == 0 { !era::was_damaged(dir) } else { published() };
    all_there && nothing_new && shown
}

struct Update<'a> {
    disk: &'a dyn Disk,
    world: &'a World,
    budget: &'a Budget,
    progress: &'a Progress<'a>,
    price: &'a Price<'a>,
    dir: &'a Path,
}

impl Update<'_> {
    /// The update proper. What was seen before the lock was taken still holds if nobody committed since.
    fn locked(&self, before: Option<Seen>) -> Result<Outcome> {
        let state = match State::read(self.dir)? {
            None if era::was_damaged(self.dir) => return self.recover(),
            state => state.unwrap_or_default(),
        };
        let seen = match before {
            Some(seen) if seen.state.generation == state.generation => seen,
            _ => look(self.world, state)?,
        };
        let store = Store::open(self.disk, self.dir, seen.state.era, seen.state.length)?;
        self.take_in(&seen, store, |_, _| Ok(()))
    }

    fn set_aside_and_recover(&self) -> Result<Outcome> {
        era::set_aside(self.disk, self.dir)?;
        self.recover()
    }

    /// A new store in place of damaged ones, with what could be saved of them.
    fn recover(&self) -> Result<Outcome> {
        let asides = era::asides(self.dir);
        let aside = asides.last().cloned();
        // One more than what is published, or an interruption would leave that looking current.
        let generation = publish::read(self.dir).map_or(0, |shown| shown.generation);
        let mut old = State { generation, ..State::default() };
        old.book.set_aside = aside.as_ref().map(|aside| aside.to_string_lossy().into_owned());
        Ok(Outcome { set_aside: aside, ..self.anew(&old, None)? })
    }

    /// Begins a new era, and ends the old one once the new one counts. Without an old state to take over
    /// from, everything that was set aside is taken over.
    fn anew(&self, old: &State, from: Option<&State>) -> Result<Outcome> {
        let mut state = State { era: old.era + 1, generation: old.generation, ..State::default() };
        state.book.gone_rows = old.book.gone_rows;
        state.book.gone_skipped = old.book.gone_skipped;
        // Told until the user has looked at it and removed the folder.
        state.book.set_aside = old.book.set_aside.clone().filter(|aside| Path::new(aside).exists());
        let seen = look(self.world, state)?;
        let store = Store::open(self.disk, self.dir, seen.state.era, 0)?;
        let outcome = self.take_in(&seen, store, |tally, open| match from {
            Some(old) => era::import(tally, open, self.dir, Some(old)),
            None => era::asides(self.dir).iter().try_for_each(|dir| era::import(tally, open, dir, None)),
        })?;
        era::remove_others(self.disk, self.dir, seen.state.era);
        Ok(outcome)
    }

    fn take_in(
        &self,
        seen: &Seen,
        store: Store<'_>,
        import: impl FnOnce(&mut Tally<'_>, &mut Open) -> Result<()>,
    ) -> Result<Outcome> {
        let Seen { homes, listing, state, credits, audit } = seen;
        let mut tally = Tally::new(store, state.book.clone());
        let mut open = Open::default();
        tally.holders = holders(homes, listing);
        // First, since a message that finds its word there is written once. Half of what can be afforded, so that
        // transcripts are never kept waiting.
        let reading = audit.read(&state.book.audit, self.budget.max_bytes / 2, &mut |answer| {
            tally.serve(&mut open, &answer.session, &answer.id, Some(&answer.worker))?;
            tally.lighten()
        })?;
        tally.book.audit = reading.marks;
        let pending = pending(listing, state);
        let unread = pending.bytes;
        let mut taken = Intake {
            homes,
            state,
            tally: &mut tally,
            open: &mut open,
            max_bytes: self.budget.max_bytes.saturating_sub(reading.bytes),
            threads: self.budget.threads,
            progress: self.progress,
        }
        .run(pending)?;
        import(&mut tally, &mut open)?;
        for (dispatch, record) in &credits.records {
            say(&mut tally, *dispatch, record)?;
        }
        tally.settle(&mut open)?;
        if tally.recount {
            tally.count_again()?;
        }
        tally.sum_managers()?;
        tally.write_sessions()?;
        tally.store.write(true)?;
        let bytes_left =
            if taken.is_short || reading.is_short { unread.saturating_sub(taken.bytes).max(1) } else { 0 };
        taken.unreadable.extend(reading.unreadable);
        let outcome = Outcome {
            changed: true,
            files: listing.transcripts.len() as u64,
            bytes: taken.bytes + reading.bytes,
            rows: taken.rows,
            bytes_left,
            generation: state.generation + 1,
            ..Outcome::default()
        };
        let state = Self::next_state(seen, tally, taken, bytes_left);
        state.commit(self.disk, self.dir)?;
        self.publish(&state)?;
        Ok(outcome)
    }

    fn next_state(seen: &Seen, tally: Tally<'_>, taken: Taken, bytes_left: u64) -> State {
        let Seen { listing, state, credits, .. } = seen;
        let is_first = state.generation == 0;
        let mut next = State {
            era: state.era,
            length: tally.store.length(),
            generation: state.generation + 1,
            book: tally.book,
            marks: Vec::new(),
            seen: credits.seen.clone(),
        };
        let mut marks: BTreeMap<(u64, u64), _> =
            state.marks.iter().map(|mark| ((mark.device, mark.inode), *mark)).collect();
        // A folder that cannot be read just now may hide what is still there.
        if listing.unreadable.is_empty() {
            let there: HashSet<_> = listing
                .transcripts
                .iter()
                .map(|transcript| (transcript.identity.device, transcript.identity.inode))
                .collect();
            marks.retain(|key, mark| {
                let stays = there.contains(key);
                if !stays {
                    next.book.gone_rows += u64::from(mark.rows);
                    next.book.gone_skipped += u64::from(mark.skipped);
                }
                stays
            });
        }
        marks.extend(taken.marks);
        next.marks = marks.into_values().collect();
        next.book.months.clone_from(&credits.months);
        next.book.catching_up = bytes_left > 0 && (is_first || next.book.catching_up);
        let unreadable = listing.unreadable.iter().chain(&taken.unreadable);
        next.book.unreadable = unreadable.map(|path| path.to_string_lossy().into_owned()).collect();
        next.book.unreadable.sort();
        next
    }

    fn publish(&self, state: &State) -> Result<()> {
        let now = rfc3339(self.world.clock.now());
        let published = publish::document(&state.book, state.generation, now, self.price);
        publish::write(self.disk, self.dir, &published)
    }
}

/// For each session with a file of its own: the worker whose home holds it, the manager's before others.
fn holders(homes: &[Home], listing: &Listing) -> HashMap<String, String> {
    let mut holders = HashMap::new();
    for transcript in &listing.transcripts {
        let (Some(session), Some(home)) = (homes::held_by(&transcript.path), homes.get(transcript.home))
        else {
            continue;
        };
        let holder = holders.entry(session.to_owned()).or_insert_with(|| home.worker.clone());
        if (home.worker != MAIN, &home.worker) < (*holder != MAIN, holder) {
            holder.clone_from(&home.worker);
        }
    }
    holders
}

/// Credits the sessions of a dispatch. Where several workers tried, the home tells whose session it was.
fn say(tally: &mut Tally<'_>, dispatch: u64, record: &crate::record::Record) -> Result<()> {
    for session in record.worker_sessions.iter().filter(|session| !session.is_empty()) {
        let holder = tally.holders.get(session);
        let tried =
            record.attempts.iter().map(|attempt| &attempt.worker).find(|worker| Some(*worker) == holder);
        let worker = tried.unwrap_or(&record.worker).clone();
        tally.say(&Said {
            dispatch,
            session,
            from: credits::began(record),
            worker: &worker,
            manager: record.manager_session.as_deref().filter(|manager| !manager.is_empty()),
        })?;
    }
    Ok(())
}
