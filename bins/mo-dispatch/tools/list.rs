//! `list_tasks`: the tasks of this workspace, or all.

use serde_json::{Value, json};
use shared::flatten::flatten;
use shared::record::Status;

use crate::look::{self, Standing};
use crate::tools::{Call, Said};
use crate::work::task::Stage;

/// How many when nobody says.
const USUAL: u64 = 30;

/// Lists them, newest first.
pub fn run(call: &Call) -> Said {
    let limit = call.number("limit").unwrap_or(USUAL) as usize;
    let wanted = |standing| match call.text("state") {
        Some("open") => standing != Standing::Ended && standing != Standing::Lost,
        Some("ended") => standing == Standing::Ended,
        _ => true,
    };
    let workspace = call.text("scope") != Some("all");
    let found = look::list(&call.hub, workspace, wanted, limit);
    let mut rows = Vec::new();
    let mut text = String::new();
    for one in &found {
        let record = &one.record;
        let task = call.hub.task(&record.id);
        let worker = match task.as_ref().map(|task| &task.stage) {
            Some(Stage::Running { worker, .. }) => worker.as_str(),
            _ => record.worker.as_str(),
        };
        let now = match task.as_ref().map(|task| &task.stage) {
            Some(Stage::Queued(why)) => Some(why.clone()),
            Some(Stage::Running { .. }) => task.as_ref().map(|task| task.live.line()),
            _ => record.error.as_ref().map(|error| flatten(&error.text, 200)),
        };
        let title = record.title.as_deref().map(|title| flatten(title, 120)).unwrap_or_default();
        let state = serde_json::to_value(one.standing).unwrap_or_default();
        let word = match one.standing {
            Standing::Ended => record.status.map_or("?", Status::name),
            _ => state.as_str().unwrap_or("?"),
        };
        let note = now.as_deref().map(|now| format!(" ({now})")).unwrap_or_default();
        let by = if worker.is_empty() { String::new() } else { format!(" on {worker}") };
        text.push_str(&format!("{} {word}{by}: {title}{note}\n", record.id));
        rows.push(row(record, &state, worker, &title, now.as_deref()));
    }
    if text.is_empty() {
        text.push_str("no tasks\n");
    }
    Said::new(json!({"tasks": rows}), text)
}

fn row(
    record: &shared::record::Record,
    state: &Value,
    worker: &str,
    title: &str,
    now: Option<&str>,
) -> Value {
    json!({
        "id": record.id,
        "title": title,
        "state": state,
        "status": record.status.map(Status::name),
        "worker": worker,
        "asked_at": record.queued_at,
        "started_at": record.started_at,
        "ended_at": record.ended_at,
        "now": now,
        "branch": record.branch.as_deref().map(|branch| flatten(branch, 120)),
    })
}
