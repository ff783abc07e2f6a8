//! What comes before and after a run: the history is carried, the lease given back, and it is decided what follows.

use std::ffi::OsString;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use shared::clock::rfc3339;
use shared::dispatch_config::DispatchConfig;
use shared::dispatch_id::DispatchId;
use shared::error::Result;
use shared::exit::Exit;
use shared::name::Name;
use shared::record::{Failure, Record, Status};
use shared::session_files;
use shared::usage::{self, Cooling};
use shared::worker::Worker;

use crate::schedule::guards::Guards;
use crate::schedule::next::{Ended, Next, next, resumes};
use crate::work::command::Command;
use crate::work::hub::Hub;
use crate::work::leases::Leases;
use crate::work::live::Live;
use crate::work::picture;
use crate::work::run::{self, Course, Finished};
use crate::work::task::{Stage, Stop, Task};
use crate::work::{close, spent};

/// How long a task rests whose worker had no place after all: somebody else's run took it.
const PAUSE: SignedDuration = SignedDuration::from_millis(300);

/// One run, ready to be started.
struct Prepared {
    /// What it needs to know.
    course: Course,
    /// mo-spawn's words.
    words: Vec<OsString>,
    /// Whether it goes on with the session of the run before.
    resumed: bool,
}

/// Runs a task once on a worker, and leaves it ended, queued again, or with nobody.
pub async fn once(hub: Arc<Hub>, id: String, worker: String) {
    let began = hub.world.clock.now();
    let Some(task) = hub.task(&id) else { return };
    let run = next_run(&hub, &task, began);
    hub.update(&id, |task| {
        // What a run before it used stands in that one's record.
        task.live = Live::default();
        if task.runs.last() != Some(&run) {
            task.runs.push(run.clone());
        }
    });
    let prepared = prepare(&hub, &task, &worker, &run);
    let (finished, resumed) = match prepared {
        Ok(Prepared { course, words, resumed }) => (run::run(&hub, &course, words).await, resumed),
        Err(error) => (Finished { complaints: vec![error.to_string()], ..Finished::default() }, false),
    };
    let now = hub.world.clock.now();
    // What was asked meanwhile counts: a stop that came with the end is a stop.
    let Some(task) = hub.task(&id) else { return };
    after(&hub, &task, &worker, &run, (began, now), finished, resumed);
    // Last: as long as it is held, nobody takes a run that has ended for the end of the task.
    give_back(&hub, &task);
}

/// The dispatch of the next run: the task's own, then a new one each time; one that waits or found no place is taken.
fn next_run(hub: &Hub, task: &Task, now: Timestamp) -> DispatchId {
    match task.runs.last() {
        None => task.id.clone(),
        Some(last) if task.tries.is_empty() => last.clone(),
        Some(last) => match close::of_run(hub, last) {
            Some(record) if record.status != Some(Status::Queued) => DispatchId::new(now),
            _ => last.clone(),
        },
    }
}

/// Everything that must be there before mo-spawn starts.
fn prepare(hub: &Hub, task: &Task, worker: &str, run: &DispatchId) -> Result<Prepared> {
    let config = DispatchConfig::load(&hub.world.paths)?;
    let now = hub.world.clock.now();
    let before = task.record.as_deref().filter(|_| !task.tries.is_empty());
    let seen = picture::take(&hub.world.paths, &Leases::open(&hub.world.paths)?, now)?;
    let find = |name: &str| seen.iter().map(|one| &one.candidate).find(|one| one.name == name);
    let to = find(worker);
    let resumed = before.is_some_and(|before| {
        let same = find(&before.worker).zip(to).is_some_and(|(from, to)| resumes(from, to));
        same && has_session(hub, before)
    });
    // Its tree is gone on in also where its session is not.
    let goes_on = before.filter(|before| resumed || before.worktree.is_some());
    if let Some(before) = before {
        close::moved_on(hub, before, run);
    }
    let words = close::words(hub, task, resumed)?;
    let system = close::system_path(hub, task)?;
    let command = Command {
        worker,
        id: run.as_str(),
        spec: &task.spec,
        prompt: &words,
        system_prompt: system.as_deref(),
        tool_use: task.tool_use.as_deref(),
        before: goes_on.map(|before| before.id.as_str()),
        anew: !resumed,
        permission_mode: &config.permission_mode,
        timeout_minutes: config.timeout_minutes,
        left_usd: config.daily_usd.map(|cap| cap - spent::today(hub, now)),
    };
    let course = Course {
        id: task.id.to_string(),
        run: run.to_string(),
        anthropic: to.is_none_or(|to| to.anthropic),
        session: task.session.clone(),
        guards: Guards::from(&config),
        daily_usd: config.daily_usd,
    };
    Ok(Prepared { course, words: command.words(), resumed })
}

/// Whether the run left a session that can be gone on with.
fn has_session(hub: &Hub, record: &Record) -> bool {
    let worker = Name::parse(&record.worker).and_then(|name| Worker::load(&hub.world.paths, &name));
    let projects = worker.map(|worker| worker.projects());
    let session = record.worker_sessions.last();
    projects
        .ok()
        .zip(session)
        .is_some_and(|(projects, session)| session_files::find(&projects, session).is_some())
}

/// The worker is free again.
fn give_back(hub: &Hub, task: &Task) {
    let Ok(mut leases) = Leases::open(&hub.world.paths) else { return };
    leases.give_back(task.id.as_str());
    // A lease that could not be given back ends with this process.
    let _ = leases.save();
}

/// Decides what follows.
fn after(
    hub: &Hub,
    task: &Task,
    worker: &str,
    run: &DispatchId,
    (began, now): (Timestamp, Timestamp),
    finished: Finished,
    resumed: bool,
) {
    let config = DispatchConfig::load(&hub.world.paths).unwrap_or_default();
    let told = finished.record.or_else(|| close::of_run(hub, run));
    let ran = told.as_ref().is_some_and(|record| record.status.is_some_and(Status::is_final));
    let no_place = !ran && finished.exit == Some(i32::from(Exit::Busy.code())) && task.stop.is_none();
    let record = match told {
        Some(record) if ran => outcome(hub, task, record, config.daily_usd),
        _ if no_place => Record::default(),
        _ => unended(hub, task, run, &finished.complaints, now),
    };
    let failure = record.error.as_ref().map(|error| error.kind.clone());
    let ended = Ended {
        status: record.status,
        failure,
        resets_at: finished.resets_at.or_else(|| record.resets_at.as_deref().and_then(|at| at.parse().ok())),
        no_place,
        guarded: matches!(task.stop, Some(Stop::Guarded(_))),
        cancelled: matches!(task.stop, Some(Stop::Cancelled | Stop::Frontier(_) | Stop::OverBudget(_))),
    };
    let follows = next(&ended, SignedDuration::from_mins(i64::from(config.cooldown_minutes)), now);
    if let Next::Elsewhere { cooling_until: Some(until) } = follows {
        cool(hub, worker, until, record.error.as_ref());
    }
    let tried = close::tried(worker, began, now, &record, resumed);
    let named = task.spec.worker.is_some();
    let moves = matches!(follows, Next::Elsewhere { .. }) && !named;
    let next = moves.then(|| close::wait_on(hub, task, &record, now)).flatten();
    hub.update(task.id.as_str(), |task| match follows {
        Next::Again => {
            task.not_before = now.checked_add(PAUSE).ok();
            task.stage = Stage::Queued(format!("{worker} had no place; another try follows"));
        }
        Next::Elsewhere { .. } if moves => {
            task.runs.extend(next);
            task.tries.push(tried);
            task.failed.push(worker.to_owned());
            task.stop = None;
            task.record = Some(Box::new(record));
            task.stage = Stage::Queued(format!("moves on from {worker}"));
        }
        _ => {
            task.tries.push(tried);
            task.record = Some(Box::new(record));
            task.stage = Stage::Ended;
        }
    });
    if let Some(cap) = config.daily_usd {
        spent::bound(hub, cap, now);
    }
}

/// The record with the reason that only we know: why it was stopped.
fn outcome(hub: &Hub, task: &Task, mut record: Record, cap: Option<f64>) -> Record {
    // Where nobody else goes on, the caller can.
    let on = record.resume.as_ref().map(|resume| format!("; what was done is kept, and `{resume}` goes on"));
    let on = on.unwrap_or_default();
    let (status, kind, text) = match &task.stop {
        Some(Stop::Guarded(why)) => (Status::Quota, "money-guard", why.clone()),
        Some(Stop::Frontier(why)) => (Status::Denied, "money-guard", format!("{why}{on}")),
        Some(Stop::OverBudget(why)) => (Status::OverBudget, "budget", format!("{why}{on}")),
        _ => match cap.filter(|_| used_the_days_rest(task, &record)) {
            Some(cap) => (Status::OverBudget, "budget", format!("{}{on}", spent::all(cap))),
            None => return record,
        },
    };
    // Ended by itself before the stop reached it.
    if record.status != Some(Status::Cancelled) && !used_the_days_rest(task, &record) {
        return record;
    }
    record.status = Some(status);
    record.error = Some(Failure { kind: kind.to_owned(), text });
    if let Some(path) = close::last_path(hub, task) {
        let _ = record.write(&path);
    }
    record
}

/// Whether the money that it ended at was what was left of the day's, and not its own.
fn used_the_days_rest(task: &Task, record: &Record) -> bool {
    let is_money = record.error.as_ref().is_some_and(|error| error.kind == "money");
    let own = task.spec.budget_usd;
    is_money && own.is_none_or(|own| record.cost_usd.is_some_and(|cost| cost < own))
}

/// The record of a run that ended without closing it: it never began, or it was killed.
fn unended(hub: &Hub, task: &Task, run: &DispatchId, complaints: &[String], now: Timestamp) -> Record {
    let said = complaints.join("; ");
    if task.stop.is_some() {
        return close::end(hub, task, Status::Cancelled, "cancelled", "it was cancelled", now);
    }
    let began = close::of_run(hub, run).is_some_and(|record| record.status == Some(Status::Running));
    match (began, said.is_empty()) {
        (true, _) => close::end(hub, task, Status::Lost, "lost", "its mo-spawn ended without a word", now),
        (false, true) => close::end(hub, task, Status::Failed, "start", "mo-spawn could not start it", now),
        (false, false) => close::end(hub, task, Status::Failed, "start", &said, now),
    }
}

fn cool(hub: &Hub, worker: &str, until: Timestamp, why: Option<&Failure>) {
    let Ok(name) = Name::parse(worker) else { return };
    let why =
        why.map_or_else(|| format!("refused work until {}", rfc3339(until)), |error| error.text.clone());
    // Where it cannot be kept, the next refusal tells it again.
    let _ = usage::cool(&hub.world.paths, &name, Some(Cooling { until: until.into(), why }));
}
