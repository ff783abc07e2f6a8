//! `mo-proxy cost`: what the traffic cost, by day and by whatever else, out of the audit.

use std::collections::BTreeMap;

use serde::Serialize;
use shared::args::{Flag, Matches};
use shared::clock;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::json_text;
use shared::table;
use shared::world::World;

use super::audit::folder;
use crate::observe::audit::query::{Query, each};
use crate::observe::cost::{Day, Sum, date};
use crate::observe::differences::{self, Difference, Differences};

/// The flags.
pub const FLAGS: &[Flag] = &[
    Flag { long: "json", value: "", about: "print JSON for programs" },
    Flag { long: "days", value: "N", about: "the last N days, today included (default 1)" },
    Flag { long: "by", value: "WHAT", about: "day, model (default), role, agent, session or upstream" },
];

#[derive(Serialize)]
struct Document {
    version: u32,
    days: Vec<Day>,
}

/// Shows it.
pub fn run(world: &World, matches: &Matches) -> Result<Exit> {
    let days =
        matches.value("days").map_or(Ok(1_i64), |typed| {
            typed.parse().ok().filter(|days| (1..=10_000).contains(days)).ok_or_else(|| {
                Error::new(Exit::Usage, "--days takes a number from 1 on").hint("like --days 7")
            })
        })?;
    let since = date(clock::before(world.clock.now(), (days - 1) * 86_400));
    let mut sums: BTreeMap<String, Day> = BTreeMap::new();
    let mut differences = Differences::default();
    each(&folder(world)?, &Query { since: Some(since), ..Query::default() }, |line| {
        let day = line.ts.get(..10).unwrap_or_default().to_owned();
        sums.entry(day.clone()).or_insert_with(|| Day::new(&day)).add(&line);
        for difference in differences::of_line(&line) {
            differences.note(Difference { session: None, ..difference });
        }
        true
    });
    let days: Vec<Day> = sums.into_values().collect();
    if matches.has("json") {
        world.say.line(&json_text::pretty(&Document { version: 1, days })?)?;
        return Ok(Exit::Done);
    }
    let by = matches.value("by").unwrap_or("model");
    let lists = lists(&days, by)?;
    world.say.out(&table::columns(&rows(by, &lists), world.colour()))?;
    for difference in differences.newest() {
        world.say.note(&difference.sentence());
    }
    world.say.note("WORTH is what a subscription's use would cost at list prices; it is no bill");
    Ok(Exit::Done)
}

fn lists(days: &[Day], by: &str) -> Result<BTreeMap<String, Sum>> {
    let mut all: BTreeMap<String, Sum> = BTreeMap::new();
    for day in days {
        let own;
        let list = match by {
            "day" => {
                own = BTreeMap::from([(day.date.clone(), day.total)]);
                &own
            }
            "model" => &day.by_model,
            "role" => &day.by_role,
            "agent" => &day.by_agent,
            "session" => &day.by_session,
            "upstream" => &day.by_provider,
            _ => {
                return Err(Error::new(
                    Exit::Usage,
                    "--by is one of day, model, role, agent, session and upstream",
                ));
            }
        };
        for (name, sum) in list {
            *all.entry(name.clone()).or_default() += *sum;
        }
    }
    Ok(all)
}

fn rows(by: &str, lists: &BTreeMap<String, Sum>) -> Vec<Vec<String>> {
    let head = [&by.to_uppercase(), "REQUESTS", "FRESH", "CACHE READ", "BILLED", "WORTH", "UNPRICED"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let mut all = Sum::default();
    for (name, sum) in lists {
        rows.push(row(name, sum));
        all += *sum;
    }
    rows.push(row("all", &all));
    rows
}

fn row(name: &str, sum: &Sum) -> Vec<String> {
    vec![
        name.to_owned(),
        sum.requests.to_string(),
        sum.fresh.to_string(),
        sum.cache_read.to_string(),
        format!("${:.4}", sum.billed_usd),
        format!("${:.4}", sum.worth_usd),
        sum.unpriced.to_string(),
    ]
}
