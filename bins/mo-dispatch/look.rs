//! Looking at records: what runs, whose it is, and what has gone without a word. Nothing here signals anybody.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serialize;
use shared::dispatch_id::DispatchId;
use shared::dispatches;
use shared::outcome;
use shared::record::{Record, Status};

use crate::work::close;
use crate::work::hub::Hub;
use crate::work::leases::Leases;
use crate::work::task::Try;

/// More workers than this never try one task.
const MOST_RUNS: usize = 64;
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

/// The record of this task as it stands: of the dispatch that went on with it last, under the task's own id.
pub fn record(hub: &Hub, id: &str) -> Option<(PathBuf, Record)> {
    DispatchId::parse(id).ok()?;
    dispatches::find(&hub.world.paths, id).ok().map(|found| latest(hub, found))
}

/// Follows a task from dispatch to dispatch.
fn latest(hub: &Hub, (mut path, mut record): (PathBuf, Record)) -> (PathBuf, Record) {
    let id = record.id.clone();
    for _ in 0..MOST_RUNS {
        let Some(next) = record.continued_by.as_deref().and_then(|next| DispatchId::parse(next).ok()) else {
            break;
        };
        match dispatches::find(&hub.world.paths, next.as_str()) {
            Ok(found) => (path, record) = found,
            Err(_) => break,
        }
    }
    record.id = id;
    (path, record)
}

/// The runs of a task: those that this session saw, else those that its records tell.
pub fn tries(hub: &Hub, id: &str) -> Vec<Try> {
    if let Some(task) = hub.task(id).filter(|task| !task.tries.is_empty()) {
        return task.tries;
    }
    let mut tries: Vec<Try> = Vec::new();
    let (mut next, mut sessions) = (DispatchId::parse(id).ok(), Vec::new());
    while let Some(run) = next.take().filter(|_| tries.len() < MOST_RUNS) {
        let Ok((_, record)) = dispatches::find(&hub.world.paths, run.as_str()) else { break };
        let at =
            |time: &Option<String>| time.as_deref().and_then(|time| time.parse().ok()).unwrap_or_default();
        let resumed = !tries.is_empty() && record.worker_sessions == sessions;
        let times = (at(&record.started_at), at(&record.ended_at));
        tries.push(close::tried(&record.worker, times.0, times.1, &record, resumed));
        next = record.continued_by.as_deref().and_then(|next| DispatchId::parse(next).ok());
        sessions = record.worker_sessions;
    }
    tries
}

/// The dispatch behind this file, which is another than its task where that was moved on.
pub fn run(path: &Path) -> Option<DispatchId> {
    path.file_stem()?.to_str().and_then(|stem| DispatchId::parse(stem).ok())
}

/// The tasks that a living process holds, and whether it is a session.
pub type Held = BTreeMap<String, bool>;

/// All of them.
pub fn held(hub: &Hub) -> Held {
    Leases::open(&hub.world.paths).map(|leases| leases.held()).unwrap_or_default()
}

/// How this dispatch stands. A number of a process proves nothing without its start time.
pub fn standing(held: &Held, record: &Record) -> Standing {
    let at_work = || match held.get(&record.id) {
        Some(true) => Standing::Running,
        _ => Standing::Adopted,
    };
    match record.status {
        Some(Status::Queued) if outcome::supervisor_is_alive(record) => Standing::Queued,
        Some(Status::Running) if outcome::is_alive(record) => at_work(),
        // Whoever holds the task has not yet decided what follows the end of its run.
        Some(status) if status.is_final() && held.contains_key(&record.id) => at_work(),
        Some(status) if status.is_final() => Standing::Ended,
        _ => Standing::Lost,
    }
}

/// The newest dispatches that are wanted.
pub fn list(hub: &Hub, workspace: bool, wanted: impl Fn(Standing) -> bool, limit: usize) -> Vec<Found> {
    let held = held(hub);
    let here = real(&hub.workspace);
    let files = dispatches::files(&hub.world.paths).unwrap_or_default();
    let read = |path: &PathBuf| Record::read(path).ok().flatten().map(|record| (path.clone(), record));
    let mut records: Vec<(PathBuf, Record)> = files.iter().rev().take(MOST).filter_map(read).collect();
    // A task that was moved on stands where it was asked for, as it is now.
    let moved: BTreeSet<String> =
        records.iter().filter_map(|(_, record)| record.continued_by.clone()).collect();
    records.retain(|(_, record)| !moved.contains(&record.id));
    let here = records.into_iter().filter(|(_, record)| !workspace || is_below(record, &here));
    let found = here.map(|found| {
        let (_, record) = latest(hub, found);
        Found { standing: standing(&held, &record), record }
    });
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
