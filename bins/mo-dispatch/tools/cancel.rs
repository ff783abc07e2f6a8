//! `task_cancel`: ends a task, or all of this workspace, and waits for it.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use shared::record::{Record, Status};
use tokio::process::Command;

use crate::look::{self, Standing};
use crate::tools::status::unknown;
use crate::tools::{Call, Said};
use crate::work::close::DETACHED;
use crate::work::hub::Hub;
use crate::work::task::Stop;

/// Ends them.
pub async fn run(call: Call) -> Said {
    let hub = &call.hub;
    let ids = match (call.text("id"), call.is("all")) {
        (Some(id), false) => vec![id.to_owned()],
        (None, true) => open_here(hub),
        _ => return Said::refused("give the id of a task, or `all`: true, and not both"),
    };
    let mut ours = Vec::new();
    let mut others = Vec::new();
    for id in &ids {
        match hub.task(id).filter(|task| !task.is_over()) {
            Some(_) => ours.push(id.clone()),
            None => match look::record(hub, id) {
                Some(found) => others.push(found),
                None => return Said::refused(&unknown(id)),
            },
        }
    }
    // Told first, waited for then: all end at once.
    hub.stop(&ours, &Stop::Cancelled);
    let mut trouble = Vec::new();
    let held = look::held(hub);
    for (path, record) in &others {
        if is_open(look::standing(&held, record), record)
            && let Err(why) = stop(hub, path).await
        {
            trouble.push(format!("{}: {why}", record.id));
        }
    }
    hub.ended(&ours).await;
    let ended: Vec<(String, String)> = ids.iter().map(|id| (id.clone(), status(hub, id))).collect();
    let mut text: String = ended.iter().map(|(id, status)| format!("{id} {status}\n")).collect();
    if ended.is_empty() {
        text.push_str("nothing of this workspace runs or waits\n");
    }
    for line in &trouble {
        text.push_str(line);
        text.push('\n');
    }
    let tasks: Vec<Value> = ended.iter().map(|(id, status)| json!({"id": id, "status": status})).collect();
    let mut said = Said::new(json!({"tasks": tasks, "trouble": trouble}), text);
    said.is_error = !trouble.is_empty();
    said
}

fn status(hub: &Hub, id: &str) -> String {
    match look::record(hub, id) {
        Some((_, record)) if look::standing(&look::held(hub), &record) == Standing::Lost => "lost".to_owned(),
        Some((_, record)) => record.status.map_or("?", Status::name).to_owned(),
        None => "?".to_owned(),
    }
}

/// Everything of this workspace that has not ended.
fn open_here(hub: &Hub) -> Vec<String> {
    let own =
        hub.state().tasks.values().filter(|task| !task.is_over()).map(|task| task.id.to_string()).collect();
    let mut ids: Vec<String> = own;
    let not_ended = |standing| !matches!(standing, Standing::Ended | Standing::Lost);
    for found in look::list(hub, true, not_ended, usize::MAX) {
        if is_open(found.standing, &found.record) && !ids.contains(&found.record.id) {
            ids.push(found.record.id);
        }
    }
    ids
}

/// Whether it can be ended from here: it runs, or waits in a process that holds nothing else.
fn is_open(standing: Standing, record: &Record) -> bool {
    let waits_alone = || record.asked.iter().any(|flag| flag == DETACHED);
    match standing {
        Standing::Running | Standing::Adopted => true,
        Standing::Queued => waits_alone(),
        Standing::Ended | Standing::Lost => false,
    }
}

/// Ends a task that is not of this session, through the program that proves whom it signals.
async fn stop(hub: &Hub, path: &Path) -> Result<(), String> {
    let id = look::run(path).ok_or_else(|| "its record has no id".to_owned())?;
    let mut command = Command::new(&hub.spawn);
    command.args(["stop", id.as_str()]).process_group(0).stdin(Stdio::null());
    let output = command.output().await.map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(shared::flatten::flatten(&String::from_utf8_lossy(&output.stderr), 300))
}
