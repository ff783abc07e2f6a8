//! What a managed dispatch tells while it runs: one JSON line each, written by mo-spawn and read by whoever
//! drives it (contracts: "mo-spawn's channels").

use std::io::{self, Write};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::rfc3339;
use crate::record::{Denial, Record, Status, Tokens};

/// The format of these lines.
const FORMAT: u32 = 1;

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Event {
    /// The format: 1.
    pub v: u32,
    /// When, RFC 3339.
    pub ts: String,
    /// The dispatch.
    pub id: String,
    /// What happened.
    #[serde(flatten)]
    pub kind: Kind,
}

/// What happened.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// The dispatch stands elsewhere now.
    State {
        /// Where.
        status: Status,
    },
    /// It goes on.
    Progress {
        /// The turn, from 1.
        turn: u32,
        /// The tool at work.
        #[serde(default)]
        tool: Option<String>,
        /// What the worker said last, flattened and short.
        #[serde(default)]
        text: Option<String>,
        /// Since the start.
        elapsed_ms: u64,
    },
    /// Tokens of one model so far in this dispatch.
    Usage {
        /// The model.
        model: String,
        /// How many.
        #[serde(flatten)]
        tokens: Tokens,
    },
    /// The plan's limits as the client tells them.
    RateLimit {
        /// The client's own object, untouched.
        info: Value,
    },
    /// Something was not allowed.
    Denial(Denial),
    /// A note or a question of the worker, or what somebody told it.
    Message {
        /// `worker` or `caller`.
        from: String,
        /// The words.
        text: String,
    },
    /// A check has run.
    Check {
        /// Its command.
        command: String,
        /// How it ended; nothing when it was stopped.
        exit_code: Option<i32>,
    },
    /// The end.
    End {
        /// The record as it was closed; not flattened, since it has a `kind` of its own.
        record: Box<Record>,
    },
    /// What a newer program tells: to be passed over.
    #[serde(other)]
    Unknown,
}

impl Event {
    /// This happened now.
    pub fn new(now: Timestamp, id: &str, kind: Kind) -> Self {
        Self { v: FORMAT, ts: rfc3339(now), id: id.to_owned(), kind }
    }

    /// Reads a line; nothing where it is none of ours.
    pub fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    /// Writes one whole line at once.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        to.write_all(&line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: Kind) -> String {
        let mut out = Vec::new();
        let now = "2026-02-03T04:05:06Z".parse().unwrap();
        Event::new(now, "d-1", kind).write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_kind_is_one_line_and_is_read_back() {
        let tokens = Tokens { input: 1, output: 2, cache_creation: 3, cache_read: 4 };
        let record = Record { id: "d-1".into(), status: Some(Status::Done), ..Record::default() };
        let kinds = [
            Kind::State { status: Status::CheckFailed },
            Kind::Progress { turn: 2, tool: Some("Bash".into()), text: Some("a\nb".into()), elapsed_ms: 7 },
            Kind::Usage { model: "glm-5.2".into(), tokens },
            Kind::RateLimit { info: serde_json::json!({"status": "allowed"}) },
            Kind::Denial(Denial { tool: "Bash".into(), what: "rm".into() }),
            Kind::Message { from: "worker".into(), text: "which?".into() },
            Kind::Check { command: "make test".into(), exit_code: Some(1) },
            Kind::End { record: Box::new(record) },
        ];
        for kind in kinds {
            let text = line(kind);
            assert_eq!(text.matches('\n').count(), 1, "{text}");
            let again = Event::parse(&text).unwrap();
            assert_eq!(serde_json::to_value(&again).unwrap(), serde_json::from_str::<Value>(&text).unwrap());
        }
    }

    #[test]
    fn the_shape_is_the_contracts() {
        let tokens = Tokens { input: 1, output: 2, cache_creation: 3, cache_read: 4 };
        assert_eq!(
            line(Kind::Usage { model: "m".into(), tokens }),
            "{\"v\":1,\"ts\":\"2026-02-03T04:05:06.000Z\",\"id\":\"d-1\",\"kind\":\"usage\",\"model\":\"m\",\
             \"input\":1,\"output\":2,\"cache_creation\":3,\"cache_read\":4}\n"
        );
        assert!(
            line(Kind::Denial(Denial { tool: "Bash".into(), what: "x".into() }))
                .contains("\"kind\":\"denial\"")
        );
    }

    #[test]
    fn what_a_newer_program_tells_is_passed_over() {
        let event = Event::parse(r#"{"v":1,"ts":"t","id":"d-1","kind":"weather","sun":true}"#).unwrap();
        assert!(matches!(event.kind, Kind::Unknown));
        assert!(Event::parse("not ours").is_none());
    }
}
