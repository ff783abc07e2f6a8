//! `mo-ledger check`: what the ledger saw, and what needs the user.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::json;
use shared::args::Matches;
use shared::costs::Costs;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::file;
use shared::flatten::flatten;
use shared::ledger::homes::{Home, homes};
use shared::ledger::{Ledger, Unlogged};
use shared::world::World;

/// After how many days Claude Code removes transcripts, where nothing else is set.
const DEFAULT_DAYS: u64 = 30;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Settings {
    cleanup_period_days: Option<u64>,
}

/// Tells how the ledger is; 1 when something needs the user.
pub fn run(world: &World, matches: &Matches) -> Result<Exit> {
    let ledger = Ledger::open(world)?;
    let homes = homes(world)?;
    let unlogged = ledger.unlogged();
    let (costs, trouble) = Costs::load(world);
    let unpriced = unpriced(&ledger, &costs);
    let needs = needs(&ledger, trouble.as_ref(), &unpriced);
    if matches.has("json") {
        world.say.line(&document(&ledger, &homes, &unlogged, &unpriced, &needs).to_string())?;
    } else {
        world.say.out(&text(&ledger, &homes, &unlogged))?;
        for need in &needs {
            world.say.note(need);
        }
    }
    Ok(if needs.is_empty() { Exit::Done } else { Exit::CouldNot })
}

/// What the user should do something about.
fn needs(ledger: &Ledger, trouble: Option<&Error>, unpriced: &BTreeSet<String>) -> Vec<String> {
    let book = ledger.book();
    let mut needs: Vec<String> = trouble.map(ToString::to_string).into_iter().collect();
    if !unpriced.is_empty() {
        let models: Vec<&str> = unpriced.iter().map(String::as_str).collect();
        let them = if models.len() == 1 { "it" } else { "them" };
        needs.push(format!("no price is known for {}: name {them} in prices.json", models.join(", ")));
    }
    for path in &book.unreadable {
        needs.push(format!("cannot read {path}: what it holds is not counted; make it readable"));
    }
    if book.catching_up {
        needs.push("not everything is counted yet: run `mo-ledger update`".to_owned());
    }
    if let Some(aside) = &book.set_aside {
        needs.push(format!(
            "the store was damaged and is in {aside}; what was whole in it is kept. Remove that folder, then run `mo-ledger rebuild`"
        ));
    }
    needs
}

/// Models whose tokens have no known price, for a worker who is not paid by the month.
fn unpriced(ledger: &Ledger, costs: &Costs) -> BTreeSet<String> {
    let workers = ledger.book().workers.iter();
    let cells =
        workers.flat_map(|(worker, models)| models.iter().map(move |(model, cell)| (worker, model, cell)));
    let unknown = cells.filter(|(worker, model, cell)| costs.cell(worker, model, cell).is_none());
    unknown.map(|(_, model, _)| flatten(model, 80)).collect()
}

fn days(home: &Home) -> u64 {
    let settings = file::read_if_there(&home.dir.join("settings.json"), file::JSON_CAP).ok().flatten();
    let settings = settings.and_then(|bytes| serde_json::from_slice::<Settings>(&bytes).ok());
    settings.and_then(|settings| settings.cleanup_period_days).unwrap_or(DEFAULT_DAYS)
}

fn unlogged_fresh(unlogged: &[Unlogged]) -> u64 {
    unlogged.iter().fold(0, |sum, session| sum + session.usage.fresh())
}

fn text(ledger: &Ledger, homes: &[Home], unlogged: &[Unlogged]) -> String {
    let book = ledger.book();
    let mut lines = vec![
        format!("{} transcripts, {} rows, {} messages", ledger.files(), ledger.rows(), book.totals.messages),
        format!("{} lines that could not be read", ledger.skipped_lines()),
        format!("{} messages whose last row is missing: their output may be larger", book.incomplete),
        format!(
            "{} rows without a message id, {} fresh tokens",
            book.no_id.messages,
            book.no_id.usage.fresh()
        ),
        format!(
            "{} fresh tokens in {} sessions that Claude Code counted and no row shows",
            unlogged_fresh(unlogged),
            unlogged.len()
        ),
    ];
    if book.contested > 0 {
        lines.push(format!(
            "{} messages for which the gateway's audit names several workers: they count as their session's own",
            book.contested
        ));
    }
    for home in homes.iter().filter(|home| home.dir.join("projects").is_dir()) {
        lines.push(format!(
            "{}: Claude Code removes transcripts in {} after {} days; the ledger keeps what it counted",
            home.worker,
            home.dir.display(),
            days(home)
        ));
    }
    lines.join("\n") + "\n"
}

fn document(
    ledger: &Ledger,
    homes: &[Home],
    unlogged: &[Unlogged],
    unpriced: &BTreeSet<String>,
    needs: &[String],
) -> serde_json::Value {
    let book = ledger.book();
    let homes: Vec<_> = homes
        .iter()
        .map(|home| json!({"worker": home.worker, "dir": home.dir, "cleanup_period_days": days(home)}))
        .collect();
    json!({
        "version": 1,
        "files": ledger.files(),
        "rows": ledger.rows(),
        "messages": book.totals.messages,
        "skipped_lines": ledger.skipped_lines(),
        "incomplete": book.incomplete,
        "no_id": book.no_id.messages,
        "contested": book.contested,
        "unlogged_fresh": unlogged_fresh(unlogged),
        "unlogged_sessions": unlogged.len(),
        "unpriced": unpriced,
        "unreadable": book.unreadable,
        "catching_up": book.catching_up,
        "set_aside": book.set_aside,
        "homes": homes,
        "needs": needs,
    })
}
