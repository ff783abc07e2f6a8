//! The record of one dispatch: who did what for whom, how it ended, what it used. The shape is in
//! contracts: `.dispatch/<yyyy-mm>/<id>.json`, found by session through `.dispatch/by-session/`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::clock::rfc3339;
use crate::dispatch_id::DispatchId;
use crate::document;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::file::{self, Durability};
use crate::paths::Paths;

/// Where a dispatch stands, or how it ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Waits for its turn.
    Queued,
    /// At work.
    Running,
    /// Ended well.
    Done,
    /// Ended with an error.
    Failed,
    /// Ended, but was not allowed to do what it wanted.
    Denied,
    /// Its work did not pass the check.
    CheckFailed,
    /// The provider's quota is used up.
    Quota,
    /// Reached its budget of money or tokens.
    OverBudget,
    /// Reached its number of turns.
    TurnLimit,
    /// Wrote too much.
    OutputLimit,
    /// Took too long.
    Timeout,
    /// Was stopped by its caller.
    Cancelled,
    /// Ended without a word: a crash.
    Lost,
}

impl Status {
    /// Its name, as it stands in records and lists.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::CheckFailed => "check-failed",
            Self::Quota => "quota",
            Self::OverBudget => "over-budget",
            Self::TurnLimit => "turn-limit",
            Self::OutputLimit => "output-limit",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Lost => "lost",
        }
    }

    /// Whether nothing more will happen.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }

    /// The exit code of a managed dispatch that ended so; one that has not ended is no failure.
    pub fn exit(self) -> Exit {
        match self {
            Self::Queued | Self::Running | Self::Done => Exit::Done,
            Self::Failed | Self::Denied | Self::CheckFailed | Self::Lost => Exit::CouldNot,
            Self::Quota => Exit::Unavailable,
            Self::OverBudget | Self::TurnLimit | Self::OutputLimit => Exit::Busy,
            Self::Timeout => Exit::TimedOut,
            Self::Cancelled => Exit::Cancelled,
        }
    }
}

/// A process for sure: its number may be given again, its start time with it never.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// The process id.
    pub pid: u32,
    /// The system's own mark of when it started.
    pub start_time: Option<String>,
}

/// Why a dispatch did not end well.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// What kind of failure: `key`, `model`, `url`, `quota`, `overloaded`, `denied`, `other`, …
    pub kind: String,
    /// In words.
    pub text: String,
}

/// One try at the task.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Its number, from 1.
    pub n: u32,
    /// Who tried.
    pub worker: String,
    /// When it began.
    pub started_at: String,
    /// When it ended.
    pub ended_at: Option<String>,
    /// How it ended.
    pub status: Status,
    /// Why.
    pub reason: Option<String>,
}

/// Something the worker was not allowed to do.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Denial {
    /// The tool.
    pub tool: String,
    /// What it wanted to do with it.
    pub what: String,
}

/// A command that judged the work.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Check {
    /// The command, as it was given.
    pub command: String,
    /// How it ended; nothing when it was stopped.
    pub exit_code: Option<i32>,
    /// How long it took.
    pub ms: u64,
    /// The end of what it printed.
    pub tail: String,
    /// Whether it failed before the work began; nothing when nobody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_before: Option<bool>,
}

/// The tokens of one model.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Tokens {
    /// Read for the first time.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
    /// Read and kept in the provider's cache.
    pub cache_creation: u64,
    /// Read again from the provider's cache.
    pub cache_read: u64,
}

/// The whole record. Fields that pass-through never fills are there for managed dispatches.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// The format: 1.
    pub version: u32,
    /// The dispatch.
    pub id: String,
    /// Its title, for lists.
    pub title: Option<String>,
    /// Who works.
    pub worker: String,
    /// `provider` or `account`.
    pub kind: String,
    /// The role it plays.
    pub role: Option<String>,
    /// The tier it works at.
    pub tier: Option<String>,
    /// The model asked for.
    pub model: Option<String>,
    /// The session that gave the work away.
    pub manager_session: Option<String>,
    /// The tool use that gave it away.
    pub tool_use_id: Option<String>,
    /// The worker's own sessions.
    pub worker_sessions: Vec<String>,
    /// Where it works.
    pub cwd: String,
    /// The repository there.
    pub repo: Option<String>,
    /// Its own work tree.
    pub worktree: Option<String>,
    /// Its branch.
    pub branch: Option<String>,
    /// The commit it began from.
    pub base_commit: Option<String>,
    /// The commit it made.
    pub commit: Option<String>,
    /// Claude Code's process.
    pub pid: Option<u32>,
    /// The start mark of that process.
    pub start_time: Option<String>,
    /// mo-spawn's own process.
    pub supervisor: Option<Process>,
    /// Which Claude Code.
    pub claude_version: Option<String>,
    /// `pass-through` or `managed`.
    pub args_mode: String,
    /// Where it stands.
    pub status: Option<Status>,
    /// Claude Code's exit code.
    pub exit_code: Option<i32>,
    /// Why it did not end well.
    pub error: Option<Failure>,
    /// When it was asked for.
    pub queued_at: Option<String>,
    /// When it began.
    pub started_at: Option<String>,
    /// When it ended.
    pub ended_at: Option<String>,
    /// Its tries.
    pub attempts: Vec<Attempt>,
    /// Tokens by model.
    pub usage: BTreeMap<String, Tokens>,
    /// What it cost, where the price is known.
    pub cost_usd: Option<f64>,
    /// `list`, `flat` or `unknown`.
    pub cost_basis: Option<String>,
    /// What judged the work, as it came out last.
    pub checks: Vec<Check>,
    /// What was denied.
    pub denials: Vec<Denial>,
    /// The files it changed.
    pub files: Vec<String>,
    /// The worker's last words.
    pub summary: Option<String>,
    /// The report that its role asks for, as the worker gave it.
    pub report: Option<serde_json::Value>,
    /// Where that differs from what happened.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disagreements: Vec<String>,
    /// Where the whole prompt lies.
    pub prompt_path: Option<String>,
    /// Where the events lie.
    pub events_path: Option<String>,
    /// How to go on with it.
    pub resume: Option<String>,
    /// When the quota is renewed that ended it, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<String>,
    /// The dispatch that goes on with this one's task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continued_by: Option<String>,
    /// What the user should know of how it went.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The flags it was asked for with; going on with it takes them again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<String>,
    /// The dispatch whose worker session it goes on with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continues: Option<String>,
}

impl Record {
    /// Where the record of this dispatch lies: a directory a month.
    pub fn path(paths: &Paths, id: &DispatchId, asked: Timestamp) -> Result<PathBuf> {
        let month = rfc3339(asked).get(..7).unwrap_or_default().to_owned();
        Ok(paths.dispatch()?.join(month).join(format!("{id}.json")))
    }

    /// Writes the record, whole.
    pub fn write(&self, path: &Path) -> Result<()> {
        if let Some(directory) = path.parent() {
            file::create_private_dir(directory)?;
        }
        document::replace(path, self, Durability::Lazy)
    }

    /// Reads a record.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        document::read(path)
    }

    /// Lets hooks and the ledger find this dispatch by the session that gave it away.
    pub fn index(&self, paths: &Paths, record: &Path) -> Result<()> {
        let Some(session) = self.manager_session.as_deref().filter(|session| is_session(session)) else {
            return Ok(());
        };
        let directory = paths.dispatches_of(session)?;
        file::create_private_dir(&directory)?;
        let link = directory.join(&self.id);
        // Relative, so that the root can be moved as a whole.
        let month = record.parent().and_then(Path::file_name).map(PathBuf::from).unwrap_or_default();
        let target = Path::new("../..").join(month).join(record.file_name().unwrap_or_default());
        match std::os::unix::fs::symlink(target, &link) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(Error::io("cannot create", &link, &error))
            }
            _ => Ok(()),
        }
    }
}

/// The records of the dispatches that this session gave away; unreadable ones are left out.
pub fn of_session(paths: &Paths, session: &str) -> Result<Vec<Record>> {
    if !is_session(session) {
        return Ok(Vec::new());
    }
    let directory = paths.dispatches_of(session)?;
    let Ok(entries) = fs::read_dir(&directory) else { return Ok(Vec::new()) };
    Ok(entries.flatten().filter_map(|entry| Record::read(&entry.path()).ok().flatten()).collect())
}

/// Whether this can be a session's id, and so a directory's name.
pub fn is_session(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::Env;

    #[test]
    fn a_record_is_found_by_its_session() {
        let home = tempfile::tempdir().unwrap();
        let env: Env = [("HOME", home.path())].into_iter().collect();
        let paths = Paths::of(&env);
        let now = "2026-02-03T04:05:06Z".parse().unwrap();
        let id = DispatchId::new(now);
        let record = Record {
            version: 1,
            id: id.to_string(),
            worker: "glm".into(),
            manager_session: Some("5e55-10n".into()),
            status: Some(Status::CheckFailed),
            ..Record::default()
        };
        let path = Record::path(&paths, &id, now).unwrap();
        assert!(path.to_string_lossy().contains("/.dispatch/2026-02/d-"));
        record.write(&path).unwrap();
        record.index(&paths, &path).unwrap();
        let found = of_session(&paths, "5e55-10n").unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].status, Some(Status::CheckFailed));
        assert!(fs::read_to_string(&path).unwrap().contains("\"check-failed\""));
        assert!(of_session(&paths, "../..").unwrap().is_empty());
    }
}
