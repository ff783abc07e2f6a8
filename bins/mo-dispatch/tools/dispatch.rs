//! `dispatch_task` and `dispatch_tasks`: tasks taken in, worked on, and told as they end.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::{Value, json};
use shared::child_env;
use shared::dispatch_id::DispatchId;
use shared::record::Status;
use tokio::time::{Instant, sleep_until};

use crate::alone::{self, Begun};
use crate::schedule::after;
use crate::show::digest;
use crate::tools::spec::Spec;
use crate::tools::{Call, Said};
use crate::work::close;
use crate::work::hub::Hub;
use crate::work::task::{Stage, Stop, Task};

/// The most characters of a report in the answer to one task; the rest stays in its file.
const ALONE: usize = 100_000;
/// The most characters of all reports in the answer to many.
const TOGETHER: usize = 120_000;
/// Where no report of many is cut shorter.
const LEAST: usize = 2_000;
/// How many tasks of a call run at once when nobody says.
const AT_ONCE: u64 = 8;

/// One task.
pub async fn one(call: Call) -> Said {
    let specs = Spec::of(&call.arguments).map(|spec| vec![spec]);
    let tasks = match run(call, specs, 1).await {
        Ok(done) => done,
        Err(why) => return Said::refused(&why),
    };
    let Some((task, path)) = tasks.first() else { return Said::refused("the task is gone") };
    let mut said =
        Said::new(digest::data(task, path.as_deref(), ALONE), digest::text(task, path.as_deref(), ALONE));
    said.is_error = !went_well(task);
    said
}

/// Many tasks.
pub async fn many(call: Call) -> Said {
    let at_once = call.number("max_parallel").unwrap_or(AT_ONCE) as u32;
    let items = call.arguments.get("tasks").and_then(Value::as_array).cloned().unwrap_or_default();
    let specs = items.iter().map(Spec::of).collect::<Result<Vec<_>, _>>();
    let tasks = match run(call, specs, at_once).await {
        Ok(done) => done,
        Err(why) => return Said::refused(&why),
    };
    let most = (TOGETHER / tasks.len().max(1)).max(LEAST);
    let plain: Vec<Task> = tasks.iter().map(|(task, _)| task.clone()).collect();
    let counts = digest::counts(&plain);
    let all: Vec<Value> =
        tasks.iter().map(|(task, path)| digest::data(task, path.as_deref(), most)).collect();
    let how: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    let mut text = format!("{} tasks: {}\n", tasks.len(), how.join(", "));
    for (number, (task, path)) in tasks.iter().enumerate() {
        text.push_str(&format!("\n--- {} ", number + 1));
        text.push_str(&digest::text(task, path.as_deref(), most));
    }
    let counts: BTreeMap<_, _> = counts.into_iter().collect();
    let mut said = Said::new(json!({"counts": counts, "tasks": all}), text);
    // One that went well is worth reading; nothing but failures is a failure.
    said.is_error = !plain.iter().any(went_well);
    said
}

fn went_well(task: &Task) -> bool {
    matches!(task.stage, Stage::Detached(_)) || task.status() == Some(Status::Done)
}

/// Each task as it stands at the end, and where its record lies.
type Done = Vec<(Task, Option<String>)>;

async fn run(mut call: Call, specs: Result<Vec<Spec>, String>, at_once: u32) -> Result<Done, String> {
    let hub = Arc::clone(&call.hub);
    let ids = submit(&hub, specs?, at_once, call.tool_use.as_deref())?;
    hand_over(&hub, &ids).await;
    if follow(&mut call, &ids).await.is_err() {
        // Nobody waits for an answer any more; the end of what ran is waited for all the same.
        hub.stop(&ids, &Stop::Cancelled);
        hub.ended(&ids).await;
    }
    let tasks = ids.iter().filter_map(|id| hub.task(id));
    let tasks = tasks.map(|task| {
        let path = close::last_path(&hub, &task).map(|path| path.display().to_string());
        (task, path)
    });
    Ok(tasks.collect())
}

/// Tells how it goes until all have ended; an error when the call is cancelled before.
pub async fn follow(call: &mut Call, ids: &[String]) -> Result<(), ()> {
    let hub = Arc::clone(&call.hub);
    let mut changes = hub.watch();
    let mut over: Vec<String> = Vec::new();
    let mut last: Option<Task> = None;
    loop {
        let tasks: Vec<Task> = ids.iter().filter_map(|id| hub.task(id)).collect();
        for task in tasks.iter().filter(|task| task.is_over()) {
            if !over.iter().any(|id| id == task.id.as_str()) {
                over.push(task.id.to_string());
                last = Some(task.clone());
            }
        }
        if over.len() >= tasks.len() {
            return Ok(());
        }
        let line = digest::progress(&tasks, last.as_ref());
        call.reporter.tell(line).await;
        let due = call.reporter.due();
        let free = call.reporter.free();
        tokio::select! {
            () = &mut call.cancelled => return Err(()),
            () = sleep_until(due) => {}
            heard = changes.changed() => {
                if heard.is_err() {
                    return Err(());
                }
                // Not at every word: the end of a task is looked at when the next word is free.
                if free > Instant::now() {
                    let all_over = || ids.iter().filter_map(|id| hub.task(id)).all(|task| task.is_over());
                    tokio::select! {
                        () = &mut call.cancelled => return Err(()),
                        () = sleep_until(free) => {}
                        () = async {
                            while !all_over() && changes.changed().await.is_ok() {}
                        } => {}
                    }
                }
            }
        }
    }
}

/// Takes tasks in: from now on they are the plan's.
fn submit(hub: &Hub, specs: Vec<Spec>, at_once: u32, tool_use: Option<&str>) -> Result<Vec<String>, String> {
    if child_env::depth(&hub.world.env) > 0 {
        return Err("this session is a worker itself: a worker gives no work away".to_owned());
    }
    if hub.state().closing {
        return Err("the session is ending".to_owned());
    }
    let asked = hub.world.clock.now();
    // A millisecond apart, so that their ids sort in the order in which they were asked for.
    let at = |place: i64| asked.checked_add(SignedDuration::from_millis(place)).unwrap_or(asked);
    let ids: Vec<DispatchId> = (0..).zip(&specs).map(|(place, _)| DispatchId::new(at(place))).collect();
    let names: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let specs = specs
        .into_iter()
        .map(|mut spec| {
            spec.after =
                spec.after.iter().map(|wanted| resolved(hub, &names, wanted)).collect::<Result<_, _>>()?;
            Ok(spec)
        })
        .collect::<Result<Vec<Spec>, String>>()?;
    let edges = names.iter().cloned().zip(specs.iter().map(|spec| spec.after.clone())).collect();
    if let Some(id) = after::circle(&edges) {
        let at = names.iter().position(|name| *name == id).map_or(0, |at| at + 1);
        return Err(format!("after: task #{at} waits for itself, over others or not"));
    }
    // What a hook told of this very call; else what this process was started with.
    let told = tool_use.and_then(|tool_use| shared::tool_use::take(&hub.world.paths, tool_use));
    let session = told.or_else(|| child_env::manager_session(&hub.world.env).map(str::to_owned));
    let batch = {
        let mut state = hub.state();
        state.batches += 1;
        state.batches
    };
    let mut tasks = Vec::new();
    for (id, spec) in ids.into_iter().zip(specs) {
        let task = Task {
            batch,
            batch_limit: at_once,
            tool_use: tool_use.map(str::to_owned),
            session: session.clone(),
            ..Task::new(id, spec, asked)
        };
        close::ask(hub, &task).map_err(|error| error.to_string())?;
        tasks.push(task);
    }
    // Who outlives the session is nothing for its plan.
    for task in tasks.iter_mut().filter(|task| task.spec.detach) {
        task.stage = Stage::Detached(String::new());
    }
    let mut state = hub.state();
    state.tasks.extend(tasks.into_iter().map(|task| (task.id.to_string(), task)));
    drop(state);
    hub.changed();
    Ok(names)
}

/// Gives the tasks that outlive the session out of hand; tells those that could not begin as ended.
async fn hand_over(hub: &Hub, ids: &[String]) {
    for id in ids {
        let Some(task) = hub.task(id).filter(|task| task.spec.detach) else { continue };
        let begun = alone::start(hub, &task).await;
        let record = match &begun {
            Ok(Begun::Ended) => crate::look::record(hub, id).map(|(_, record)| record),
            Ok(_) => None,
            Err(why) => Some(close::end(hub, &task, Status::Failed, "start", why, hub.world.clock.now())),
        };
        hub.update(id, |task| match begun {
            Ok(Begun::Running(worker)) => task.stage = Stage::Detached(worker),
            Ok(Begun::Waiting(_)) => {}
            Ok(Begun::Ended) | Err(_) => {
                task.record = record.map(Box::new);
                task.stage = Stage::Ended;
            }
        });
    }
}

/// The id of a task that another waits for: one of this call by its place, or any by its id.
fn resolved(hub: &Hub, names: &[String], wanted: &str) -> Result<String, String> {
    if let Some(place) = wanted.strip_prefix('#') {
        let at = place.parse::<usize>().ok().and_then(|place| place.checked_sub(1));
        return at.and_then(|at| names.get(at).cloned()).ok_or_else(|| {
            format!("after: there is no task #{} in this call", shared::flatten::flatten(place, 20))
        });
    }
    let known = hub.state().tasks.contains_key(wanted) || crate::look::record(hub, wanted).is_some();
    let shown = shared::flatten::flatten(wanted, 40);
    known.then(|| wanted.to_owned()).ok_or_else(|| format!("after: there is no task `{shown}`"))
}
