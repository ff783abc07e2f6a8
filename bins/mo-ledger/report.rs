//! `mo-ledger report`: what was used, as a table or as JSON.

use std::cmp::Reverse;

use serde_json::{Map, Value, json};
use shared::args::{Flag, Matches};
use shared::clock::rfc3339;
use shared::costs::Costs;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::flatten::flatten;
use shared::json_text;
use shared::ledger::Ledger;
use shared::ledger::publish::Sum;
use shared::ledger::usage::Total;
use shared::world::World;

use crate::calendar::Calendar;
use crate::figures::{right, thousands};
use crate::fresh;
use crate::selection::{self, Selection};
use crate::sums::{By, Line, Lines, Sums};

/// The longest name in a table.
const WIDTH: usize = 60;

/// By what to add up.
pub const BY: Flag =
    Flag { long: "by", value: "WHAT", about: "day, week, month, session, worker, model or project" };

/// The flags.
pub const FLAGS: &[Flag] = &[
    BY,
    selection::SINCE,
    selection::UNTIL,
    selection::LAST,
    selection::TIMEZONE,
    selection::WORKER,
    selection::PROJECT,
    Flag { long: "json", value: "", about: "print JSON for programs: by all of them at once" },
];

/// Prints the report.
pub fn run(world: &World, matches: &Matches) -> Result<Exit> {
    let by = by(matches)?.unwrap_or(By::Day);
    let mut calendar = Calendar::of(matches.value("timezone"))?;
    let selection = Selection::of(matches, &calendar, world.clock.now())?;
    let (ledger, costs) = fresh::ledger(world)?;
    let sums = Sums::of(&ledger, &costs, &selection, &mut calendar)?;
    if matches.has("json") {
        let document = document(world, &ledger, &selection, &sums, &costs);
        return world.say.line(&json_text::pretty(&document)?).map(|()| Exit::Done);
    }
    show(world, &sums, by)?;
    Ok(Exit::Done)
}

/// By what the user wants to see it.
pub fn by(matches: &Matches) -> Result<Option<By>> {
    let Some(name) = matches.value("by") else { return Ok(None) };
    let found = By::ALL.into_iter().find(|by| by.name() == name);
    found.map(Some).ok_or_else(|| {
        Error::new(Exit::Usage, format!("--by `{}` is nothing to report by", flatten(name, 40)))
            .hint("take one of day, week, month, session, worker, model, project")
    })
}

/// Prints the table, or says that there is nothing to show.
pub fn show(world: &World, sums: &Sums, by: By) -> Result<()> {
    if sums.totals.total.is_empty() && sums.no_id.total.is_empty() {
        world.say.note("nothing was used that this report is about");
        return Ok(());
    }
    world.say.out(&table(sums, by, world.colour()))?;
    if !sums.unpriced.is_empty() {
        world.say.note(&unpriced(sums.unpriced.iter().map(String::as_str)));
    }
    Ok(())
}

/// What to do about models whose price is unknown.
pub fn unpriced<'a>(models: impl Iterator<Item = &'a str>) -> String {
    let models: Vec<String> = models.map(|model| flatten(model, WIDTH)).collect();
    format!(
        "no price is known for {}, so costs with `+` or `?` lack it; name it in prices.json (`mo-ledger report --help`)",
        models.join(", ")
    )
}

/// The table, most used first, times in their order.
pub fn table(sums: &Sums, by: By, colour: bool) -> String {
    let mut lines: Vec<(String, Line)> = sums.by(by).into_iter().collect();
    if !by.is_time() {
        lines.sort_by_key(|(_, line)| Reverse(line.total.usage.fresh()));
    }
    let heading = by.name().to_uppercase();
    let mut rows = vec![
        [heading.as_str(), "MESSAGES", "FRESH", "INPUT", "CACHE WRITES", "OUTPUT", "CACHE READS", "COST"]
            .map(str::to_owned)
            .to_vec(),
    ];
    rows.extend(lines.iter().map(|(name, line)| row(&flatten(name, WIDTH), line)));
    rows.push(row("all", &sums.totals));
    if sums.no_id.total.messages > 0 {
        rows.push(row("without an id", &sums.no_id));
    }
    right(&mut rows, 1);
    shared::table::columns(&rows, colour)
}

fn row(name: &str, line: &Line) -> Vec<String> {
    let Total { messages, usage } = line.total;
    let counts = [messages, usage.fresh(), usage.input, usage.cache_creation, usage.output, usage.cache_read];
    let mut row = vec![name.to_owned()];
    row.extend(counts.map(thousands));
    row.push(line.cost.to_string());
    row
}

fn document(world: &World, ledger: &Ledger, selection: &Selection, sums: &Sums, costs: &Costs) -> Value {
    let unlogged = ledger
        .unlogged()
        .into_iter()
        .filter(|session| selection.is_everything() || sums.has_session(&session.session));
    let unlogged: Map<String, Value> = unlogged
        .map(|session| {
            let total = Total { messages: 0, usage: session.usage };
            (session.session.to_string(), json!(Sum::of(total, None)))
        })
        .collect();
    let mut document = json!({
        "version": 1,
        "generated_at": rfc3339(world.clock.now()),
        "prices": costs.prices().dated(),
        "totals": sums.totals.sum(),
        "no_id": sums.no_id.sum(),
        "unlogged": unlogged,
        "incomplete": sums.incomplete,
        "unpriced": sums.unpriced,
        "skipped_lines": ledger.skipped_lines(),
        "unreadable": ledger.book().unreadable,
    });
    if let Some(fields) = document.as_object_mut() {
        for by in By::ALL {
            fields.insert(format!("by_{}", by.name()), published(&sums.by(by)));
        }
    }
    document
}

/// Lines as JSON has them.
pub fn published(lines: &Lines) -> Value {
    lines.iter().map(|(name, line)| (name.clone(), json!(line.sum()))).collect::<Map<_, _>>().into()
}
