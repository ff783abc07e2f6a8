//! Gives tasks to workers: looks at all that wait whenever something has changed, and starts those that can.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use shared::dispatch_config::DispatchConfig;
use shared::error::Result;
use shared::record::Status;
use tokio::time::Instant;

use crate::schedule::after::{Readiness, Standing, readiness};
use crate::schedule::choose::{Choice, choose};
use crate::schedule::guards::Guards;
use crate::schedule::reason::Reason;
use crate::work::hub::{Hub, State};
use crate::work::leases::{Lease, Leases};
use crate::work::picture::{self, Seen};
use crate::work::spent;
use crate::work::task::{Stage, Task};
use crate::work::{close, drive, run};

/// How often it looks again for what other sessions do, while something waits for a place.
const LOOK: Duration = Duration::from_millis(500);
/// The most runs of one session: each is a whole Claude Code.
const MOST: usize = 32;
/// An account that was asked is not asked again before this.
const ASK_AGAIN: Duration = Duration::from_secs(240);

/// Gives tasks out until the session ends.
pub async fn run(hub: Arc<Hub>) {
    let mut changes = hub.watch();
    loop {
        let again = look(&hub).map_or(Some(LOOK), |waits| waits);
        let pause = async {
            match again {
                Some(pause) => tokio::time::sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = pause => {}
            heard = changes.changed() => {
                if heard.is_err() {
                    return;
                }
            }
        }
    }
}

/// What one task gets.
enum Turn {
    /// This worker.
    Goes(String),
    /// Waits, and why.
    Waits(String),
    /// Never runs.
    Ends(Status, &'static str, String),
}

/// Looks once. Tells when to look again although nothing changes here.
fn look(hub: &Arc<Hub>) -> Result<Option<Duration>> {
    let waiting: Vec<Task> = {
        let state = hub.state();
        state.tasks.values().filter(|task| matches!(task.stage, Stage::Queued(_))).cloned().collect()
    };
    if waiting.is_empty() {
        return Ok(None);
    }
    let now = hub.world.clock.now();
    let config = DispatchConfig::load(&hub.world.paths);
    let mut leases = Leases::open(&hub.world.paths)?;
    let mut seen = picture::take(&hub.world.paths, &leases, now)?;
    ask_unknown(hub, &waiting, &mut seen, now);
    let cap = config.as_ref().ok().and_then(|config| config.daily_usd);
    let reached = cap.filter(|cap| spent::is_reached(hub, *cap, now));
    let mut waits = false;
    for task in waiting {
        let turn = match &config {
            // A settings file with a mistake allows nothing at all.
            Err(error) => Turn::Ends(Status::Failed, "settings", error.to_string()),
            Ok(config) => turn(hub, &task, &seen, Guards::from(config), reached, now),
        };
        match turn {
            Turn::Goes(worker) => {
                let id = task.id.to_string();
                let lease = Lease {
                    worker: worker.clone(),
                    id: id.clone(),
                    pid: hub.own.pid,
                    start_time: hub.own.start_time.clone(),
                    alone: hub.alone,
                    cost: None,
                };
                leases.take(lease, now);
                if let Some(one) = seen.iter_mut().find(|one| one.candidate.name == worker) {
                    one.candidate.running += 1;
                    one.candidate.last_used = Some(now);
                }
                hub.update(&id, |task| task.stage = Stage::Running { worker: worker.clone(), since: now });
                tokio::spawn(drive::once(Arc::clone(hub), id, worker));
            }
            Turn::Waits(why) => {
                waits = true;
                if task.stage != Stage::Queued(why.clone()) {
                    hub.update(task.id.as_str(), |task| task.stage = Stage::Queued(why));
                }
            }
            Turn::Ends(status, kind, why) => {
                let record = close::end(hub, &task, status, kind, &why, now);
                hub.update(task.id.as_str(), |task| {
                    task.record = Some(Box::new(record));
                    task.stage = Stage::Ended;
                });
            }
        }
    }
    leases.save()?;
    Ok(waits.then_some(LOOK))
}

fn turn(hub: &Hub, task: &Task, seen: &[Seen], guards: Guards, reached: Option<f64>, now: Timestamp) -> Turn {
    if task.stop.is_some() {
        return Turn::Ends(Status::Cancelled, "cancelled", "it was cancelled before it began".to_owned());
    }
    let state = hub.state();
    match readiness(&task.spec.after, |id| standing(hub, &state, id)) {
        Readiness::Waits(id) => return Turn::Waits(format!("waits for {id}")),
        Readiness::Never(id) => {
            return Turn::Ends(
                Status::Cancelled,
                "after",
                format!("it waited for {id}, which did not end well"),
            );
        }
        Readiness::Ready => {}
    }
    let running = |of: &dyn Fn(&Task) -> bool| {
        let at_work = |task: &&Task| matches!(task.stage, Stage::Running { .. }) && of(task);
        state.tasks.values().filter(at_work).count()
    };
    if running(&|other| other.batch == task.batch) >= task.batch_limit as usize {
        return Turn::Waits(format!("{} tasks of its batch run already", task.batch_limit));
    }
    if running(&|_| true) >= MOST {
        return Turn::Waits(format!("{MOST} tasks of this session run already"));
    }
    drop(state);
    if task.not_before.is_some_and(|at| at > now) {
        return Turn::Waits("its worker had no place; another try follows".to_owned());
    }
    if let Some(cap) = reached {
        return Turn::Ends(Status::OverBudget, "budget", spent::all(cap));
    }
    let wish = task.spec.wish(&task.failed);
    let candidates: Vec<_> = seen.iter().map(|one| one.candidate.clone()).collect();
    match choose(&wish, &candidates, guards, now) {
        Choice::Take { at, .. } => {
            let worker = candidates.get(at).map(|candidate| candidate.name.clone()).unwrap_or_default();
            Turn::Goes(worker)
        }
        Choice::Wait { why, .. } => Turn::Waits(told(&why)),
        Choice::Refuse { why } => Turn::Ends(Status::Failed, "no-worker", nobody(task, &why)),
    }
}

/// What stands in the way, worker by worker.
fn told(why: &[(String, Reason)]) -> String {
    why.iter().map(|(name, reason)| format!("{name} {reason}")).collect::<Vec<_>>().join("; ")
}

fn nobody(task: &Task, why: &[(String, Reason)]) -> String {
    match (&task.spec.worker, why.is_empty()) {
        (Some(name), true) => format!("there is no worker `{name}`: list_workers shows those there are"),
        (None, true) => "there is no worker: `mo-worker create` makes one".to_owned(),
        _ => format!("no worker can do it: {}", told(why)),
    }
}

/// Where a task that another waits for stands: one of ours, or one of an earlier session.
fn standing(hub: &Hub, state: &State, id: &str) -> Standing {
    let of_status = |status: Option<Status>| match status {
        Some(Status::Done) => Standing::Done,
        Some(status) if status.is_final() => Standing::Failed,
        _ => Standing::Open,
    };
    match state.tasks.get(id) {
        Some(task) if matches!(task.stage, Stage::Ended) => of_status(task.status()),
        Some(task) if !task.is_over() => Standing::Open,
        _ => match crate::look::record(hub, id) {
            Some((_, record)) => of_status(record.status),
            None => Standing::Failed,
        },
    }
}

/// Asks accounts of which nothing is known, once in a while; who is being asked is not chosen meanwhile.
fn ask_unknown(hub: &Arc<Hub>, waiting: &[Task], seen: &mut [Seen], now: Timestamp) {
    let wanted =
        |name: &str| waiting.iter().any(|task| task.spec.worker.as_deref().is_none_or(|own| own == name));
    let mut names: BTreeMap<String, bool> = BTreeMap::new();
    {
        let mut state = hub.state();
        for one in seen.iter_mut().filter(|one| one.is_unknown(now) && wanted(&one.candidate.name)) {
            let name = one.candidate.name.clone();
            let is_asked = state.asking.contains(&name);
            let due = state.asked.get(&name).is_none_or(|at| at.elapsed() >= ASK_AGAIN);
            if is_asked || due {
                one.candidate.asking = true;
            }
            if !is_asked && due {
                state.asked.insert(name.clone(), Instant::now());
                state.asking.insert(name.clone());
                names.insert(name, true);
            }
        }
    }
    for name in names.into_keys() {
        let hub = Arc::clone(hub);
        tokio::spawn(async move {
            run::usage(&hub, &name).await;
            hub.state().asking.remove(&name);
            hub.changed();
        });
    }
}
