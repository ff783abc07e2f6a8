//! What today's dispatches cost, over all sessions: the sum of the records that ended today, and what runs now, here by
//! its events, elsewhere by its lease.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;
use shared::costs::Costs;
use shared::dispatches;
use shared::document;
use shared::ledger::usage::Usage;
use shared::record::Tokens;

use crate::work::command::LEAST_USD;
use crate::work::hub::Hub;
use crate::work::leases::Leases;
use crate::work::task::{Stage, Stop};

/// What of a record tells its cost; the rest is skipped unread.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Bill {
    ended_at: Option<String>,
    cost_usd: Option<f64>,
}

/// Bills that do not change any more, by file: when they ended, and what they were.
pub type Bills = BTreeMap<PathBuf, (Timestamp, f64)>;

/// What today cost until now, in USD. What has no known price counts nothing: it is told as unknown in its result.
pub fn today(hub: &Hub, now: Timestamp) -> f64 {
    ended_today(hub, now) + at_work(hub) + elsewhere(hub)
}

/// The dispatches that other sessions have at work, as they tell it. One that has just ended is among those.
fn elsewhere(hub: &Hub) -> f64 {
    let costs = Leases::costs_of_others(&hub.world.paths, hub.own.pid);
    let state = hub.state();
    let has_ended =
        |run: &str| state.bills.keys().any(|path| path.file_stem().is_some_and(|stem| stem == run));
    costs.iter().filter(|(run, _)| !has_ended(run)).map(|(_, usd)| usd).sum()
}

/// Tells the other sessions what this task costs.
pub fn tell(hub: &Hub, id: &str, run: &str) {
    let Some((_, usd)) = running(hub).into_iter().find(|(task, _)| task == id) else { return };
    // Where it cannot be told they count it when it has ended.
    let _ = Leases::open(&hub.world.paths).and_then(|mut leases| {
        leases.cost(id, run, usd);
        leases.save()
    });
}

/// The dispatches of this day that have ended.
pub fn ended_today(hub: &Hub, now: Timestamp) -> f64 {
    let zone = TimeZone::try_system().unwrap_or(TimeZone::UTC);
    let day = |at: Timestamp| at.to_zoned_datetime(zone.clone()).date();
    let mut bills = std::mem::take(&mut hub.state().bills);
    for path in dispatches::files(&hub.world.paths).unwrap_or_default() {
        if bills.contains_key(&path) {
            continue;
        }
        let Ok(Some(bill)) = document::read::<Bill>(&path) else { continue };
        if let Some(at) = bill.ended_at.and_then(|at| at.parse().ok()) {
            bills.insert(path, (at, bill.cost_usd.unwrap_or(0.0)));
        }
    }
    let sum = bills.values().filter(|(at, _)| day(*at) == day(now)).map(|(_, usd)| usd).sum();
    hub.state().bills = bills;
    sum
}

/// Why nothing goes on that costs money, once this cap is reached.
pub fn all(cap: f64) -> String {
    format!("what all dispatches of a day may cost is spent: `daily_usd` is {cap} in .dispatch/config.json")
}

/// Whether nothing is left of it that a task could be given.
pub fn is_reached(hub: &Hub, cap: f64, now: Timestamp) -> bool {
    leaves_nothing(cap, today(hub, now))
}

fn leaves_nothing(cap: f64, spent: f64) -> bool {
    cap - spent < LEAST_USD
}

/// Stops everything of this session that costs money, once this cap is reached.
pub fn bound(hub: &Hub, cap: f64, now: Timestamp) {
    if is_reached(hub, cap, now) {
        let costly = running(hub).into_iter().filter(|(_, usd)| *usd > 0.0);
        let ids: Vec<String> = costly.map(|(id, _)| id).collect();
        hub.stop(&ids, &Stop::OverBudget(all(cap)));
    }
}

/// The dispatches of this session that run, by list prices.
pub fn at_work(hub: &Hub) -> f64 {
    running(hub).iter().map(|(_, usd)| usd).sum()
}

/// What each task at work cost until now, by its id.
pub fn running(hub: &Hub) -> Vec<(String, f64)> {
    let running: Vec<(String, String, BTreeMap<String, Tokens>)> = {
        let state = hub.state();
        let at_work = state.tasks.values().filter_map(|task| match &task.stage {
            Stage::Running { worker, .. } if !task.live.usage.is_empty() => {
                Some((task.id.to_string(), worker.clone(), task.live.usage.clone()))
            }
            _ => None,
        });
        at_work.collect()
    };
    if running.is_empty() {
        return Vec::new();
    }
    let (costs, _) = Costs::load(&hub.world);
    let of_model = |worker: &str, model: &str, tokens: &Tokens| {
        let usage = Usage {
            input: tokens.input,
            output: tokens.output,
            cache_creation: tokens.cache_creation,
            cache_creation_1h: 0,
            cache_read: tokens.cache_read,
        };
        costs.of(worker, model, &usage).map_or(0.0, shared::money::Money::dollars)
    };
    let of_task = |(id, worker, usage): (String, String, BTreeMap<String, Tokens>)| {
        let usd = usage.iter().map(|(model, tokens)| of_model(&worker, model, tokens)).sum();
        (id, usd)
    };
    running.into_iter().map(of_task).collect()
}

#[cfg(test)]
mod tests {
    use super::leaves_nothing;

    #[test]
    fn a_rest_that_no_task_can_be_given_is_none() {
        for (cap, spent) in [(0.0, 0.0), (1.0, 1.0), (1.0, 1.5), (1.0, 0.999_999_7), (0.000_000_4, 0.0)] {
            assert!(leaves_nothing(cap, spent), "{cap} {spent}");
        }
        for (cap, spent) in [(1.0, 0.99), (0.000_01, 0.0), (1e9, 5.0)] {
            assert!(!leaves_nothing(cap, spent), "{cap} {spent}");
        }
    }
}
