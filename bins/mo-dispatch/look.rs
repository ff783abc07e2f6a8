//! Looking at records: what runs, whose it is, and what has gone without a word. Nothing here signals anybody.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use shared::dispatch_id::DispatchId;
use shared::dispatches;
use shared::outcome;
use shared::record::{Record, Status};

use crate::work::hub::Hub;
use crate::work::leases::Leases;

/// The most records that a list looks through.
const MOST: usize = 5_000;

/// How a dispatch stands, as far as looking tells.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Waits in a session that lives.
    Queued,
    /// Runs, and the session that started it lives.
    Running,
    /// Runs, and the session that started it does not: detached, or its session was killed.
    Adopted,
    /// Was running or waiting when everything that could tell of it went.
    Lost,
    /// Has ended.
    Ended,
}

/// One dispatch in a list.
#[derive(Debug)]
pub struct Found {
    /// How it stands.
    pub standing: Standing,
    /// Its record.
    pub record: Record,
}

/// The record of this id.
pub fn record(hub: &Hub, id: &str) -> Option<(PathBuf, Record)> {
    DispatchId::parse(id).ok()?;
    dispatches::find(&hub.world.paths, id).ok()
}

/// Which living process holds which task.
pub type Holders = BTreeMap<String, u32>;

/// All of them.
pub fn holders(hub: &Hub) -> Holders {
    Leases::open(&hub.world.paths).map(|leases| leases.holders()).unwrap_or_default()
}

/// How this dispatch stands. A number of a process proves nothing without its start time.
pub fn standing(holders: &Holders, record: &Record) -> Standing {
    match record.status {
        Some(Status::Queued) if outcome::supervisor_is_alive(record) => Standing::Queued,
        Some(Status::Running) if outcome::is_alive(record) => {
            let supervisor = record.supervisor.as_ref().map(|supervisor| supervisor.pid);
            // A lease in the name of its own mo-spawn is one that a session left behind.
            let is_watched = holders.get(&record.id).is_some_and(|holder| Some(*holder) != supervisor);
            if is_watched { Standing::Running } else { Standing::Adopted }
        }
        Some(status) if status.is_final() => Standing::Ended,
        _ => Standing::Lost,
    }
}

/// The newest dispatches that are wanted.
pub fn list(hub: &Hub, workspace: bool, wanted: impl Fn(Standing) -> bool, limit: usize) -> Vec<Found> {
    let holders = holders(hub);
    let here = real(&hub.workspace);
    let files = dispatches::files(&hub.world.paths).unwrap_or_default();
    let records = files.iter().rev().take(MOST).filter_map(|path| Record::read(path).ok().flatten());
    let here = records.filter(|record| !workspace || is_below(record, &here));
    let found = here.map(|record| Found { standing: standing(&holders, &record), record });
    found.filter(|found| wanted(found.standing)).take(limit).collect()
}

/// Whether it works in this directory or below, or on a work tree of it.
fn is_below(record: &Record, here: &Path) -> bool {
    let places = [Some(&record.cwd), record.repo.as_ref()];
    places.into_iter().flatten().any(|place| real(Path::new(place)).starts_with(here))
}

/// The path without links: a workspace has many names.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
