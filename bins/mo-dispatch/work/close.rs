//! Records of tasks that mo-spawn never saw, or never ended: asked for, and told as what became of them.

use std::path::PathBuf;

use jiff::Timestamp;
use shared::clock::rfc3339;
use shared::error::Result;
use shared::file::{self, Durability};
use shared::record::{Failure, Record, Status};

use crate::work::hub::Hub;
use crate::work::task::{Task, Try};

/// Where a task's record lies.
pub fn path(hub: &Hub, task: &Task) -> Result<PathBuf> {
    Record::path(&hub.world.paths, &task.id, task.asked)
}

/// Where its prompt lies: beside the record, whole.
pub fn prompt_path(hub: &Hub, task: &Task) -> Result<PathBuf> {
    Ok(path(hub, task)?.with_extension("prompt"))
}

/// Where the addition to the system prompt lies; nothing where there is none.
pub fn system_path(hub: &Hub, task: &Task) -> Result<Option<PathBuf>> {
    task.spec.system_prompt.as_ref().map(|_| Ok(path(hub, task)?.with_extension("system"))).transpose()
}

/// Writes down that the task was asked for. It waits in the name of this process: when that is gone, so is the task.
pub fn ask(hub: &Hub, task: &Task) -> Result<()> {
    let record_path = path(hub, task)?;
    let prompt = prompt_path(hub, task)?;
    if let Some(directory) = record_path.parent() {
        file::create_private_dir(directory)?;
    }
    file::replace(&prompt, task.spec.prompt.as_bytes(), file::PRIVATE, Durability::Lazy)?;
    if let (Some(system), Some(text)) = (system_path(hub, task)?, &task.spec.system_prompt) {
        file::replace(&system, text.as_bytes(), file::PRIVATE, Durability::Lazy)?;
    }
    let record = Record {
        version: 1,
        id: task.id.to_string(),
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
        prompt_path: Some(prompt.to_string_lossy().into_owned()),
        ..Record::default()
    };
    record.write(&record_path)?;
    record.index(&hub.world.paths, &record_path)
}

/// The record as it stands on disk, where it stands there.
pub fn read(hub: &Hub, task: &Task) -> Option<Record> {
    Record::read(&path(hub, task).ok()?).ok().flatten()
}

/// Writes down how a task ended that mo-spawn did not close itself.
pub fn end(hub: &Hub, task: &Task, status: Status, kind: &str, why: &str, now: Timestamp) -> Record {
    let mut record = read(hub, task).unwrap_or_else(|| Record {
        version: 1,
        id: task.id.to_string(),
        title: Some(task.spec.title.clone()),
        ..Record::default()
    });
    record.status = Some(status);
    record.error = Some(Failure { kind: kind.to_owned(), text: why.to_owned() });
    record.ended_at = Some(rfc3339(now));
    if let Ok(path) = path(hub, task) {
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
        reason: record.error.as_ref().map(|error| error.text.clone()),
        resumed,
    }
}
