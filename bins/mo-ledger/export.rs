//! `mo-ledger export`: one row a message, for DuckDB, SQLite or pandas.

use jiff::Timestamp;
use serde::Serialize;
use shared::args::{Flag, Matches};
use shared::clock::rfc3339;
use shared::costs::Costs;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::flatten::flatten;
use shared::ledger::fact::Fact;
use shared::money::Money;
use shared::world::World;

use crate::calendar::Calendar;
use crate::fresh;
use crate::selection::{self, Selection};

/// Rows are written in pieces of about this size.
const PIECE: usize = 64 << 10;
/// The longest text in a CSV field.
const FIELD: usize = 4096;

/// The flags.
pub const FLAGS: &[Flag] = &[
    Flag { long: "format", value: "FORMAT", about: "ndjson (default) or csv" },
    selection::SINCE,
    selection::UNTIL,
    selection::LAST,
    selection::TIMEZONE,
    selection::WORKER,
    selection::PROJECT,
];

/// One message.
#[derive(Serialize)]
struct Row<'a> {
    id: &'a str,
    at: Option<String>,
    day: Option<String>,
    worker: &'a str,
    model: &'a str,
    session: &'a str,
    manager_session: Option<&'a str>,
    project: &'a str,
    input: u64,
    output: u64,
    cache_creation: u64,
    cache_creation_1h: u64,
    cache_read: u64,
    fresh: u64,
    cost_usd: Option<f64>,
    sidechain: bool,
    incomplete: bool,
    without_id: bool,
}

/// The names of the columns, in the order of [`Row`].
const COLUMNS: &str = "id,at,day,worker,model,session,manager_session,project,input,output,cache_creation,\
cache_creation_1h,cache_read,fresh,cost_usd,sidechain,incomplete,without_id\n";

/// Prints all messages of the selection.
pub fn run(world: &World, matches: &Matches) -> Result<Exit> {
    let is_csv = match matches.value("format").unwrap_or("ndjson") {
        "ndjson" => false,
        "csv" => true,
        other => {
            return Err(Error::new(Exit::Usage, format!("--format `{}` is not known", flatten(other, 40)))
                .hint("take ndjson or csv"));
        }
    };
    let mut calendar = Calendar::of(matches.value("timezone"))?;
    let selection = Selection::of(matches, &calendar, world.clock.now())?;
    let (ledger, costs) = fresh::ledger(world)?;
    let mut text = if is_csv { COLUMNS.to_owned() } else { String::new() };
    for fact in ledger.facts() {
        let fact = fact?;
        if !selection.takes(&fact) {
            continue;
        }
        let row = row(&fact, &costs, &mut calendar);
        if is_csv {
            row.csv(&mut text);
        } else {
            text.push_str(&json(&row)?);
            text.push('\n');
        }
        if text.len() >= PIECE {
            if !world.say.data(&text)? {
                return Ok(Exit::Done);
            }
            text.clear();
        }
    }
    world.say.data(&text)?;
    Ok(Exit::Done)
}

fn json(row: &Row<'_>) -> Result<String> {
    serde_json::to_string(row).map_err(|error| Error::new(Exit::Bug, "cannot write JSON").caused_by(error))
}

fn row<'a>(fact: &'a Fact, costs: &Costs, calendar: &mut Calendar) -> Row<'a> {
    let usage = &fact.usage;
    let at = Timestamp::from_millisecond(fact.at).ok().filter(|_| fact.at != 0);
    Row {
        id: &fact.id,
        at: at.map(rfc3339),
        day: calendar.day(fact.at).map(|day| day.to_string()),
        worker: &fact.worker,
        model: &fact.model,
        session: &fact.session,
        manager_session: fact.manager.as_deref(),
        project: &fact.project,
        input: usage.input,
        output: usage.output,
        cache_creation: usage.cache_creation,
        cache_creation_1h: usage.cache_creation_1h,
        cache_read: usage.cache_read,
        fresh: usage.fresh(),
        cost_usd: costs.of(&fact.worker, &fact.model, usage).map(Money::dollars),
        sidechain: fact.sidechain,
        incomplete: fact.incomplete,
        without_id: fact.without_id,
    }
}

impl Row<'_> {
    fn csv(&self, text: &mut String) {
        let counts = [
            self.input,
            self.output,
            self.cache_creation,
            self.cache_creation_1h,
            self.cache_read,
            self.fresh,
        ];
        let mut fields =
            vec![quoted(self.id), self.at.clone().unwrap_or_default(), self.day.clone().unwrap_or_default()];
        let names =
            [self.worker, self.model, self.session, self.manager_session.unwrap_or_default(), self.project];
        fields.extend(names.map(quoted));
        fields.extend(counts.map(|count| count.to_string()));
        fields.push(self.cost_usd.map_or_else(String::new, |cost| cost.to_string()));
        fields.extend([self.sidechain, self.incomplete, self.without_id].map(|flag| flag.to_string()));
        text.push_str(&fields.join(","));
        text.push('\n');
    }
}

/// A field of one line, in quotes where it needs them. What begins like a formula would be one to a
/// spreadsheet; a blank before it keeps it a text.
fn quoted(text: &str) -> String {
    let text = flatten(text, FIELD);
    let guard = if text.starts_with(['=', '+', '@', '\t']) { " " } else { "" };
    if text.contains(['"', ',']) || !guard.is_empty() {
        format!("\"{guard}{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_one_line_and_no_formula() {
        for (text, field) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"\r\nthere", "\"say \"\"hi\"\" there\""),
            ("=1+1", "\" =1+1\""),
            ("-w-app", "-w-app"),
        ] {
            assert_eq!(quoted(text), field);
        }
    }
}
