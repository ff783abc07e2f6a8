//! The sessions that workers worked for, added up for everybody who asks: their own tokens and each worker's.
//! Which they are is left to `tally` and `grants`.

use super::book::Manager;
use super::record::Record;
use super::tally::{Tally, entry, link};
use crate::error::Result;
use std::collections::{BTreeMap, HashSet};

impl Tally<'_> {
    /// Adds up the manager sessions that changed.
    pub(super) fn sum_managers(&mut self) -> Result<()> {
        for name in std::mem::take(&mut self.touched) {
            let text = self.store.text(name)?;
            let session = self.known(name)?.session;
            if session.manages == 0 {
                self.book.drop_manager(&text);
                continue;
            }
            let mut manager = Manager {
                session: text.to_string(),
                at: session.last_at,
                main: session.total.usage.fresh(),
                by_worker: BTreeMap::new(),
            };
            let (mut next, mut met) = (session.newest_grant, HashSet::new());
            while let Some(place) = next.checked_sub(1) {
                let Record::Grant(version) = self.store.record(place)? else {
                    return Err(self.damaged("a manager's grants are broken off"));
                };
                next = version.next_of_manager;
                let known = self.known(version.session)?;
                let newest = known.grants.get(version.number as usize).map(|granted| granted.grant);
                let newest = newest.filter(|grant| grant.manager == link(name));
                let (Some(grant), true) = (newest, met.insert((version.session, version.number))) else {
                    continue;
                };
                let fresh = grant.total.usage.fresh();
                if grant.share {
                    if grant.total.messages == 0 {
                        continue;
                    }
                    // It stands in the session's own total too.
                    manager.main = manager.main.wrapping_sub(fresh);
                } else {
                    manager.at = manager.at.max(grant.from);
                }
                if let Some(worker) = grant.worker.checked_sub(1) {
                    let worker = self.store.text(worker)?;
                    *entry(&mut manager.by_worker, &worker) += fresh;
                }
            }
            self.book.put_manager(manager);
        }
        Ok(())
    }
}
