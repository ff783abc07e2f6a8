//! All tasks of this session in one place. Who changes something says so, and whoever waits looks again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::process;
use shared::record::Process;
use shared::sibling;
use shared::world::World;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::work::spent::Bills;
use crate::work::task::{Stop, Task};

/// How many messages of workers are kept; older ones stand in the tasks' event files.
const MESSAGES: usize = 1_000;
/// How long the end of a session waits for what it stopped.
const LAST_WAIT: Duration = Duration::from_secs(30);

/// A note or a question of a worker.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its number, from 1.
    pub number: u64,
    /// The task.
    pub id: String,
    /// When.
    pub at: String,
    /// Who: `worker` or `caller`.
    pub from: String,
    /// The words.
    pub text: String,
}

/// What changes.
#[derive(Debug, Default)]
pub struct State {
    /// The tasks by id, which is the order in which they were asked for.
    pub tasks: BTreeMap<String, Task>,
    /// What workers said.
    pub messages: Vec<Message>,
    /// How many messages there were.
    pub said: u64,
    /// How many calls there were.
    pub batches: u64,
    /// Accounts that are being asked for their usage.
    pub asking: BTreeSet<String>,
    /// When accounts were last asked.
    pub asked: BTreeMap<String, Instant>,
    /// What ended dispatches cost.
    pub bills: Bills,
    /// Nothing new is begun.
    pub closing: bool,
}

/// The tasks of this session.
#[derive(Debug)]
pub struct Hub {
    /// The outside.
    pub world: World,
    /// Where the tasks work.
    pub workspace: PathBuf,
    /// The program that runs them.
    pub spawn: PathBuf,
    /// This process.
    pub own: Process,
    /// It holds one task that outlives the session it was asked for in.
    pub alone: bool,
    state: Mutex<State>,
    changes: watch::Sender<u64>,
}

impl Hub {
    /// A session in the directory where this process was started.
    pub fn new(world: World) -> Result<Self> {
        let workspace = world.cwd();
        let spawn = sibling::find("mo-spawn").ok_or_else(|| {
            Error::new(Exit::Config, "mo-spawn is not beside mo-dispatch")
                .hint("`make install` puts all programs into one folder")
        })?;
        let pid = std::process::id();
        let own = Process { pid, start_time: process::start_time(pid) };
        let (state, changes) = (Mutex::default(), watch::Sender::new(0));
        Ok(Self { world, workspace, spawn, own, alone: false, state, changes })
    }

    /// The place of one task that has no session.
    pub fn alone(world: World) -> Result<Self> {
        Self::new(world).map(|hub| Self { alone: true, ..hub })
    }

    /// The state, for a moment: nothing waits while it is held.
    pub fn state(&self) -> MutexGuard<'_, State> {
        // A panic in between cannot have left a task half-changed that matters more than going on.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something has changed.
    pub fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// Hears of changes from now on.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// The task of this id, as it stands.
    pub fn task(&self, id: &str) -> Option<Task> {
        self.state().tasks.get(id).cloned()
    }

    /// Changes a task, where it is one of ours, and tells.
    pub fn update(&self, id: &str, change: impl FnOnce(&mut Task)) {
        if let Some(task) = self.state().tasks.get_mut(id) {
            change(task);
        }
        self.changed();
    }

    /// Keeps what a worker said.
    pub fn heard(&self, id: &str, at: String, from: String, text: String) {
        let mut state = self.state();
        state.said += 1;
        let number = state.said;
        state.messages.push(Message { number, id: id.to_owned(), at, from, text });
        let old = state.messages.len().saturating_sub(MESSAGES);
        state.messages.drain(..old);
        drop(state);
        self.changed();
    }

    /// Asks these tasks to end; those that have not begun never do.
    pub fn stop(&self, ids: &[String], why: &Stop) {
        let mut state = self.state();
        for id in ids {
            if let Some(task) = state.tasks.get_mut(id).filter(|task| !task.is_over() && task.stop.is_none())
            {
                task.stop = Some(why.clone());
                task.stopping.notify_one();
            }
        }
        drop(state);
        self.changed();
    }

    /// Ends everything of this session that is not detached.
    pub fn close(&self) {
        let ids: Vec<String> = {
            let mut state = self.state();
            state.closing = true;
            state.tasks.keys().cloned().collect()
        };
        self.stop(&ids, &Stop::Cancelled);
    }

    /// Waits until these have ended.
    pub async fn ended(&self, ids: &[String]) {
        let mut changes = self.watch();
        loop {
            let open = {
                let state = self.state();
                ids.iter().any(|id| state.tasks.get(id).is_some_and(|task| !task.is_over()))
            };
            if !open || changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Waits until nothing of this session is at work, but not for ever.
    pub async fn all_ended(&self) {
        let ids: Vec<String> = self.state().tasks.keys().cloned().collect();
        let _ = tokio::time::timeout(LAST_WAIT, self.ended(&ids)).await;
    }
}
