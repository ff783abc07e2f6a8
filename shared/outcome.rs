//! How a dispatch ended: decided from the exit code and the worker's transcript, and written into its record.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::api_error::Trouble;
use crate::clock::rfc3339;
use crate::error::Result;
use crate::name::Name;
use crate::paths::Paths;
use crate::process;
use crate::record::{Failure, Record, Status};
use crate::session_files::Before;
use crate::transcript::{self, Course};
use crate::worker::{Kind, Worker};

/// How Claude Code's process ended.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Ending {
    /// Its exit code; nothing when nobody saw it end.
    pub exit_code: Option<i32>,
    /// Whether it was stopped from outside.
    pub stopped: bool,
}

/// Decides how it went. What was denied is not done, whatever the exit code says.
pub fn decide(ending: Ending, course: Option<&Course>) -> (Status, Option<Failure>) {
    let failure = |kind: &str, text: String| Some(Failure { kind: kind.to_owned(), text });
    if ending.stopped {
        return (Status::Cancelled, failure("stopped", "it was stopped from outside".to_owned()));
    }
    if let Some(error) = course.and_then(|course| course.error.as_ref()) {
        let trouble = error.trouble();
        let status = if trouble == Trouble::Quota { Status::Quota } else { Status::Failed };
        let code = error.status.map(|status| format!(" ({status})")).unwrap_or_default();
        return (status, failure(trouble.name(), format!("{}{code}", trouble.text())));
    }
    let denials = course.map_or(0, |course| course.denials.len());
    match ending.exit_code {
        _ if denials > 0 => {
            (Status::Denied, failure("denied", count(denials, "action was denied", "actions were denied")))
        }
        Some(0) => (Status::Done, None),
        Some(code) => (Status::Failed, failure("exit", format!("Claude Code ended with exit code {code}"))),
        None if course.is_some() => (Status::Done, None),
        None => (Status::Lost, failure("lost", "it ended without a word".to_owned())),
    }
}

/// What to do about how it ended, where that is known.
pub fn what_next(record: &Record) -> Option<String> {
    let trouble = record.error.as_ref().and_then(|error| Trouble::named(&error.kind))?;
    let worker = &record.worker;
    if trouble == Trouble::Key && record.kind == Kind::Account.name() {
        return Some(format!(
            "its login has expired or was withdrawn: `mo-worker login {worker}` logs it in"
        ));
    }
    Some(trouble.what_next(worker, record.model.as_deref()))
}

fn count(number: usize, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

/// Writes the ending into the record.
pub fn close(record: &mut Record, ending: Ending, course: Option<Course>, now: Timestamp) {
    let (status, error) = decide(ending, course.as_ref());
    record.status = Some(status);
    record.error = error;
    record.exit_code = ending.exit_code;
    record.ended_at = Some(rfc3339(now));
    if let Some(attempt) = record.attempts.last_mut() {
        attempt.status = status;
        attempt.ended_at = Some(rfc3339(now));
        attempt.reason = record.error.as_ref().map(|error| error.text.clone());
    }
    let Some(course) = course else { return };
    record.usage = course.usage;
    record.denials = course.denials;
    record.summary = course.last_words;
    record.claude_version = course.version.or(record.claude_version.take());
}

fn lose(record: &mut Record) {
    record.status = Some(Status::Lost);
    record.error = Some(Failure { kind: "lost".to_owned(), text: "its mo-spawn was killed".to_owned() });
    if let Some(attempt) = record.attempts.last_mut() {
        attempt.status = Status::Lost;
        attempt.reason = record.error.as_ref().map(|error| error.text.clone());
    }
}

/// Whether a process of this record still runs: Claude Code, or the mo-spawn above it, which also lives
/// between two attempts and while checks run.
pub fn is_alive(record: &Record) -> bool {
    worker_is_alive(record) || supervisor_is_alive(record)
}

/// Whether its Claude Code still runs.
pub fn worker_is_alive(record: &Record) -> bool {
    record.pid.is_some_and(|pid| process::is(pid, record.start_time.as_deref()))
}

/// Whether its mo-spawn still runs.
pub fn supervisor_is_alive(record: &Record) -> bool {
    let supervisor = record.supervisor.as_ref();
    supervisor.is_some_and(|process| process::is(process.pid, process.start_time.as_deref()))
}

/// Where the transcripts of this record's worker lie: an account keeps them in a directory of its own. Of a worker
/// that is gone, the usual place.
pub fn projects(paths: &Paths, record: &Record) -> Result<PathBuf> {
    let worker = Name::parse(&record.worker).and_then(|name| Worker::load(paths, &name));
    worker.map(|worker| worker.projects()).or_else(|_| Ok(paths.worker(&record.worker)?.join("projects")))
}

/// Closes a record whose process has gone without anybody watching: an interactive session, or a crash.
/// Tells whether it did.
pub fn settle(path: &Path, projects: &Path, now: Timestamp) -> Result<bool> {
    let Some(mut record) = Record::read(path)? else { return Ok(false) };
    if record.status.is_none_or(Status::is_final) || is_alive(&record) {
        return Ok(false);
    }
    let session = record.worker_sessions.first().cloned().unwrap_or_default();
    let course = transcript::read(projects, &session, &Before::default());
    close(&mut record, Ending::default(), course, now);
    if record.args_mode == "managed" {
        // Its mo-spawn would have closed it: whatever the worker said, nobody has checked it.
        lose(&mut record);
    }
    record.write(path)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api_failure::ApiFailure;
    use crate::record::Denial;
    use crate::worker::{Kind, Profile};

    fn ended(exit_code: i32) -> Ending {
        Ending { exit_code: Some(exit_code), stopped: false }
    }

    #[test]
    fn an_accounts_transcripts_are_looked_for_in_its_own_directory() {
        let home = tempfile::tempdir().unwrap();
        let env: crate::env::Env = [("HOME", home.path())].into_iter().collect();
        let paths = Paths::of(&env);
        let own = home.path().join(".claude-work");
        let folder = paths.worker("work").unwrap();
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("settings.json"), r#"{"env": {}}"#).unwrap();
        let profile = Profile { kind: Kind::Account, config_dir: Some(own.clone()), ..Profile::default() };
        profile.write(&folder).unwrap();
        assert_eq!(Worker::load(&paths, &Name::parse("work").unwrap()).err(), None);
        let of = |worker: &str| {
            projects(&paths, &Record { worker: worker.to_owned(), ..Record::default() }).unwrap()
        };
        assert_eq!(of("work"), own.join("projects"));
        assert_eq!(of("gone"), paths.worker("gone").unwrap().join("projects"));
    }

    #[test]
    fn a_denial_is_not_a_success() {
        let course =
            Course { denials: vec![Denial { tool: "Bash".into(), what: "x".into() }], ..Course::default() };
        assert_eq!(decide(ended(0), Some(&course)).0, Status::Denied);
        assert_eq!(decide(ended(0), Some(&Course::default())).0, Status::Done);
    }

    #[test]
    fn an_api_error_is_told_as_what_it_is() {
        let course = |status: u16, error_type: &str| Course {
            error: Some(ApiFailure {
                status: Some(status),
                error_type: Some(error_type.into()),
                ..ApiFailure::default()
            }),
            ..Course::default()
        };
        let (status, error) = decide(ended(1), Some(&course(429, "rate_limit_error")));
        assert_eq!((status, error.unwrap().kind.as_str()), (Status::Quota, "quota"));
        let (status, error) = decide(ended(1), Some(&course(401, "authentication_error")));
        assert_eq!(
            (status, error.unwrap().text.as_str()),
            (Status::Failed, "the provider refuses the key (401)")
        );
    }

    #[test]
    fn nobody_who_saw_it_and_no_transcript_is_lost() {
        assert_eq!(decide(Ending::default(), None).0, Status::Lost);
        assert_eq!(decide(Ending { stopped: true, exit_code: Some(143) }, None).0, Status::Cancelled);
    }
}
