//! Which session gave which worker work, over all sessions of the user: one small file, every change under its lock.
//! A lease lasts as long as the process that holds it; a dead holder's counts for nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use shared::document;
use shared::error::Result;
use shared::file::{self, Durability};
use shared::lock::Lock;
use shared::moment::Moment;
use shared::paths::Paths;
use shared::process;

/// Others hold the lock for a millisecond or two.
const PATIENCE: Duration = Duration::from_secs(3);
const VERSION: u32 = 1;

/// One task on one worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lease {
    /// The worker.
    pub worker: String,
    /// The task.
    pub id: String,
    /// Who holds it.
    pub pid: u32,
    /// Since when that process runs.
    pub start_time: Option<String>,
    /// Whether that is no session but holds this one task.
    pub alone: bool,
    /// The dispatch that works on it, and what that cost until now, where the day has a cap.
    pub cost: Option<(String, f64)>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Document {
    version: u32,
    leases: Vec<Lease>,
    used: BTreeMap<String, Moment>,
}

/// The leases, held open for a change.
#[derive(Debug)]
pub struct Leases {
    document: Document,
    changed: bool,
    path: std::path::PathBuf,
    _lock: Lock,
}

impl Leases {
    /// Reads them under the lock. A damaged file holds nothing that a running session does not write again.
    pub fn open(paths: &Paths) -> Result<Self> {
        let path = paths.leases()?;
        let lock = Lock::acquire(&path.with_extension("lock"), PATIENCE)?;
        let mut document: Document = document::read(&path).ok().flatten().unwrap_or_default();
        let before = document.leases.len();
        let mut alive: BTreeMap<(u32, Option<String>), bool> = BTreeMap::new();
        document.leases.retain(|lease| {
            *alive
                .entry((lease.pid, lease.start_time.clone()))
                .or_insert_with(|| process::is(lease.pid, lease.start_time.as_deref()))
        });
        let changed = document.leases.len() != before;
        Ok(Self { document, changed, path, _lock: lock })
    }

    /// What dispatches cost that other processes have at work. Read without the lock: the file is only ever replaced.
    pub fn costs_of_others(paths: &Paths, own: u32) -> Vec<(String, f64)> {
        let document: Document =
            paths.leases().ok().and_then(|path| document::read(&path).ok().flatten()).unwrap_or_default();
        let others = document.leases.into_iter().filter(|lease| lease.pid != own);
        let alive = others.filter(|lease| process::is(lease.pid, lease.start_time.as_deref()));
        alive.filter_map(|lease| lease.cost).collect()
    }

    /// Tells what the dispatch that works on this task cost until now.
    pub fn cost(&mut self, id: &str, run: &str, usd: f64) {
        if let Some(lease) = self.document.leases.iter_mut().find(|lease| lease.id == id) {
            lease.cost = Some((run.to_owned(), usd));
            self.changed = true;
        }
    }

    /// How many tasks this worker has.
    pub fn running(&self, worker: &str) -> u32 {
        self.document.leases.iter().filter(|lease| lease.worker == worker).count() as u32
    }

    /// When this worker was last given a task.
    pub fn last_used(&self, worker: &str) -> Option<Timestamp> {
        self.document.used.get(worker).map(|moment| moment.0)
    }

    /// The tasks that are held, and whether by a session.
    pub fn held(&self) -> BTreeMap<String, bool> {
        self.document.leases.iter().map(|lease| (lease.id.clone(), !lease.alone)).collect()
    }

    /// Gives the worker a task.
    pub fn take(&mut self, lease: Lease, now: Timestamp) {
        self.document.used.insert(lease.worker.clone(), now.into());
        self.document.leases.push(lease);
        self.changed = true;
    }

    /// The task has left the worker.
    pub fn give_back(&mut self, id: &str) {
        let before = self.document.leases.len();
        self.document.leases.retain(|lease| lease.id != id);
        self.changed |= self.document.leases.len() != before;
    }

    /// Writes what has changed, and lets go.
    pub fn save(mut self) -> Result<()> {
        if !self.changed {
            return Ok(());
        }
        self.document.version = VERSION;
        if let Some(directory) = self.path.parent() {
            file::create_private_dir(directory)?;
        }
        document::replace(&self.path, &self.document, Durability::Lazy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::env::Env;

    fn lease(worker: &str, id: &str, pid: u32) -> Lease {
        let start_time = process::start_time(pid);
        Lease { worker: worker.into(), id: id.into(), pid, start_time, ..Lease::default() }
    }

    #[test]
    fn a_lease_counts_until_it_is_given_back_or_its_holder_is_gone() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::of(&[("HOME", home.path())].into_iter().collect::<Env>());
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let own = std::process::id();
        let mut leases = Leases::open(&paths).unwrap();
        leases.take(lease("glm", "d-1", own), now);
        leases.take(Lease { alone: true, ..lease("glm", "d-2", own) }, now);
        leases.take(Lease { start_time: Some("another time".into()), ..lease("glm", "d-3", own) }, now);
        leases.cost("d-2", "d-9", 0.5);
        leases.save().unwrap();
        assert_eq!(Leases::costs_of_others(&paths, own), []);
        assert_eq!(Leases::costs_of_others(&paths, 0), [("d-9".to_owned(), 0.5)]);

        let mut leases = Leases::open(&paths).unwrap();
        assert_eq!(leases.running("glm"), 2, "a number that was given again is another process");
        assert_eq!(leases.last_used("glm"), Some(now));
        let held = BTreeMap::from([("d-1".to_owned(), true), ("d-2".to_owned(), false)]);
        assert_eq!(leases.held(), held, "the other has no session");
        leases.give_back("d-1");
        leases.save().unwrap();
        assert_eq!(Leases::open(&paths).unwrap().running("glm"), 1);
    }
}
