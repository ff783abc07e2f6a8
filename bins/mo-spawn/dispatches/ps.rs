//! `mo-spawn ps`: what runs, and what has just ended; a dispatch whose processes are gone is told as lost.

use serde::Serialize;
use shared::args::{Flag, Matches};
use shared::clock;
use shared::dispatches;
use shared::error::Result;
use shared::exit::Exit;
use shared::flatten::flatten;
use shared::json_text;
use shared::outcome;
use shared::record::{Record, Status};
use shared::table;
use shared::world::World;

use super::{JSON, age, retention};

/// The flags.
pub const FLAGS: &[Flag] = &[
    JSON,
    Flag { long: "all", value: "", about: "show every record, not only the last hour's" },
    Flag { long: "clear", value: "", about: "forget old records now: beyond 90 days and beyond 5,000" },
];

/// For how long what has ended is shown.
const RECENT_SECONDS: i64 = 3600;
/// The most characters of a title.
const LONGEST_TITLE: usize = 60;

#[derive(Serialize)]
struct Document {
    version: u32,
    dispatches: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    /// Its Claude Code runs although its mo-spawn has gone: nobody watches it, `stop` ends it.
    orphaned: bool,
    #[serde(flatten)]
    record: Record,
}

/// Prints the list, the newest last. What is found dead is closed on the way.
pub fn run(world: &World, matches: &Matches) -> Result<Exit> {
    if matches.has("clear") {
        let cleared = retention::clear(world)?;
        world.say.note(&format!("forgot {cleared} dispatches"));
    }
    let rows = rows(world, matches.has("all"))?;
    if matches.has("json") {
        world.say.line(&json_text::pretty(&Document { version: 1, dispatches: rows })?)?;
        return Ok(Exit::Done);
    }
    if rows.is_empty() {
        world.say.note("nothing runs, and nothing has ended within the hour");
        world.say.hint("`mo-spawn ps --all` shows older dispatches");
        return Ok(Exit::Done);
    }
    let now = world.clock.now();
    let mut lines =
        vec![["ID", "STATUS", "WORKER", "MODEL", "STARTED", "TOOK", "TITLE"].map(str::to_owned).to_vec()];
    lines.extend(rows.iter().map(|row| {
        let record = &row.record;
        let started = record.started_at.as_deref().or(record.queued_at.as_deref());
        let shown = |text: Option<&str>| flatten(text.unwrap_or("-"), LONGEST_TITLE);
        vec![
            flatten(&record.id, LONGEST_TITLE),
            if row.orphaned { "orphaned".to_owned() } else { word(record).to_owned() },
            flatten(&record.worker, LONGEST_TITLE),
            shown(record.model.as_deref()),
            age::between(started, None, now).map_or_else(|| "-".to_owned(), |age| format!("{age} ago")),
            age::between(started, record.ended_at.as_deref(), now).unwrap_or_else(|| "-".to_owned()),
            shown(record.title.as_deref()),
        ]
    }));
    world.say.out(&table::columns(&lines, world.colour()))?;
    Ok(Exit::Done)
}

fn word(record: &Record) -> &'static str {
    record.status.map_or("-", Status::name)
}

fn rows(world: &World, all: bool) -> Result<Vec<Row>> {
    let recent = clock::rfc3339(clock::before(world.clock.now(), RECENT_SECONDS));
    let mut rows = Vec::new();
    for path in dispatches::files(&world.paths)? {
        // A record that cannot be read hides no other one.
        let Ok(Some(mut record)) = Record::read(&path) else {
            world.say.note(&format!("this record cannot be read: {}", path.display()));
            continue;
        };
        let mut orphaned = false;
        if !record.status.is_some_and(Status::is_final) {
            let projects = outcome::projects(&world.paths, &record)?;
            match outcome::settle(&path, &projects, world.clock.now()) {
                Ok(true) => record = Record::read(&path)?.unwrap_or(record),
                Ok(false) => orphaned = is_orphaned(&record),
                Err(error) => world.say.error(&error),
            }
        }
        let live = !record.status.is_some_and(Status::is_final);
        // Times of our own making compare as text.
        if all || live || record.ended_at.as_deref().is_some_and(|ended| ended >= recent.as_str()) {
            rows.push(Row { orphaned, record });
        }
    }
    Ok(rows)
}

/// An interactive session has become Claude Code itself: there the two are one process.
fn is_orphaned(record: &Record) -> bool {
    outcome::worker_is_alive(record) && !outcome::supervisor_is_alive(record)
}
