//! An account's usage as it is printed: a table for people, a document for scripts.

use jiff::Timestamp;
use serde_json::{Value, json};
use shared::error::Result;
use shared::exit::Exit;
use shared::flatten::flatten;
use shared::json_text;
use shared::table;
use shared::usage::{self, Account, Freshness, Reading, show};
use shared::worker::Worker;
use shared::world::World;

use super::{Next, next};

/// Cells of a bar.
const BAR: usize = 20;

/// A provider's worker has no plan usage.
pub fn none(world: &World, worker: &Worker, as_json: bool) -> Result<Exit> {
    if as_json {
        world.say.line(&json_text::pretty(&document(worker, None, world.clock.now()))?)?;
    } else {
        world.say.line(&format!(
            "worker `{}` is a provider's: there is no plan usage to ask for; `mo-ledger report --by worker` counts what it used",
            worker.name
        ))?;
    }
    Ok(Exit::Done)
}

/// Prints what is known; where that is nothing, the exit code says so.
pub fn show(world: &World, worker: &Worker, account: &Account, as_json: bool) -> Result<Exit> {
    let now = world.clock.now();
    let known = account.reading.as_ref();
    if as_json {
        world.say.line(&json_text::pretty(&document(worker, Some(account), now))?)?;
    } else {
        world.say.out(&text(account, world.colour(), now))?;
        if let Next::Wait(until) = next(account, now) {
            world.say.hint(&format!("it is asked again in {}", show::span(until.ahead(now))));
        }
    }
    let says_something =
        known.is_some_and(|reading| reading.known(now).next().is_some() || reading.has_limits == Some(false));
    Ok(if says_something { Exit::Done } else { Exit::Unavailable })
}

fn document(worker: &Worker, account: Option<&Account>, now: Timestamp) -> Value {
    let reading = account.and_then(|account| account.reading.as_ref());
    let freshness = reading.map(|reading| match reading.freshness(now) {
        Freshness::Fresh => "fresh",
        Freshness::Stale => "stale",
        Freshness::Gone => "gone",
    });
    json!({
        "version": 1,
        "worker": worker.name.as_str(),
        "kind": worker.profile.kind.name(),
        "reading": reading,
        "freshness": freshness,
        "age_seconds": reading.map(|reading| reading.at.age(now)),
        "cooling": account.and_then(|account| account.cooling(now)),
        "exhausted": usage::exhausted(reading, worker.profile.default_tier.map(shared::tier::Tier::name), now),
    })
}

fn text(account: &Account, colour: bool, now: Timestamp) -> String {
    let Some(reading) = &account.reading else { return "nothing is known yet\n".to_owned() };
    let mut text = windows(reading, colour, now);
    if let Some(plan) = &reading.plan {
        text.push_str(&format!("plan: {}\n", flatten(plan, 64)));
    }
    text.push_str(&format!("work past the plan: {}\n", show::overage(reading.overage)));
    if let Some(cooling) = account.cooling(now) {
        let span = show::span(cooling.until.ahead(now));
        text.push_str(&format!("left alone for {span}: {}\n", flatten(&cooling.why, 200)));
    }
    if let Some(remark) = show::remark(reading) {
        text.push_str(&format!("{}\n", flatten(remark, 200)));
    }
    text
}

fn windows(reading: &Reading, colour: bool, now: Timestamp) -> String {
    let mut rows = vec![["WINDOW", "USED", "", "RESETS", ""].map(str::to_owned).to_vec()];
    rows.extend(reading.known(now).map(|window| {
        vec![
            flatten(&show::name(window), 40),
            show::percent(window.percent),
            show::bar(window.percent, BAR),
            show::resets(window, now),
            show::age(window, now).unwrap_or_default(),
        ]
    }));
    if rows.len() == 1 { String::new() } else { table::columns(&rows, colour) }
}
