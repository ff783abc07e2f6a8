//! How a managed dispatch ends: its status and why.

use shared::api_error::Trouble;
use shared::exit::Exit;
use shared::record::{Failure, Record, Status};

use super::frame::Over;
use super::talk::Talk;

/// A status, and why.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Ending {
    /// The status.
    pub status: Status,
    /// What went wrong.
    pub error: Option<Failure>,
}

impl Ending {
    /// All is well.
    pub fn done() -> Self {
        Self { status: Status::Done, error: None }
    }

    /// It ended so, for this reason.
    pub fn of(status: Status, kind: &str, text: impl Into<String>) -> Self {
        Self { status, error: Some(Failure { kind: kind.to_owned(), text: text.into() }) }
    }

    /// Stopped from outside.
    pub fn stopped(text: &str) -> Self {
        Self::of(Status::Cancelled, "stopped", text)
    }

    /// What an API error or a failed turn means; nothing where the turn went well.
    pub fn of_turn(talk: &Talk, over: &Over) -> Option<Self> {
        let failure = talk.error.clone().filter(|_| over.is_error).or_else(|| over.api_failure());
        if let Some(failure) = failure {
            let trouble = failure.trouble();
            let status = if trouble == Trouble::Quota { Status::Quota } else { Status::Failed };
            let code = failure.status.map(|code| format!(" ({code})")).unwrap_or_default();
            return Some(Self::of(status, trouble.name(), format!("{}{code}", trouble.text())));
        }
        if over.subtype == "error_max_turns" {
            return Some(Self::of(Status::TurnLimit, "turns", "it reached its number of turns"));
        }
        (over.is_error || over.subtype.starts_with("error"))
            .then(|| Self::of(Status::Failed, "other", over.trouble()))
    }
}

/// The exit code of mo-spawn: the status's, and of a refusal that of its trouble.
pub fn exit(record: &Record) -> Exit {
    let status = record.status.unwrap_or(Status::Failed);
    let trouble = record.error.as_ref().and_then(|error| Trouble::named(&error.kind));
    match trouble {
        Some(trouble) if status == Status::Failed => trouble.exit(),
        _ => status.exit(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(json: &str) -> Over {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_turn_is_told_as_what_it_was() {
        let of = |json: &str| Ending::of_turn(&Talk::default(), &over(json));
        assert_eq!(of(r#"{"subtype":"success","result":"fine"}"#), None);
        let quota = of(
            r#"{"subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":429}"#,
        );
        assert_eq!(quota.unwrap().status, Status::Quota);
        let turns = of(r#"{"subtype":"error_max_turns","is_error":true,"errors":["x"]}"#);
        assert_eq!(turns.unwrap().status, Status::TurnLimit);
        let other = of(r#"{"subtype":"error_during_execution","errors":["a","b"]}"#).unwrap();
        assert_eq!((other.status, other.error.unwrap().text.as_str()), (Status::Failed, "a; b"));
    }

    #[test]
    fn a_refused_key_has_its_own_exit_code() {
        let record = |status, kind: &str| Record {
            status: Some(status),
            error: Some(Failure { kind: kind.into(), text: String::new() }),
            ..Record::default()
        };
        assert_eq!(exit(&record(Status::Failed, "key")), Exit::Key);
        assert_eq!(exit(&record(Status::Quota, "quota")), Exit::Unavailable);
        assert_eq!(exit(&record(Status::CheckFailed, "check")), Exit::CouldNot);
    }
}
