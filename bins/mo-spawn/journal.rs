//! This run's record: opened when Claude Code starts, closed when it has ended.

use std::path::{Path, PathBuf};

use shared::clock::rfc3339;
use shared::dispatch_id::DispatchId;
use shared::env;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::name::Name;
use shared::outcome::{self, Ending};
use shared::process;
use shared::record::{Attempt, Process, Record, Status};
use shared::session_files::{self, Before, Sessions};
use shared::transcript;
use shared::usage;
use shared::world::World;

use crate::launch::Launch;
use crate::model;
use crate::sitting::Sitting;

/// A record on its way.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    record: Record,
    projects: PathBuf,
    /// Whose plan it works on, where it is an account's.
    account: Option<Name>,
    /// The session where it is known, and how long its transcripts were before.
    known: Option<(String, Before)>,
    /// Where it is not known: all sessions as they were before.
    all: Option<Sessions>,
}

impl Journal {
    /// Opens the record; nothing where there is no session. Must not be called after Claude Code started,
    /// because what stands in the transcripts now belongs to earlier runs.
    pub fn open(world: &World, launch: &Launch) -> Result<Option<Self>> {
        let Some(id) = &launch.dispatch else { return Ok(None) };
        let now = world.clock.now();
        let projects = launch.worker.projects();
        let session = match (&launch.session, &launch.asked.sitting) {
            (None, Sitting::Newest) => newest(&projects, &world.cwd()),
            (session, _) => session.clone(),
        };
        let record = begin(world, launch, id, session.clone());
        let all = session.is_none().then(|| Sessions::of(&projects));
        let known = session.map(|session| (session.clone(), session_files::mark(&projects, &session)));
        let path = Record::path(&world.paths, id, now)?;
        if path.exists() {
            return Err(Error::new(Exit::Usage, format!("there is already a dispatch {id}"))
                .hint("each dispatch needs an id of its own"));
        }
        record.write(&path)?;
        record.index(&world.paths, &path)?;
        let account = launch.worker.is_account().then(|| launch.worker.name.clone());
        Ok(Some(Self { path, record, projects, account, known, all }))
    }

    /// Notes which process it is.
    pub fn started(&mut self, pid: u32) -> Result<()> {
        self.record.pid = Some(pid);
        self.record.start_time = process::start_time(pid);
        self.record.write(&self.path)
    }

    /// Closes the record with what the transcript says.
    pub fn close(mut self, world: &World, ending: Ending) -> Result<Record> {
        // Of a fork, or of a session picked from a list, only the transcript knows the id.
        if let Some(session) = self.all.take().and_then(|all| all.only_one_that_grew(&self.projects)) {
            self.record.worker_sessions = vec![session.0.clone()];
            self.known = Some(session);
        }
        let known = self.known.as_ref();
        let course = known.and_then(|(session, before)| transcript::read(&self.projects, session, before));
        let now = world.clock.now();
        let refused = course.as_ref().and_then(|course| course.refused.clone());
        outcome::close(&mut self.record, ending, course, now);
        self.record.write(&self.path)?;
        // Of a plan that has room the client leaves no word where nobody asked for its events; of one that refuses, in
        // the transcript.
        if let (Some(info), Some(name)) = (refused, &self.account) {
            usage::note(&world.paths, name, &info, now)?;
        }
        Ok(self.record)
    }
}

/// The record of a dispatch that begins.
pub fn begin(world: &World, launch: &Launch, id: &DispatchId, session: Option<String>) -> Record {
    let now = world.clock.now();
    let model = launch.asked.model.clone();
    let tier = model.as_deref().map_or(launch.worker.profile.default_tier, model::tier);
    Record {
        version: 1,
        id: id.to_string(),
        title: launch.title.clone(),
        worker: launch.worker.name.to_string(),
        kind: launch.worker.profile.kind.name().to_owned(),
        tier: tier.map(|tier| tier.name().to_owned()),
        model: model::known(&launch.worker, model.as_deref()).map(|mapped| mapped.model.clone()).or(model),
        manager_session: shared::child_env::manager_session(&world.env).map(str::to_owned),
        tool_use_id: world.env.text(env::CLAUDE_CODE_TOOL_USE_ID).map(str::to_owned),
        worker_sessions: session.into_iter().collect(),
        cwd: world.cwd().to_string_lossy().into_owned(),
        supervisor: Some(own_process()),
        args_mode: "pass-through".to_owned(),
        status: Some(Status::Running),
        queued_at: Some(rfc3339(now)),
        started_at: Some(rfc3339(now)),
        attempts: vec![Attempt {
            n: 1,
            worker: launch.worker.name.to_string(),
            started_at: rfc3339(now),
            ended_at: None,
            status: Status::Running,
            reason: None,
        }],
        ..Record::default()
    }
}

fn own_process() -> Process {
    let pid = std::process::id();
    Process { pid, start_time: process::start_time(pid) }
}

/// The session that `--continue` will take up: the newest of this directory.
fn newest(projects: &Path, cwd: &Path) -> Option<String> {
    let folder = projects.join(session_files::folder_name(cwd));
    let files = std::fs::read_dir(folder).ok()?.flatten();
    let sessions = files.filter_map(|entry| {
        let path = entry.path();
        let stem = path.file_stem()?.to_str()?.to_owned();
        let is_session = path.extension().is_some_and(|it| it == "jsonl") && !stem.starts_with("agent-");
        is_session.then_some((entry.metadata().ok()?.modified().ok()?, stem))
    });
    sessions.max().map(|(_, session)| session)
}
