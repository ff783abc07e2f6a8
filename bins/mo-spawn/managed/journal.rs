//! A managed dispatch as it is written down while it runs: its record, whole at every change, its prompt, its events.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;
use shared::clock::{Clock, rfc3339};
use shared::dispatch_id::DispatchId;
use shared::env;
use shared::error::{Error, Result};
use shared::event::{Event, Kind};
use shared::exit::Exit;
use shared::file::{self, Durability};
use shared::name::Name;
use shared::paths::Paths;
use shared::process;
use shared::record::{Attempt, Denial, Record, Status, Tokens};
use shared::usage;
use shared::world::World;

use super::earlier::Earlier;
use super::events::Events;
use super::meter::Meter;
use super::screen::Screen;
use crate::journal;
use crate::launch::Launch;
use crate::options::Task;

/// Progress is told at most that often.
const PACE: Duration = Duration::from_millis(500);

/// What belongs to one dispatch only, and is not taken again by one that goes on with it.
const NOT_AGAIN: &[&str] = &[
    "task",
    "id",
    "title",
    "tool-use-id",
    "events",
    "progress",
    "json",
    "detach",
    "tied",
    "continue-from",
    "anew",
    "worktree",
    "nested",
    "explain",
];

/// The journal.
#[derive(Debug)]
pub struct Journal {
    /// The record as it stands.
    pub record: Record,
    /// Where it lies.
    pub path: PathBuf,
    /// What is shown of the course.
    pub screen: Screen,
    clock: Clock,
    /// Whose plan is told of, where it is an account's, and where that is kept.
    account: Option<(Paths, Name)>,
    events: Events,
    began: Instant,
    told: Option<(Instant, u32, Option<String>)>,
    counted: Option<Instant>,
    usage: BTreeMap<String, Tokens>,
    /// How many attempts there were before this dispatch.
    pub before: u32,
    /// The first failure to write; the work goes on.
    trouble: Option<Error>,
}

impl Journal {
    /// Opens the record of a dispatch that begins.
    pub fn open(
        world: &World,
        launch: &Launch,
        task: &Task,
        prompt: &str,
        screen: Screen,
        earlier: &Earlier,
    ) -> Result<Self> {
        let id = launch.dispatch.as_ref().ok_or_else(|| Error::new(Exit::Bug, "a task without an id"))?;
        let now = world.clock.now();
        let path = match &earlier.record {
            Some((path, _)) => path.clone(),
            None => Record::path(&world.paths, id, now)?,
        };
        let (prompt_path, events_path) = (path.with_extension("prompt"), path.with_extension("events"));
        let mut record = journal::begin(world, launch, id, launch.session.clone());
        "managed".clone_into(&mut record.args_mode);
        record.role.clone_from(&task.role);
        record.tool_use_id = task.tool_use_id.clone().or(record.tool_use_id);
        record.prompt_path = Some(prompt_path.to_string_lossy().into_owned());
        record.events_path = Some(events_path.to_string_lossy().into_owned());
        record.resume = Some(format!("mo-spawn resume {id}"));
        record.role.clone_from(&task.role);
        record.asked =
            task.given_but(NOT_AGAIN).iter().map(|word| word.to_string_lossy().into_owned()).collect();
        record.cwd = launch.directory.to_string_lossy().into_owned();
        record.attempts.clear();
        earlier.inherit(&mut record);
        if let Some(directory) = path.parent() {
            file::create_private_dir(directory)?;
        }
        file::replace(&prompt_path, prompt.as_bytes(), file::PRIVATE, Durability::Lazy)?;
        let events = Events::open(&events_path, task.events.as_deref())?;
        record.write(&path)?;
        record.index(&world.paths, &path)?;
        let mut journal = Self {
            record,
            path,
            screen,
            clock: world.clock,
            account: launch.worker.is_account().then(|| (world.paths.clone(), launch.worker.name.clone())),
            events,
            began: Instant::now(),
            told: None,
            counted: None,
            usage: BTreeMap::new(),
            before: 0,
            trouble: None,
        };
        journal.event(Kind::State { status: Status::Running });
        Ok(journal)
    }

    /// Since it began.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Writes the record.
    pub fn save(&mut self) {
        if let Err(error) = self.record.write(&self.path) {
            self.trouble.get_or_insert(error);
        }
    }

    /// Tells an event.
    pub fn event(&mut self, kind: Kind) {
        self.screen.show(&kind, self.began.elapsed());
        self.events.tell(&Event::new(self.clock.now(), &self.record.id, kind));
    }

    /// Keeps what the client tells of the account's plan for whoever chooses a worker next, and tells it on.
    pub fn plan(&mut self, info: Value) {
        if let Some((paths, name)) = &self.account
            && let Err(error) = usage::note(paths, name, &info, self.clock.now())
        {
            self.trouble.get_or_insert(error);
        }
        self.event(Kind::RateLimit { info });
    }

    /// The dispatch stands elsewhere now.
    pub fn state(&mut self, status: Status) {
        if self.record.status != Some(status) {
            self.record.status = Some(status);
            self.event(Kind::State { status });
        }
        self.save();
    }

    /// How far the worker is; of the same tool in the same turn only now and then.
    pub fn progress(&mut self, turn: u32, tool: Option<String>, text: Option<String>) {
        let now = Instant::now();
        let same = |(when, last, at): &(Instant, u32, Option<String>)| {
            now < *when + PACE && *last == turn && *at == tool
        };
        if self.told.as_ref().is_some_and(same) {
            return;
        }
        self.told = Some((now, turn, tool.clone()));
        let elapsed_ms = self.began.elapsed().as_millis() as u64;
        self.event(Kind::Progress { turn, tool, text, elapsed_ms });
    }

    /// What was used until now, by model: of a new model at once, since whoever watches over money must know.
    pub fn used(&mut self, meter: &Meter) {
        let now = Instant::now();
        let is_early = self.counted.is_some_and(|counted| now < counted + PACE);
        if is_early && meter.models() == self.usage.len() {
            return;
        }
        self.counted = Some(now);
        for (model, tokens) in meter.by_model() {
            if self.usage.get(&model) != Some(&tokens) {
                self.usage.insert(model.clone(), tokens);
                self.event(Kind::Usage { model, tokens });
            }
        }
    }

    /// Claude Code runs as this process.
    pub fn started(&mut self, pid: u32) {
        self.record.pid = Some(pid);
        self.record.start_time = process::start_time(pid);
        self.save();
    }

    /// The next attempt begins.
    pub fn attempt(&mut self) {
        let n = self.record.attempts.last().map_or(self.before, |last| last.n) + 1;
        let worker = self.record.worker.clone();
        let started_at = rfc3339(self.clock.now());
        self.record.attempts.push(Attempt {
            n,
            worker,
            started_at,
            ended_at: None,
            status: Status::Running,
            reason: None,
        });
        self.save();
    }

    /// The attempt has ended.
    pub fn attempted(&mut self, status: Status, reason: Option<String>) {
        let now = rfc3339(self.clock.now());
        if let Some(attempt) = self.record.attempts.last_mut().filter(|attempt| attempt.ended_at.is_none()) {
            attempt.ended_at = Some(now);
            attempt.status = status;
            attempt.reason = reason;
        }
    }

    /// Something was denied.
    pub fn denied(&mut self, denial: Denial) {
        self.record.denials.push(denial.clone());
        self.event(Kind::Denial(denial));
    }

    /// Closes the record; gives back what could not be written.
    pub fn close(&mut self) -> Option<Error> {
        self.record.ended_at = Some(rfc3339(self.clock.now()));
        self.screen.clear();
        self.save();
        self.event(Kind::End { record: Box::new(self.record.clone()) });
        self.events.close();
        self.trouble.take()
    }
}

/// The id of this process, for whoever looks for it.
pub fn mark(id: &DispatchId) -> String {
    format!("{}={id}", env::MO_DISPATCH)
}
