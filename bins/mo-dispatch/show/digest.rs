//! Several tasks at once: how they stand while they run, and what came of them in the end.

use std::fmt::Write as _;

use serde_json::{Value, json};
use shared::record::{Record, Status};

use crate::show::outcome::{self, Piece};
use crate::show::span;
use crate::work::task::{Stage, Task};

/// How they stand now, in one line for the client's progress.
pub fn progress(tasks: &[Task], ended: Option<&Task>) -> String {
    if let [task] = tasks {
        return one(task);
    }
    let over = tasks.iter().filter(|task| task.is_over()).count();
    let running: Vec<&Task> =
        tasks.iter().filter(|task| matches!(task.stage, Stage::Running { .. })).collect();
    let waiting = tasks.len() - over - running.len();
    let mut line = format!("{over} of {} ended, {} running, {waiting} waiting", tasks.len(), running.len());
    if let Some(task) = ended {
        let status = task.status().map_or("?", Status::name);
        let _ = write!(line, " · {}: {status}", task.spec.title);
    }
    if let Some(task) = running.iter().max_by_key(|task| task.live.turn) {
        let _ =
            write!(line, " · {} on {}: {}", task.spec.title, task.worker().unwrap_or("?"), task.live.line());
    }
    line
}

fn one(task: &Task) -> String {
    match &task.stage {
        Stage::Queued(why) => format!("{}: waiting: {why}", task.spec.title),
        Stage::Running { worker, .. } => {
            let took = span::words((task.live.elapsed_ms / 1_000).cast_signed());
            format!("{} on {worker}, {took}, {}", task.spec.title, task.live.line())
        }
        Stage::Detached(_) => format!("{}: goes on by itself", task.spec.title),
        Stage::Ended => format!("{}: {}", task.spec.title, task.status().map_or("?", Status::name)),
    }
}

/// What a task came to: its record, or that it goes on by itself.
pub fn data(task: &Task, path: Option<&str>, most: usize) -> Value {
    match (&task.stage, &task.record) {
        (Stage::Detached(worker), _) => json!({
            "id": task.id.as_str(),
            "title": task.spec.title,
            "status": if worker.is_empty() { "queued" } else { "running" },
            "worker": worker,
            "detached": true,
            "record": path,
        }),
        (_, Some(record)) => {
            let record = own(task, record);
            let piece = Piece::of(&outcome::report(&record), 0, most);
            outcome::data(&record, &task.tries, &piece, path)
        }
        _ => json!({"id": task.id.as_str(), "title": task.spec.title, "status": Value::Null}),
    }
}

/// The same in words.
pub fn text(task: &Task, path: Option<&str>, most: usize) -> String {
    match (&task.stage, &task.record) {
        (Stage::Detached(worker), _) => {
            let how =
                if worker.is_empty() { "waits for a worker".to_owned() } else { format!("runs on {worker}") };
            format!(
                "{}: {} {how} by itself, moves on where its worker refuses, and outlives this session; task_result with \
                 `wait` brings its result\n",
                task.spec.title, task.id
            )
        }
        (_, Some(record)) => {
            let record = own(task, record);
            let piece = Piece::of(&outcome::report(&record), 0, most);
            outcome::text(&record, &task.tries, &piece, path)
        }
        _ => format!("{}: {}\n", task.spec.title, task.id),
    }
}

/// The record of its last run under the task's own id.
fn own(task: &Task, record: &Record) -> Record {
    Record { id: task.id.to_string(), ..record.clone() }
}

/// How many ended how.
pub fn counts(tasks: &[Task]) -> Vec<(String, usize)> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for task in tasks {
        let name = match &task.stage {
            Stage::Detached(_) => "detached",
            _ => task.status().map_or("open", Status::name),
        };
        match counts.iter_mut().find(|(known, _)| known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name.to_owned(), 1)),
        }
    }
    counts
}
