//! Sessions and whom they belong to: every message that is counted or taken back goes through here into
//! the sums. Which row counts is left to `merge`, what dispatch records say to `grants`.

use super::book::Book;
use super::fact::MAIN;
use super::layout::Place;
use super::record::{Grant, Record, SEVERAL, Session};
use super::store::{Store, broken, grant_key, session_key};
use super::usage::Usage;
use crate::error::Result;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A message as the sums see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) usage: Usage,
    pub(super) session: Place,
    pub(super) model: Place,
    pub(super) at: i64,
    pub(super) finished: bool,
    pub(super) without_id: bool,
    /// See `Message`.
    pub(super) served: u32,
}

/// A grant and where it lies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Granted {
    pub(super) place: Place,
    pub(super) grant: Grant,
}

impl AsRef<Grant> for Granted {
    fn as_ref(&self) -> &Grant {
        &self.grant
    }
}

/// A session in memory, with what dispatch records say of it.
#[derive(Debug, Default)]
pub(super) struct Known {
    place: Option<Place>,
    pub(super) session: Session,
    pub(super) grants: Vec<Granted>,
    pub(super) changed: bool,
}

impl Known {
    /// Its own tokens as they count among those of managers, if it is one.
    fn managed(&self) -> (u64, u64) {
        let is_manager = self.session.manages > 0;
        (u64::from(is_manager), if is_manager { self.session.total.usage.fresh() } else { 0 })
    }
}

/// The store with its sums, open for an update.
pub(super) struct Tally<'d> {
    pub(super) store: Store<'d>,
    pub(super) book: Book,
    /// Which worker's home holds a session's own file, for all files found in this run.
    pub(super) holders: HashMap<String, String>,
    /// Something was found that moves messages which were counted elsewhere: all must be added up again.
    pub(super) recount: bool,
    sessions: HashMap<Place, Known>,
    /// Managers whose sums changed.
    pub(super) touched: BTreeSet<Place>,
}

/// A place as a link.
pub(super) fn link(place: Place) -> u32 {
    place + 1
}

/// The manager comes first, workers by name: so that the choice never depends on what was met first.
fn order(worker: &str) -> (bool, &str) {
    (worker != MAIN, worker)
}

impl<'d> Tally<'d> {
    pub(super) fn new(store: Store<'d>, book: Book) -> Self {
        Self {
            store,
            book,
            holders: HashMap::new(),
            recount: false,
            sessions: HashMap::new(),
            touched: BTreeSet::new(),
        }
    }

    /// Brings a session into memory.
    fn load(&mut self, name: Place) -> Result<()> {
        if self.sessions.contains_key(&name) {
            return Ok(());
        }
        let found = self.store.find(session_key(name), |_, record| {
            Ok(match record {
                Record::Session(session) if session.name == name => Some(session),
                _ => None,
            })
        })?;
        let mut known = Known { session: Session { name, ..Session::default() }, ..Known::default() };
        if let Some((place, session)) = found {
            (known.place, known.session) = (Some(place), session);
        }
        for number in 0..known.session.grants {
            let grant = self.store.find(grant_key(name, number), |_, record| {
                Ok(match record {
                    Record::Grant(grant) if grant.session == name && grant.number == number => Some(grant),
                    _ => None,
                })
            })?;
            let (place, grant) = grant.ok_or_else(|| self.damaged("a session lacks what it was granted"))?;
            known.grants.push(Granted { place, grant });
        }
        self.sessions.insert(name, known);
        if !self.holders.is_empty() {
            let text = self.store.text(name)?;
            if let Some(worker) = self.holders.get(&*text).cloned() {
                self.hold(name, &worker)?;
            }
        }
        Ok(())
    }

    pub(super) fn damaged(&self, what: &str) -> crate::error::Error {
        broken(self.store.path(), what)
    }

    pub(super) fn known(&mut self, name: Place) -> Result<&mut Known> {
        self.load(name)?;
        let damaged = self.damaged("a session is not there");
        self.sessions.get_mut(&name).ok_or(damaged)
    }

    /// The session's own file lies in this worker's home.
    pub(super) fn hold(&mut self, name: Place, worker: &str) -> Result<()> {
        let old = self.known(name)?.session.holder;
        self.place_of_work(name, worker, old, |session, link| session.holder = link)
    }

    /// Rows of the session were seen in this worker's home.
    pub(super) fn see(&mut self, name: Place, worker: &str) -> Result<()> {
        let session = self.known(name)?.session;
        if session.holder != 0 {
            return Ok(());
        }
        self.place_of_work(name, worker, session.seen, |session, link| session.seen = link)
    }

    fn place_of_work(
        &mut self,
        name: Place,
        worker: &str,
        old: u32,
        set: impl Fn(&mut Session, u32),
    ) -> Result<()> {
        if let Some(old) = old.checked_sub(1) {
            let old = self.store.text(old)?;
            if order(&old) <= order(worker) {
                return Ok(());
            }
        }
        let new = link(self.store.name(worker)?);
        let before = self.home_of(name)?;
        let known = self.known(name)?;
        set(&mut known.session, new);
        known.changed = true;
        let ungranted = known.grants.iter().all(|granted| granted.grant.share);
        let ungranted = ungranted && !known.session.total.is_empty();
        if ungranted && self.home_of(name)? != before {
            self.recount = true;
        }
        Ok(())
    }

    /// The worker whose home a session belongs to.
    pub(super) fn home_of(&mut self, name: Place) -> Result<Arc<str>> {
        let session = self.known(name)?.session;
        let home = if session.holder == 0 { session.seen } else { session.holder };
        home.checked_sub(1).map_or_else(|| Ok(MAIN.into()), |place| self.store.text(place))
    }

    /// A process said what it counted for the whole session.
    pub(super) fn cost(&mut self, name: Place, usage: Usage) -> Result<()> {
        let known = self.known(name)?;
        let largest = super::sighting::largest(known.session.cost, usage);
        known.changed |= largest != known.session.cost;
        known.session.cost = largest;
        Ok(())
    }

    /// The session began as a copy of another.
    pub(super) fn forked(&mut self, name: Place) -> Result<()> {
        let known = self.known(name)?;
        known.changed |= !known.session.forked;
        known.session.forked = true;
        Ok(())
    }

    /// Counts a message.
    pub(super) fn add(&mut self, message: Counted) -> Result<()> {
        self.turn(message, true)
    }

    /// Takes a message back.
    pub(super) fn remove(&mut self, message: Counted) -> Result<()> {
        self.turn(message, false)
    }

    fn turn(&mut self, message: Counted, add: bool) -> Result<()> {
        let usage = message.usage;
        let turn = |total: &mut super::usage::Total| if add { total.add(usage) } else { total.remove(usage) };
        let fresh = |sum: &mut u64| {
            *sum = if add { sum.wrapping_add(usage.fresh()) } else { sum.wrapping_sub(usage.fresh()) };
        };
        if message.without_id {
            turn(&mut self.book.no_id);
            return Ok(());
        }
        let at = match grant_at(&self.known(message.session)?.grants, message.at) {
            Some(at) => Some(at),
            None => self.share(message.session, message.served)?,
        };
        let known = self.known(message.session)?;
        let (was_manager, was_fresh) = known.managed();
        turn(&mut known.session.total);
        if add {
            known.session.last_at = known.session.last_at.max(message.at);
        }
        known.changed = true;
        let granted = at.and_then(|at| known.grants.get_mut(at)).map(|granted| {
            let was_empty = granted.grant.total.messages == 0;
            turn(&mut granted.grant.total);
            match (was_empty, granted.grant.total.messages == 0) {
                _ if !granted.grant.share => {}
                (true, false) => known.session.manages += 1,
                (false, true) => known.session.manages = known.session.manages.saturating_sub(1),
                _ => {}
            }
            granted.grant
        });
        let (is_manager, is_fresh) = known.managed();
        let all = &mut self.book.all_time;
        all.sessions = all.sessions.wrapping_add(is_manager).wrapping_sub(was_manager);
        all.fresh = all.fresh.wrapping_add(is_fresh).wrapping_sub(was_fresh);
        if was_manager + is_manager > 0 {
            self.touched.insert(message.session);
        }
        let worker = match granted.and_then(|grant| grant.worker.checked_sub(1)) {
            Some(worker) => self.store.text(worker)?,
            None => self.home_of(message.session)?,
        };
        if let Some(manager) = granted.and_then(|grant| grant.manager.checked_sub(1)) {
            fresh(&mut self.book.all_time.worker_fresh);
            // A share is part of the manager's own total.
            if granted.is_some_and(|grant| !grant.share) {
                fresh(&mut self.book.all_time.fresh);
            }
            self.touched.insert(manager);
        }
        turn(&mut self.book.totals);
        if granted.is_none() && message.served == SEVERAL {
            let contested = &mut self.book.contested;
            *contested = if add { contested.wrapping_add(1) } else { contested.wrapping_sub(1) };
        }
        if !message.finished {
            self.book.incomplete =
                if add { self.book.incomplete.wrapping_add(1) } else { self.book.incomplete.wrapping_sub(1) };
        }
        let model = self.store.text(message.model)?;
        let models = entry(&mut self.book.workers, &worker);
        let cell = entry(models, &model);
        turn(cell.band(usage.prompt()));
        if *cell == super::book::Cell::default() {
            models.remove(&*model);
            if models.is_empty() {
                self.book.workers.remove(&*worker);
            }
        }
        Ok(())
    }

    /// The place of a worker's share among the session's grants, made when missing.
    fn share(&mut self, session: Place, worker: u32) -> Result<Option<usize>> {
        if worker == 0 || worker == SEVERAL {
            return Ok(None);
        }
        let known = self.known(session)?;
        let is_this = |granted: &Granted| granted.grant.share && granted.grant.worker == worker;
        if let Some(at) = known.grants.iter().position(is_this) {
            return Ok(Some(at));
        }
        let grant = Grant {
            session,
            number: known.session.grants,
            worker,
            manager: link(session),
            next_of_manager: known.session.newest_grant,
            share: true,
            ..Grant::default()
        };
        let place = self.store.add(grant_key(session, grant.number), |previous| grant.bytes(previous))?;
        let known = self.known(session)?;
        known.session.newest_grant = link(place);
        known.session.grants += 1;
        known.changed = true;
        known.grants.push(Granted { place, grant });
        Ok(Some(known.grants.len() - 1))
    }

    /// Sets every sum to zero, sessions' included, before all messages are counted again.
    pub(super) fn empty(&mut self, sessions: &[Place]) -> Result<()> {
        self.book = self.book.emptied();
        for name in sessions {
            let known = self.known(*name)?;
            known.session.total = super::usage::Total::default();
            known.session.last_at = 0;
            known.changed = true;
            for granted in &mut known.grants {
                let counts = granted.grant.share && granted.grant.total.messages > 0;
                known.session.manages = known.session.manages.saturating_sub(u32::from(counts));
                granted.grant.total = super::usage::Total::default();
            }
            if known.session.manages > 0 {
                self.book.all_time.sessions += 1;
                self.touched.insert(*name);
            }
        }
        Ok(())
    }

    /// Hands the changed sessions to the store.
    pub(super) fn write_sessions(&mut self) -> Result<()> {
        let mut changed: Vec<Place> =
            self.sessions.iter().filter(|(_, known)| known.changed).map(|(name, _)| *name).collect();
        changed.sort_unstable();
        for name in changed {
            let Some(known) = self.sessions.get_mut(&name) else { continue };
            known.changed = false;
            let key = session_key(name);
            known.place = Some(match known.place {
                Some(place) => self.store.supersede(key, place, |previous| known.session.bytes(previous))?,
                None => self.store.add(key, |previous| known.session.bytes(previous))?,
            });
            for Granted { place, grant } in &mut known.grants {
                let key = grant_key(name, grant.number);
                if self.store.record(*place)? != Record::Grant(*grant) {
                    *place = self.store.supersede(key, *place, |previous| grant.bytes(previous))?;
                }
            }
        }
        if self.sessions.len() > 1 << 14 {
            self.sessions.clear();
        }
        Ok(())
    }
}

/// The grant of a dispatch that a message of this time falls under: the last one that began before it, else the
/// first.
pub(super) fn grant_at<G: AsRef<Grant>>(grants: &[G], at: i64) -> Option<usize> {
    let key = |(place, grant): &(usize, &G)| {
        let grant = grant.as_ref();
        (grant.from, grant.dispatch, *place)
    };
    let dispatches = || grants.iter().enumerate().filter(|(_, grant)| !grant.as_ref().share);
    let begun = dispatches().filter(|(_, grant)| grant.as_ref().from <= at).max_by_key(key);
    begun.or_else(|| dispatches().min_by_key(key)).map(|(place, _)| place)
}

/// The value under a name, made when missing without copying the name twice.
pub(super) fn entry<'a, T: Default>(map: &'a mut BTreeMap<String, T>, name: &str) -> &'a mut T {
    map.entry(name.to_owned()).or_default()
}
