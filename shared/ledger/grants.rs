//! Who is credited with a session: what dispatch records say of it, by time, also when a record changes its
//! mind later. Reading the records is left to `credits`.

use super::layout::Place;
use super::record::Grant;
use super::store::grant_key;
use super::tally::{Granted, Tally, link};
use crate::error::Result;

/// What a dispatch record says of one of its worker sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said<'a> {
    pub(super) dispatch: u64,
    pub(super) session: &'a str,
    pub(super) from: i64,
    pub(super) worker: &'a str,
    pub(super) manager: Option<&'a str>,
}

impl Tally<'_> {
    /// Takes in what a dispatch record says.
    pub(super) fn say(&mut self, said: &Said<'_>) -> Result<()> {
        let session = self.store.name(said.session)?;
        let worker = link(self.store.name(said.worker)?);
        let manager = match said.manager {
            Some(manager) => link(self.store.name(manager)?),
            None => 0,
        };
        let known = self.known(session)?;
        let last_at = known.session.last_at;
        let is_empty = known.session.total.is_empty();
        let audited = known.session.audited;
        let dispatches = known.grants.iter().filter(|granted| !granted.grant.share).count();
        let is_this = |granted: &Granted| !granted.grant.share && granted.grant.dispatch == said.dispatch;
        let at = known.grants.iter().position(is_this);
        if let Some(Granted { place, grant: old }) = at.and_then(|at| known.grants.get(at)).copied() {
            let new = Grant { worker, manager, from: said.from, ..old };
            self.recount |= !old.total.is_empty() && new.worker != old.worker;
            self.recount |= !is_empty && new.from != old.from && dispatches > 1;
            return if new == old { Ok(()) } else { self.change(at.unwrap_or(0), place, old, new) };
        }
        let number = known.session.grants;
        let mut new = Grant {
            session,
            number,
            dispatch: said.dispatch,
            from: said.from,
            worker,
            manager,
            ..Grant::default()
        };
        if dispatches == 0 {
            // All that the session did so far is this dispatch's doing.
            new.total = known.session.total;
            let home = self.home_of(session)?;
            // What the audit says of the session counts no more.
            self.recount |= !is_empty && (audited || &*home != said.worker);
        } else {
            self.recount |= !is_empty && said.from <= last_at;
        }
        self.bring(manager)?;
        let place = self.store.length();
        self.join(manager, place, &mut new)?;
        let place = self.store.add(grant_key(session, number), |previous| new.bytes(previous))?;
        let known = self.known(session)?;
        known.session.grants += 1;
        known.changed = true;
        known.grants.push(Granted { place, grant: new });
        Ok(())
    }

    /// A record now says something else of a session.
    fn change(&mut self, at: usize, place: Place, old: Grant, mut new: Grant) -> Result<()> {
        let key = grant_key(new.session, new.number);
        let place = if new.manager == old.manager {
            self.store.supersede(key, place, |previous| new.bytes(previous))?
        } else {
            self.leave(old)?;
            // A version of its own: the old manager's chain still leads through the old one.
            self.bring(new.manager)?;
            let next = self.store.length();
            self.join(new.manager, next, &mut new)?;
            self.store.add(key, |_| new.bytes(place + 1))?
        };
        if let Some(grant) = self.known(new.session)?.grants.get_mut(at) {
            *grant = Granted { place, grant: new };
        }
        Ok(())
    }

    /// Brings a manager into memory. That may add names to the store, so it comes before a place is taken.
    fn bring(&mut self, manager: u32) -> Result<()> {
        manager.checked_sub(1).map_or(Ok(()), |manager| self.known(manager).map(|_| ()))
    }

    /// A manager is credited with what a grant counts.
    fn join(&mut self, manager: u32, place: Place, grant: &mut Grant) -> Result<()> {
        let Some(manager) = manager.checked_sub(1) else { return Ok(()) };
        let known = self.known(manager)?;
        grant.next_of_manager = known.session.newest_grant;
        known.session.newest_grant = link(place);
        known.session.manages += 1;
        known.changed = true;
        let (first, own) = (known.session.manages == 1, known.session.total.usage.fresh());
        self.touched.insert(manager);
        let all = &mut self.book.all_time;
        if first {
            all.sessions += 1;
            all.fresh = all.fresh.wrapping_add(own);
        }
        all.worker_fresh = all.worker_fresh.wrapping_add(grant.total.usage.fresh());
        all.fresh = all.fresh.wrapping_add(grant.total.usage.fresh());
        Ok(())
    }

    /// A manager is credited with it no more.
    fn leave(&mut self, grant: Grant) -> Result<()> {
        let Some(manager) = grant.manager.checked_sub(1) else { return Ok(()) };
        let known = self.known(manager)?;
        known.session.manages = known.session.manages.saturating_sub(1);
        known.changed = true;
        let (last, own) = (known.session.manages == 0, known.session.total.usage.fresh());
        self.touched.insert(manager);
        let all = &mut self.book.all_time;
        if last {
            all.sessions = all.sessions.saturating_sub(1);
            all.fresh = all.fresh.wrapping_sub(own);
        }
        all.worker_fresh = all.worker_fresh.wrapping_sub(grant.total.usage.fresh());
        all.fresh = all.fresh.wrapping_sub(grant.total.usage.fresh());
        Ok(())
    }
}
