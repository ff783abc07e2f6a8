//! The tasks of the page: what waits or is at work, by looking at records and processes, and what ended today.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Serialize;
use shared::dispatches;
use shared::error::Result;
use shared::event::{Event, Kind};
use shared::flatten::flatten;
use shared::moment::Moment;
use shared::outcome;
use shared::record::{Record, Status};
use shared::world::World;

/// A record that was not written for so long, in seconds, is of no task that could still be at work today.
const OLD: u64 = 3 * 86_400;
/// So much of a task's events is looked at, from their end.
const TAIL: u64 = 16 << 10;
/// The longest title and the longest note.
const LONGEST: usize = 100;

/// One task.
#[derive(Debug, Serialize)]
pub struct Task {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Who works.
    pub worker: String,
    /// `queued`, `running`, or `lost` when nobody is there who could tell.
    pub status: &'static str,
    /// The model or tier.
    pub model: Option<String>,
    /// Since when it waits or works.
    pub since: Option<Moment>,
    /// The turn it is in.
    pub turn: Option<u32>,
    /// What it does: the tool at work, or what it said last.
    pub doing: Option<String>,
}

impl Task {
    /// Whether a process of it lives.
    pub fn is_at_work(&self) -> bool {
        self.status == "running"
    }
}

/// What a look at the records tells.
#[derive(Debug, Default)]
pub struct Day {
    /// What waits or is at work, the oldest first.
    pub tasks: Vec<Task>,
    /// What those that ended today cost.
    pub usd: f64,
    /// How many of them have no known price.
    pub unpriced: usize,
    /// How many they are.
    pub ended: usize,
}

/// Looks at the records that were written lately.
pub fn look(world: &World, now: Timestamp) -> Result<Day> {
    let zone = TimeZone::try_system().unwrap_or(TimeZone::UTC);
    let today = day(now, &zone);
    let mut found = Day::default();
    for path in dispatches::files(&world.paths)? {
        if !is_recent(&path, now) {
            continue;
        }
        let Ok(Some(record)) = Record::read(&path) else { continue };
        match record.status {
            Some(Status::Queued | Status::Running) => found.tasks.push(task(&path, &record)),
            _ => found.ended(&record, today, &zone),
        }
    }
    found.tasks.sort_by(|one, other| (one.since, &one.id).cmp(&(other.since, &other.id)));
    Ok(found)
}

impl Day {
    fn ended(&mut self, record: &Record, today: Date, zone: &TimeZone) {
        let ended = record.ended_at.as_deref().and_then(|at| at.parse().ok());
        if ended.is_none_or(|at| day(at, zone) != today) {
            return;
        }
        self.ended += 1;
        match (record.cost_usd, record.cost_basis.as_deref()) {
            (Some(usd), _) => self.usd += usd,
            (None, Some("flat")) => {}
            (None, _) => self.unpriced += usize::from(!record.usage.is_empty()),
        }
    }
}

fn day(at: Timestamp, zone: &TimeZone) -> Date {
    at.to_zoned_datetime(zone.clone()).date()
}

fn is_recent(path: &Path, now: Timestamp) -> bool {
    let changed = fs::metadata(path).and_then(|meta| meta.modified());
    changed
        .is_ok_and(|changed| Timestamp::try_from(changed).is_ok_and(|changed| Moment(changed).age(now) < OLD))
}

fn task(path: &Path, record: &Record) -> Task {
    let is_queued = record.status == Some(Status::Queued);
    let lives = if is_queued { outcome::supervisor_is_alive(record) } else { outcome::is_alive(record) };
    let status = match (lives, is_queued) {
        (true, true) => "queued",
        (true, false) => "running",
        (false, _) => "lost",
    };
    let since = if is_queued { &record.queued_at } else { &record.started_at };
    let (turn, doing) = lives.then(|| progress(&path.with_extension("events"))).flatten().unzip();
    Task {
        id: flatten(&record.id, 40),
        title: flatten(record.title.as_deref().unwrap_or("untitled"), LONGEST),
        worker: flatten(&record.worker, 64),
        status,
        model: record.model.as_deref().or(record.tier.as_deref()).map(|model| flatten(model, 64)),
        since: since.as_deref().and_then(|at| at.parse().ok()).map(Moment),
        turn,
        doing: doing.flatten(),
    }
}

/// The last progress among the task's events.
fn progress(events: &Path) -> Option<(u32, Option<String>)> {
    let mut file = File::open(events).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    text.lines().rev().find_map(|line| match Event::parse(line)?.kind {
        Kind::Progress { turn, tool, text, .. } => {
            Some((turn, tool.or(text).map(|doing| flatten(&doing, LONGEST))))
        }
        _ => None,
    })
}
