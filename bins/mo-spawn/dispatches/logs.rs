//! `mo-spawn logs`: what a worker says and does, for people, while it runs or afterwards.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use shared::args::{Flag, Matches};
use shared::dispatches;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::flatten::flatten;
use shared::name::Name;
use shared::record::Record;
use shared::session_files;
use shared::worker::Worker;
use shared::world::World;

use super::stop::settled;
use super::transcript_tail::{Entry, Source, Tail};
use super::twice::Twice;

/// The flags.
pub const FLAGS: &[Flag] = &[
    Flag { long: "follow", value: "", about: "go on until it has ended (also -f)" },
    Flag { long: "lines", value: "N", about: "begin with the last N lines (default 50, 0: all)" },
];

/// How many lines are shown of what was before.
const LINES: usize = 50;
/// Pauses between looks.
const PAUSE: Duration = Duration::from_millis(200);

/// Shows them.
pub fn run(world: &World, matches: &Matches) -> Result<Exit> {
    let (path, record) = dispatches::find(&world.paths, matches.operand(0)?)?;
    let lines = matches.value("lines").map_or(Ok(LINES), number)?;
    let zone = TimeZone::system();
    let mut tails = tails(world, &path, &record);
    let mut twice = Twice::default();
    let mut entries = twice.once(look(&mut tails));
    let skipped = if lines == 0 { 0 } else { entries.len().saturating_sub(lines) };
    entries.drain(..skipped);
    if entries.is_empty() && !matches.has("follow") {
        world.say.note(&format!("{} has said nothing yet", record.id));
    }
    loop {
        for entry in &entries {
            if !world.say.data(&line(entry, &zone))? {
                return Ok(Exit::Done);
            }
        }
        // Looked at before the next read, so that the last words are not missed.
        let ended = !matches.has("follow") || settled(world, &path)?.is_some();
        if ended && entries.is_empty() {
            return Ok(Exit::Done);
        }
        if !ended {
            thread::sleep(PAUSE);
        }
        if tails.len() < 2 {
            tails = grown(tails, world, &path);
        }
        entries = if matches.has("follow") { twice.once(look(&mut tails)) } else { Vec::new() };
    }
}

/// A session's transcript appears a while after its record.
fn grown(mut old: Vec<Tail>, world: &World, path: &Path) -> Vec<Tail> {
    if let Ok(Some(record)) = Record::read(path) {
        let all = tails(world, path, &record).into_iter();
        let new: Vec<Tail> = all.filter(|tail| old.iter().all(|old| old.path() != tail.path())).collect();
        old.extend(new);
    }
    old
}

fn tails(world: &World, path: &Path, record: &Record) -> Vec<Tail> {
    let events = path.with_extension("events");
    let mut tails: Vec<Tail> =
        transcripts(world, record).into_iter().map(|path| Tail::new(path, Source::Transcript)).collect();
    if events.is_file() {
        tails.push(Tail::new(events, Source::Events));
    }
    tails
}

fn transcripts(world: &World, record: &Record) -> Vec<PathBuf> {
    let Ok(name) = Name::parse(&record.worker) else { return Vec::new() };
    let Ok(worker) = Worker::load(&world.paths, &name) else { return Vec::new() };
    let projects = worker.projects();
    record.worker_sessions.iter().filter_map(|session| session_files::find(&projects, session)).collect()
}

fn look(tails: &mut [Tail]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = tails.iter_mut().flat_map(Tail::read).collect();
    // Stable: what one file holds of one moment stays in its order.
    entries.sort_by(|one, other| one.at.cmp(&other.at));
    entries
}

fn line(entry: &Entry, zone: &TimeZone) -> String {
    let clock = |at: DateTime| format!("{:02}:{:02}:{:02}", at.hour(), at.minute(), at.second());
    let shown = entry.at.parse::<Timestamp>().map(|at| clock(zone.to_datetime(at)));
    format!("{}  {:<8}  {}\n", shown.unwrap_or_else(|_| flatten(&entry.at, 8)), entry.who, entry.text)
}

fn number(typed: &str) -> Result<usize> {
    typed.parse().map_err(|_| Error::new(Exit::Usage, "--lines takes a number").hint("like --lines 200"))
}
