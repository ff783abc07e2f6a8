//! One task of this session, from the moment it was asked for until it has ended.

use std::sync::Arc;

use jiff::Timestamp;
use shared::dispatch_id::DispatchId;
use shared::record::{Record, Status};
use tokio::sync::Notify;

use crate::tools::spec::Spec;
use crate::work::live::Live;

/// Where a task stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Stage {
    /// Waits, and why.
    Queued(String),
    /// At work.
    Running {
        /// Who works.
        worker: String,
        /// Since when.
        since: Timestamp,
    },
    /// No longer ours: it outlives this session, on this worker, or waiting where none is named.
    Detached(String),
    /// Has ended.
    Ended,
}

/// One run of a task on one worker.
#[derive(Clone, Debug)]
pub struct Try {
    /// Who tried.
    pub worker: String,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// How it ended.
    pub status: Status,
    /// Why.
    pub reason: Option<String>,
    /// Whether it went on with the session of the try before.
    pub resumed: bool,
}

/// Why a running task is to be stopped.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Stop {
    /// Its caller wants it.
    Cancelled,
    /// It would cost money past its worker's plan; why. Another worker may do it.
    Guarded(String),
    /// It uses a model that nobody may use for it; why.
    Frontier(String),
    /// The day's money is spent.
    OverBudget(String),
}

/// A task.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its id.
    pub id: DispatchId,
    /// What was asked for.
    pub spec: Spec,
    /// The call it came with.
    pub batch: u64,
    /// How many of that call may run at once.
    pub batch_limit: u32,
    /// The client's own name of that call.
    pub tool_use: Option<String>,
    /// The session it was asked for in.
    pub session: Option<String>,
    /// When it was asked for.
    pub asked: Timestamp,
    /// Where it stands.
    pub stage: Stage,
    /// The dispatches that it was run as: the first has its own id.
    pub runs: Vec<DispatchId>,
    /// Runs that have ended.
    pub tries: Vec<Try>,
    /// Workers that failed it.
    pub failed: Vec<String>,
    /// Not before this: a worker had no place after all.
    pub not_before: Option<Timestamp>,
    /// What is known of the run at work.
    pub live: Live,
    /// Why it is to be stopped.
    pub stop: Option<Stop>,
    /// Woken when it is to be stopped.
    pub stopping: Arc<Notify>,
    /// Its record, when it has ended.
    pub record: Option<Box<Record>>,
}

impl Task {
    /// What it waits for before anybody has looked at it.
    pub const FIRST: &str = "its turn comes";

    /// A task that was asked for now.
    pub fn new(id: DispatchId, spec: Spec, asked: Timestamp) -> Self {
        Self {
            id,
            spec,
            batch: 0,
            batch_limit: 1,
            tool_use: None,
            session: None,
            asked,
            stage: Stage::Queued(Self::FIRST.to_owned()),
            runs: Vec::new(),
            tries: Vec::new(),
            failed: Vec::new(),
            not_before: None,
            live: Live::default(),
            stop: None,
            stopping: Arc::new(Notify::new()),
            record: None,
        }
    }

    /// Whether it has left our hands.
    pub fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Ended | Stage::Detached(_))
    }

    /// How it ended.
    pub fn status(&self) -> Option<Status> {
        self.record.as_ref().and_then(|record| record.status)
    }

    /// The worker at work.
    pub fn worker(&self) -> Option<&str> {
        match &self.stage {
            Stage::Running { worker, .. } | Stage::Detached(worker) => Some(worker),
            _ => None,
        }
    }
}
