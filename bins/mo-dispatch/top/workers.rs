//! The workers of the page: how each stands, what it runs, and what its plan has left.

use jiff::Timestamp;
use serde::Serialize;
use shared::accounts;
use shared::error::Result;
use shared::flatten::flatten;
use shared::moment::Moment;
use shared::name::Name;
use shared::profile::USUAL_LIMIT;
use shared::roster::{self, Entry};
use shared::usage::{self, Account, Freshness, Overage, show};
use shared::worker::{State, Worker};
use shared::world::World;

use super::tasks::Task;

/// The longest text of a cell.
const LONGEST: usize = 120;

/// One worker.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// `provider` or `account`; nothing when it is broken.
    pub kind: Option<&'static str>,
    /// Whether it is the one to take when several could.
    pub preferred: bool,
    /// `ready`, `cooling`, `off`, `needs-key`, `failing`, `unchecked`, `broken`.
    pub state: &'static str,
    /// Why it is not ready.
    pub why: Option<String>,
    /// Until when it is left alone.
    pub until: Option<Moment>,
    /// How many of its tasks are at work.
    pub running: usize,
    /// The most at once.
    pub max_parallel: Option<u32>,
    /// Whether work past its plan is billed.
    pub overage: Option<Overage>,
    /// The windows of its plan that still say something.
    pub windows: Vec<Bar>,
}

/// One window of a plan.
#[derive(Debug, Serialize)]
pub struct Bar {
    /// Its own name.
    pub name: String,
    /// As people say it.
    pub label: String,
    /// How much is used.
    pub percent: Option<f64>,
    /// When it begins anew.
    pub resets_at: Option<Moment>,
    /// Until then, in words.
    pub resets: String,
    /// How old this is, in seconds.
    pub age_seconds: u64,
    /// Whether it is older than a new reading may be.
    pub stale: bool,
}

/// All of them, by name.
pub fn look(world: &World, tasks: &[Task], now: Timestamp) -> Result<Vec<Row>> {
    let roster = roster::read(&world.paths)?;
    Ok(roster.iter().map(|entry| row(world, entry, tasks, now)).collect())
}

fn row(world: &World, entry: &Entry, tasks: &[Task], now: Timestamp) -> Row {
    let worker = entry.worker.as_ref().ok();
    let known =
        Name::parse(&entry.name).and_then(|name| usage::read(&world.paths, &name)).unwrap_or_default();
    let (state, why) = match &entry.worker {
        Ok(worker) => standing(world, worker, &known, now),
        Err(error) => ("broken", Some(error.to_string())),
    };
    let reading = known.reading.as_ref().filter(|_| worker.is_some_and(Worker::is_account));
    Row {
        name: flatten(&entry.name, 64),
        kind: worker.map(|worker| worker.profile.kind.name()),
        preferred: worker.is_some_and(|worker| worker.profile.preferred),
        state,
        why: why.map(|why| flatten(&why, LONGEST)),
        until: known.cooling(now).map(|cooling| cooling.until),
        running: tasks.iter().filter(|task| task.is_at_work() && task.worker == entry.name).count(),
        max_parallel: worker.map(|worker| worker.profile.max_parallel.unwrap_or(USUAL_LIMIT)),
        overage: reading.map(|reading| reading.overage),
        windows: reading
            .map(|reading| reading.known(now).map(|window| bar(window, now)).collect())
            .unwrap_or_default(),
    }
}

fn standing(
    world: &World,
    worker: &Worker,
    known: &Account,
    now: Timestamp,
) -> (&'static str, Option<String>) {
    if !accounts::is_allowed(&world.paths, worker).unwrap_or(false) {
        return ("off", Some("several accounts are off".to_owned()));
    }
    if let Some(cooling) = known.cooling(now) {
        return ("cooling", Some(cooling.why.clone()));
    }
    match worker.state() {
        State::NeedsKey => ("needs-key", None),
        State::Unchecked => ("unchecked", None),
        State::Failing(kind) => ("failing", Some(kind)),
        State::Live(_) => ("ready", None),
    }
}

fn bar(window: &usage::Window, now: Timestamp) -> Bar {
    Bar {
        name: flatten(&window.name, LONGEST),
        label: flatten(&show::name(window), 40),
        percent: window.percent,
        resets_at: window.resets_at,
        resets: show::resets(window, now),
        age_seconds: window.at.age(now),
        stale: window.freshness(now) != Freshness::Fresh,
    }
}
