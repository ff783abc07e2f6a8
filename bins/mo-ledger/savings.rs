//! `mo-ledger savings`: what the workers saved, per worker and model, with a bar for each day.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use shared::args::{Flag, Matches};
use shared::clock::rfc3339;
use shared::costs::Costs;
use shared::error::Result;
use shared::exit::Exit;
use shared::flatten::flatten;
use shared::json_text;
use shared::ledger::publish::Sum;
use shared::ledger::usage::Total;
use shared::money::{Cost, Money};
use shared::savings::{human, share};
use shared::table;
use shared::world::World;

use crate::calendar::Calendar;
use crate::figures::{bar, right, thousands};
use crate::report::unpriced;
use crate::saved::{Saving, Savings};
use crate::sums::UNKNOWN;
use crate::{fresh, selection};

/// The most days that get a bar.
const DAYS: usize = 30;
/// The longest bar.
const BAR: u64 = 30;
/// The longest name in a table.
const WIDTH: usize = 40;

/// The flags.
pub const FLAGS: &[Flag] = &[
    Flag { long: "session", value: "ID", about: "what this manager session dispatched" },
    selection::TIMEZONE,
    Flag { long: "json", value: "", about: "print JSON for programs" },
];

/// Prints the savings.
pub fn run(world: &World, matches: &Matches) -> Result<Exit> {
    let mut calendar = Calendar::of(matches.value("timezone"))?;
    let session = matches.value("session");
    let (ledger, costs) = fresh::ledger(world)?;
    let savings = Savings::of(&ledger, &costs, session, &mut calendar)?;
    if matches.has("json") {
        let document = document(world, &savings, &costs, session);
        return world.say.line(&json_text::pretty(&document)?).map(|()| Exit::Done);
    }
    if savings.workers.is_empty() && savings.by_hand.is_empty() {
        world.say.note(match session {
            Some(_) => "this session dispatched nothing that is counted",
            None => "no worker has done anything yet that is counted",
        });
        return Ok(Exit::Done);
    }
    world.say.out(&text(&savings, &costs, world.colour()))?;
    if !savings.unpriced.is_empty() {
        world.say.note(&unpriced(savings.unpriced.iter().map(|model| &**model)));
    }
    Ok(Exit::Done)
}

fn text(savings: &Savings, costs: &Costs, colour: bool) -> String {
    let mut text = String::new();
    if !savings.workers.is_empty() {
        text.push_str(&headline(savings));
        text.push_str(&workers(savings, costs, colour));
        let dated = costs.prices().dated();
        let _ = writeln!(
            text,
            "\nINSTEAD is what the same tokens cost at the manager's model; list prices of {dated}."
        );
        text.push_str(&days(savings, colour));
    }
    if !savings.by_hand.is_empty() {
        let workers = savings
            .by_hand
            .iter()
            .map(|(worker, total)| format!("{} {}", flatten(worker, WIDTH), human(total.usage.fresh())));
        let workers = workers.collect::<Vec<_>>().join(", ");
        let _ = writeln!(
            text,
            "{}Used by hand, in no session: {workers}",
            if text.is_empty() { "" } else { "\n" }
        );
    }
    text
}

fn headline(savings: &Savings) -> String {
    let worker_fresh = savings.all().total.usage.fresh();
    let fresh = worker_fresh.saturating_add(savings.main_fresh);
    let sessions = match savings.sessions.len() {
        1 => "1 session".to_owned(),
        count => format!("{count} sessions"),
    };
    format!(
        "Workers handled {} of {} tokens in {sessions} ({}).\n\n",
        human(worker_fresh),
        human(fresh),
        share(worker_fresh, fresh).unwrap_or_else(|| "0%".to_owned()),
    )
}

fn workers(savings: &Savings, costs: &Costs, colour: bool) -> String {
    let heading = ["WORKER", "MODEL", "MESSAGES", "FRESH", "CACHE READS", "COST", "INSTEAD", "SAVED"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    let mut any_flat = false;
    for (worker, models) in &savings.workers {
        let is_flat = costs.is_flat(worker);
        any_flat |= is_flat;
        for (model, saved) in models {
            let mark = if is_flat { "*" } else { "" };
            rows.push(row(&format!("{}{mark}", flatten(worker, WIDTH)), &flatten(model, WIDTH), saved));
        }
    }
    rows.push(row("all", "", &savings.all()));
    right(&mut rows, 2);
    let mut text = table::columns(&rows, colour);
    if any_flat {
        text.push_str("* on a flat plan: its tokens cost nothing more\n");
    }
    text
}

fn row(worker: &str, model: &str, saved: &Saving) -> Vec<String> {
    let Saving { total: Total { messages, usage }, cost, instead, saved } = saved;
    vec![
        worker.to_owned(),
        model.to_owned(),
        thousands(*messages),
        thousands(usage.fresh()),
        thousands(usage.cache_read),
        cost.to_string(),
        instead.to_string(),
        saved.to_string(),
    ]
}

fn days(savings: &Savings, colour: bool) -> String {
    let hidden = savings.days.len().saturating_sub(DAYS);
    let shown = || savings.days.iter().skip(hidden);
    let most = shown().map(|(_, saved)| saved.total.usage.fresh()).max().unwrap_or(0);
    let mut rows = vec![["DAY", "FRESH", "SAVED", ""].map(str::to_owned).to_vec()];
    for (day, saved) in shown() {
        let fresh = saved.total.usage.fresh();
        let day = day.map_or_else(|| UNKNOWN.to_owned(), |day| day.to_string());
        rows.push(vec![day, human(fresh), saved.saved.to_string(), bar(fresh, most, BAR)]);
    }
    let bars: Vec<String> = rows.iter_mut().filter_map(Vec::pop).collect();
    right(&mut rows, 1);
    rows.iter_mut().zip(bars).for_each(|(row, bar)| row.push(bar));
    let more = if hidden > 0 { format!("({hidden} earlier days are in --json)\n") } else { String::new() };
    format!("\n{}{more}", table::columns(&rows, colour))
}

fn document(world: &World, savings: &Savings, costs: &Costs, session: Option<&str>) -> Value {
    let all = savings.all();
    let worker_fresh = all.total.usage.fresh();
    let by_worker = savings.workers.iter().map(|(worker, models)| {
        let mut sum = Saving::default();
        for saving in models.values() {
            sum.join(saving);
        }
        let mut entry = published(&sum);
        if let Some(fields) = entry.as_object_mut() {
            fields.insert("flat_plan".to_owned(), costs.is_flat(worker).into());
            let models = models.iter().map(|(model, saved)| (model.to_string(), published(saved)));
            fields.insert("by_model".to_owned(), models.collect::<Map<_, _>>().into());
        }
        (worker.to_string(), entry)
    });
    let by_day = savings.days.iter().map(|(day, saved)| {
        (day.map_or_else(|| UNKNOWN.to_owned(), |day| day.to_string()), published(saved))
    });
    let by_hand =
        savings.by_hand.iter().map(|(worker, total)| (worker.to_string(), json!(Sum::of(*total, None))));
    json!({
        "version": 1,
        "generated_at": rfc3339(world.clock.now()),
        "prices": costs.prices().dated(),
        "session": session,
        "sessions": savings.sessions.len(),
        "fresh": worker_fresh.saturating_add(savings.main_fresh),
        "main_fresh": savings.main_fresh,
        "worker_fresh": worker_fresh,
        "totals": published(&all),
        "by_worker": by_worker.collect::<Map<_, _>>(),
        "by_day": by_day.collect::<Map<_, _>>(),
        "by_hand": by_hand.collect::<Map<_, _>>(),
        "unpriced": savings.unpriced.iter().map(|model| Arc::clone(model).to_string()).collect::<Vec<_>>(),
    })
}

fn published(saved: &Saving) -> Value {
    let dollars = |cost: &Cost| cost.known().map(Money::dollars);
    let mut entry = json!(Sum::of(saved.total, Some(saved.cost)));
    if let Some(fields) = entry.as_object_mut() {
        fields.insert("instead_usd".to_owned(), dollars(&saved.instead).into());
        fields.insert("saved_usd".to_owned(), dollars(&saved.saved).into());
        if saved.saved.is_partial() || saved.instead.is_partial() {
            fields.insert("partial".to_owned(), true.into());
        }
    }
    entry
}
