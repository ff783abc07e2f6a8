//! `task_status`: where a task stands.

use serde_json::{Value, json};
use shared::record::{Record, Status};

use crate::look::{self, Standing};
use crate::show::outcome::{self, Piece};
use crate::show::span;
use crate::tools::{Call, Said};
use crate::work::task::{Stage, Task};

/// Tells it.
pub fn run(call: &Call) -> Said {
    let id = call.text("id").unwrap_or_default();
    match call.hub.task(id).filter(|task| !task.is_over()) {
        Some(task) => ours(&task),
        None => match look::record(&call.hub, id) {
            Some((path, record)) => recorded(call, &record, &path.display().to_string()),
            None => Said::refused(&unknown(id)),
        },
    }
}

/// What is said of an id that nothing is known of.
pub fn unknown(id: &str) -> String {
    format!("there is no task `{}`: list_tasks shows those there are", shared::flatten::flatten(id, 40))
}

/// A task of this session.
fn ours(task: &Task) -> Said {
    let tries: Vec<Value> = task
        .tries
        .iter()
        .map(|one| json!({"worker": one.worker, "status": one.status.name(), "reason": one.reason}))
        .collect();
    let live = &task.live;
    let base = |state: &str| json!({"id": task.id.as_str(), "title": task.spec.title, "state": state, "attempts": tries});
    let mut data = base("queued");
    let text = match &task.stage {
        Stage::Queued(why) => {
            extend(&mut data, json!({"waiting_for": why}));
            format!("{} waits: {why}", task.id)
        }
        Stage::Running { worker, since } => {
            data = base("running");
            extend(
                &mut data,
                json!({
                    "worker": worker,
                    "since": since.to_string(),
                    "seconds": live.elapsed_ms / 1_000,
                    "turn": live.turn,
                    "tool": live.tool,
                    "last_words": live.text,
                    "fresh_tokens": live.fresh(),
                    "denials": live.denials,
                }),
            );
            let took = span::words((live.elapsed_ms / 1_000).cast_signed());
            let tokens = span::tokens(live.fresh());
            format!("{} runs on {worker}, {took}, {tokens} fresh tokens, {}", task.id, live.line())
        }
        Stage::Detached(_) | Stage::Ended => String::new(),
    };
    Said::new(data, text)
}

fn extend(data: &mut Value, more: Value) {
    if let (Some(data), Value::Object(more)) = (data.as_object_mut(), more) {
        data.extend(more);
    }
}

/// A task that its record tells of.
fn recorded(call: &Call, record: &Record, path: &str) -> Said {
    let standing = look::standing(&look::held(&call.hub), record);
    if standing == Standing::Ended {
        let tries = look::tries(&call.hub, &record.id);
        let mut data = outcome::data(record, &tries, &Piece::default(), Some(path));
        extend(&mut data, json!({"state": "ended"}));
        return Said::new(data, outcome::text(record, &tries, &Piece::default(), Some(path)));
    }
    let word = serde_json::to_value(standing).unwrap_or_default();
    let title = record.title.as_deref().map(|title| shared::flatten::flatten(title, 120));
    let data = json!({
        "id": record.id,
        "title": title,
        "state": word,
        "status": record.status.map(Status::name),
        "worker": record.worker,
        "started_at": record.started_at,
        "record": path,
    });
    let text = match standing {
        Standing::Lost => format!(
            "{} is lost: everything that could tell of it has gone; its record is {path}, its worker's session {}",
            record.id,
            record.worker_sessions.last().map_or("unknown", String::as_str)
        ),
        Standing::Adopted => format!(
            "{} runs on {} without the session that started it; task_cancel ends it, task_result with `wait` waits",
            record.id, record.worker
        ),
        _ => format!("{} is {} in another session", record.id, word.as_str().unwrap_or("open")),
    };
    Said::new(data, text)
}
