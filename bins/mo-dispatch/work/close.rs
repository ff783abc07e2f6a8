//! The records of this session's tasks: written when one is asked for, read while it runs, and told as what became of it
//! where mo-spawn never saw it or never ended it.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use shared::clock::rfc3339;
use shared::dispatch_id::DispatchId;
use shared::dispatches;
use shared::error::Result;
use shared::file::{self, Durability};
use shared::outcome::what_next;
use shared::record::{Failure, Record, Status};

use crate::work::hub::Hub;
use crate::work::task::{Task, Try};

/// What a worker is told that goes on with the session of another.
const GO_ON: &str = "\
Go on with the task where the work stopped: another account could not go on. What was said and done is in your history, and \
the files are as they were left. Do not begin anew; end with the report that the task asks for.";
/// What a worker is told besides that begins anew on what another left.
const ANEW: &str = "\n\n\
An earlier attempt by another worker stopped half-way. What it changed is still in the files: look at that first, and go on \
from there.";

/// The flag of a task that waits in no session.
pub const DETACHED: &str = "--detach";

/// Where a task's own record lies.
pub fn path(hub: &Hub, task: &Task) -> Result<PathBuf> {
    Record::path(&hub.world.paths, &task.id, task.asked)
}

/// Where the record of its last run lies: one that found no place has none.
pub fn last_path(hub: &Hub, task: &Task) -> Option<PathBuf> {
    let moved = task.runs.iter().rev().filter(|run| **run != task.id);
    let mut found = moved.filter_map(|run| dispatches::find(&hub.world.paths, run.as_str()).ok());
    found.next().map(|(path, _)| path).or_else(|| path(hub, task).ok())
}

/// The record of this run, where there is one.
pub fn of_run(hub: &Hub, run: &DispatchId) -> Option<Record> {
    dispatches::find(&hub.world.paths, run.as_str()).ok().map(|(_, record)| record)
}

/// The record of its last run, where it stands on disk.
pub fn read(hub: &Hub, task: &Task) -> Option<Record> {
    Record::read(&last_path(hub, task)?).ok().flatten()
}

/// The addition to the system prompt, in its file; nothing where there is none.
pub fn system_path(hub: &Hub, task: &Task) -> Result<Option<PathBuf>> {
    task.spec.system_prompt.as_ref().map(|_| Ok(path(hub, task)?.with_extension("system"))).transpose()
}

/// Writes down what the next run is told, and where that lies.
pub fn words(hub: &Hub, task: &Task, resumed: bool) -> Result<PathBuf> {
    let text = match (task.tries.is_empty(), resumed) {
        (true, _) => task.spec.prompt.clone(),
        (false, true) => GO_ON.to_owned(),
        (false, false) => format!("{}{ANEW}", task.spec.prompt.trim_end()),
    };
    let path = path(hub, task)?.with_extension("task");
    file::replace(&path, text.as_bytes(), file::PRIVATE, Durability::Lazy)?;
    Ok(path)
}

/// Writes down that the task was asked for. It waits in the name of this process: when that is gone, so is the task.
pub fn ask(hub: &Hub, task: &Task) -> Result<()> {
    let record_path = path(hub, task)?;
    if let Some(directory) = record_path.parent() {
        file::create_private_dir(directory)?;
    }
    let prompt = words(hub, task, false)?;
    if let (Some(system), Some(text)) = (system_path(hub, task)?, &task.spec.system_prompt) {
        file::replace(&system, text.as_bytes(), file::PRIVATE, Durability::Lazy)?;
    }
    let record =
        Record { prompt_path: Some(prompt.to_string_lossy().into_owned()), ..waiting(hub, task, &task.id) };
    record.write(&record_path)?;
    record.index(&hub.world.paths, &record_path)
}

/// The record of a run that waits.
fn waiting(hub: &Hub, task: &Task, run: &DispatchId) -> Record {
    Record {
        version: 1,
        id: run.to_string(),
        title: Some(task.spec.title.clone()),
        worker: task.spec.worker.clone().unwrap_or_default(),
        role: task.spec.role.clone(),
        tier: task.spec.tier.map(|tier| tier.name().to_owned()),
        model: task.spec.model.clone(),
        manager_session: task.session.clone(),
        tool_use_id: task.tool_use.clone(),
        cwd: hub.workspace.to_string_lossy().into_owned(),
        supervisor: Some(hub.own.clone()),
        args_mode: "managed".to_owned(),
        status: Some(Status::Queued),
        queued_at: Some(rfc3339(task.asked)),
        // Whoever wants it ended may ask the process that holds it, which holds nothing else.
        asked: hub.alone.then(|| DETACHED.to_owned()).into_iter().collect(),
        ..Record::default()
    }
}

/// Writes down that the task goes on after this run, and waits: nobody takes what the run came to for its end. Tells as
/// what it will go on; nothing where that cannot be written, and only this process knows.
pub fn wait_on(hub: &Hub, task: &Task, before: &Record, now: Timestamp) -> Option<DispatchId> {
    let run = DispatchId::new(now);
    let path = Record::path(&hub.world.paths, &run, now).ok()?;
    file::create_private_dir(path.parent()?).ok()?;
    waiting(hub, task, &run).write(&path).ok()?;
    moved_on(hub, before, &run);
    Some(run)
}

/// The run that the task waits to go on as, where it has run before.
fn next(hub: &Hub, task: &Task) -> Option<(PathBuf, Record)> {
    let run = task.runs.last().filter(|run| **run != task.id)?;
    let found = dispatches::find(&hub.world.paths, run.as_str()).ok()?;
    (found.1.status == Some(Status::Queued)).then_some(found)
}

/// It does not go on: what the run before came to is its end.
fn take_back(hub: &Hub, task: &Task, path: &Path) {
    // What cannot be taken away waits in the name of this process, and is lost with it.
    let _ = fs::remove_file(path);
    let before = task.record.as_ref().and_then(|before| dispatches::find(&hub.world.paths, &before.id).ok());
    if let Some((path, mut before)) = before {
        before.continued_by = None;
        let _ = before.write(&path);
    }
}

/// Notes in the record of the run before that this one goes on, so that the task is found from its first id.
pub fn moved_on(hub: &Hub, before: &Record, to: &DispatchId) {
    if let Ok((path, mut record)) = dispatches::find(&hub.world.paths, &before.id) {
        record.continued_by = Some(to.to_string());
        // Where it cannot be written, this session still knows.
        let _ = record.write(&path);
    }
}

/// Writes down how a task ended that mo-spawn did not close itself. What an earlier run came to stays.
pub fn end(hub: &Hub, task: &Task, status: Status, kind: &str, why: &str, now: Timestamp) -> Record {
    if let Some((path, mut record)) = next(hub, task) {
        if status == Status::Cancelled {
            // Nobody wants it any more, whatever the run before came to.
            record.status = Some(status);
            record.error = Some(Failure { kind: kind.to_owned(), text: why.to_owned() });
            record.ended_at = Some(rfc3339(now));
            let _ = record.write(&path);
            return record;
        }
        take_back(hub, task, &path);
    }
    let mut record = read(hub, task).unwrap_or_else(|| Record {
        version: 1,
        id: task.id.to_string(),
        title: Some(task.spec.title.clone()),
        ..Record::default()
    });
    let before = record.error.take().filter(|_| !task.tries.is_empty());
    record.error = Some(match before {
        // It was refused, and nobody else can go on.
        Some(before) if record.status.is_some_and(Status::is_final) => {
            Failure { text: format!("{}; {why}", before.text), ..before }
        }
        _ => {
            record.status = Some(status);
            Failure { kind: kind.to_owned(), text: why.to_owned() }
        }
    });
    record.ended_at = Some(rfc3339(now));
    if let Some(path) = last_path(hub, task) {
        // The caller is told anyway; what cannot be written is found as lost.
        let _ = record.write(&path);
    }
    record
}

/// What is told of one run.
pub fn tried(
    worker: &str,
    started_at: Timestamp,
    ended_at: Timestamp,
    record: &Record,
    resumed: bool,
) -> Try {
    Try {
        worker: worker.to_owned(),
        started_at,
        ended_at,
        status: record.status.unwrap_or(Status::Lost),
        reason: record.error.as_ref().map(|error| match what_next(record) {
            Some(next) if record.status != Some(Status::Quota) => format!("{}; {next}", error.text),
            _ => error.text.clone(),
        }),
        resumed,
    }
}
