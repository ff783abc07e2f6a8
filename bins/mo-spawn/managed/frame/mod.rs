//! What Claude Code says on its standard output in stream-json, as far as it matters here. Frames and fields that are
//! unknown are passed over: newer clients say more, older ones less.

mod over;
mod said;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use shared::ledger::usage::Usage;

pub use over::Over;
pub use said::{Call, Said};

use said::{AssistantFrame, Figures, what};

/// The most characters of what a tool was to do, or of what went wrong.
const WHAT: usize = 300;

/// One frame.
#[derive(Debug)]
pub enum Frame {
    /// A turn begins.
    Init {
        /// Which Claude Code.
        version: Option<String>,
    },
    /// Something the model said or wants to do.
    Said(Said),
    /// The final figures of a message.
    Counted {
        /// The message.
        id: String,
        /// Its tokens.
        usage: Usage,
    },
    /// Calls of tools that were denied.
    Denied(Vec<String>),
    /// A tool needs leave.
    Asks(Box<Asks>),
    /// What runs in the background now.
    Background(Vec<Background>),
    /// Something in the background has ended; a turn about it follows.
    Notified,
    /// The plan's limits.
    RateLimit(Value),
    /// The client tries a request again.
    Retry(Retry),
    /// What became of a message of ours.
    Lifecycle {
        /// The message.
        uuid: String,
        /// `queued`, `started`, `completed` or `cancelled`.
        state: String,
    },
    /// The turn is over.
    Over(Box<Over>),
    /// A question that was too long to be read.
    TooLong {
        /// The request.
        request: String,
    },
    /// Anything else.
    Other,
}

/// A tool that needs leave.
#[derive(Debug)]
pub struct Asks {
    /// The request.
    pub request: String,
    /// The call.
    pub call: Option<String>,
    /// The tool.
    pub tool: String,
    /// Its input, as it came.
    pub input: Box<RawValue>,
    /// What it is to do.
    pub what: String,
}

/// A request that failed and is tried again: for minutes nothing else may be told.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Retry {
    attempt: u32,
    max_retries: u32,
    error_status: Option<u16>,
}

impl Retry {
    /// In words.
    pub fn text(self) -> String {
        let why =
            self.error_status.map_or("does not answer".to_owned(), |status| format!("answered {status}"));
        format!("the provider {why}: trying again ({} of {})", self.attempt, self.max_retries)
    }
}

/// Something that runs in the background.
#[derive(Clone, Debug, Deserialize)]
pub struct Background {
    /// What it is: `local_agent`, `local_bash`, …
    #[serde(default)]
    pub task_type: String,
}

impl Background {
    /// Whether it is a shell, which may never end.
    pub fn is_shell(&self) -> bool {
        self.task_type.ends_with("bash") || self.task_type.ends_with("shell")
    }
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(rename = "type", borrow)]
    kind: &'a str,
    #[serde(borrow)]
    subtype: Option<&'a str>,
}

impl Frame {
    /// Reads a line.
    pub fn of(line: &[u8]) -> Self {
        Self::read(line).unwrap_or(Self::Other)
    }

    /// What can be told of a line of which only the start is known.
    pub fn of_cut(head: &[u8]) -> Self {
        let text = String::from_utf8_lossy(head);
        let request = text
            .strip_prefix(r#"{"type":"control_request","request_id":""#)
            .and_then(|rest| rest.split('"').next());
        request.map_or(Self::Other, |request| Self::TooLong { request: request.to_owned() })
    }

    fn read(line: &[u8]) -> serde_json::Result<Self> {
        let head: Head = serde_json::from_slice(line)?;
        Ok(match (head.kind, head.subtype) {
            ("assistant", _) => Self::Said(serde_json::from_slice::<AssistantFrame>(line)?.said()),
            ("stream_event", _) => serde_json::from_slice::<Streamed>(line)?.counted(),
            ("user", _) => serde_json::from_slice::<Results>(line)?.denied(),
            ("result", _) => Self::Over(Box::new(serde_json::from_slice(line)?)),
            ("system", Some("init")) => {
                Self::Init { version: serde_json::from_slice::<Init>(line)?.claude_code_version }
            }
            ("system", Some("background_tasks_changed")) => {
                Self::Background(serde_json::from_slice::<Changed>(line)?.tasks)
            }
            ("system", Some("task_notification")) => Self::Notified,
            ("system", Some("api_retry")) => Self::Retry(serde_json::from_slice(line)?),
            ("system", Some("permission_denied")) => {
                Self::Denied(serde_json::from_slice::<Refused>(line)?.tool_use_id.into_iter().collect())
            }
            ("control_request", _) => serde_json::from_slice::<Request>(line)?.asks(),
            ("rate_limit_event", _) => {
                Self::RateLimit(serde_json::from_slice::<RateLimit>(line)?.rate_limit_info)
            }
            ("command_lifecycle", _) => {
                let Life { command_uuid, state } = serde_json::from_slice(line)?;
                Self::Lifecycle { uuid: command_uuid, state }
            }
            _ => Self::Other,
        })
    }
}

#[derive(Debug, Deserialize)]
struct Refused {
    tool_use_id: Option<String>,
}

#[derive(Deserialize)]
struct Init {
    claude_code_version: Option<String>,
}

#[derive(Deserialize)]
struct Changed {
    #[serde(default)]
    tasks: Vec<Background>,
}

#[derive(Deserialize)]
struct RateLimit {
    #[serde(default)]
    rate_limit_info: Value,
}

#[derive(Deserialize)]
struct Life {
    command_uuid: String,
    state: String,
}

#[derive(Deserialize)]
struct Streamed {
    event: Event,
    api_message_id: Option<String>,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type", default)]
    kind: String,
    usage: Option<Figures>,
}

impl Streamed {
    fn counted(self) -> Frame {
        match (self.event.kind.as_str(), self.event.usage, self.api_message_id) {
            ("message_delta", Some(figures), Some(id)) => Frame::Counted { id, usage: figures.into() },
            _ => Frame::Other,
        }
    }
}

#[derive(Deserialize)]
struct Results {
    #[serde(default)]
    tool_result_meta: Vec<Meta>,
}

#[derive(Deserialize)]
struct Meta {
    id: Option<String>,
    permission_decision: Option<Decision>,
}

#[derive(Deserialize)]
struct Decision {
    #[serde(default)]
    decision: String,
}

impl Results {
    fn denied(self) -> Frame {
        let denied = self.tool_result_meta.into_iter().filter(|meta| {
            meta.permission_decision.as_ref().is_some_and(|decision| decision.decision == "reject")
        });
        let denied: Vec<String> = denied.filter_map(|meta| meta.id).collect();
        if denied.is_empty() { Frame::Other } else { Frame::Denied(denied) }
    }
}

#[derive(Deserialize)]
struct Request {
    request_id: String,
    request: Question,
}

#[derive(Deserialize)]
struct Question {
    #[serde(default)]
    subtype: String,
    tool_name: Option<String>,
    input: Option<Box<RawValue>>,
    tool_use_id: Option<String>,
}

impl Request {
    fn asks(self) -> Frame {
        match (self.request.subtype.as_str(), self.request.tool_name, self.request.input) {
            ("can_use_tool", Some(tool), Some(input)) => Frame::Asks(Box::new(Asks {
                request: self.request_id,
                call: self.request.tool_use_id,
                what: what(&input),
                tool,
                input,
            })),
            // Whatever it is, it waits for an answer.
            _ => Frame::TooLong { request: self.request_id },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Frame {
        Frame::of(line.as_bytes())
    }

    #[test]
    fn what_the_model_says_and_does_is_read() {
        let line = r#"{"type":"assistant","message":{"id":"m1","model":"glm","content":[{"type":"text","text":"now"},
            {"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls\n-l","extra":[1]}}],
            "usage":{"input_tokens":4,"output_tokens":1,"cache_creation":{"ephemeral_1h_input_tokens":2},
            "cache_creation_input_tokens":3,"cache_read_input_tokens":null}},"parent_tool_use_id":null,"new":1}"#;
        let Frame::Said(said) = of(line) else { panic!() };
        assert_eq!((said.text.as_str(), said.main, said.error), ("now", true, None));
        assert_eq!((said.tools[0].name.as_str(), said.tools[0].what.as_str()), ("Bash", "ls -l"));
        let usage = Usage { input: 4, output: 1, cache_creation: 3, cache_creation_1h: 2, cache_read: 0 };
        assert_eq!(said.usage, usage);
    }

    #[test]
    fn a_refusal_is_read_from_its_fields() {
        let line = r#"{"type":"assistant","parent_tool_use_id":null,"error":"rate_limit","api_error":"usage_limit_reached",
            "is_api_error_message":true,"api_error_status":429,"api_error_type":"rate_limit_error",
            "api_error_params":{"rate_limit_info":{"resetsAt":1900000000,"status":"rejected"}},
            "message":{"model":"<synthetic>","content":[{"type":"text","text":"limit"}]}}"#;
        let Frame::Said(said) = of(line) else { panic!() };
        assert_eq!((said.error.unwrap().status, said.resets_at), (Some(429), Some(1_900_000_000)));
        let line = r#"{"duration_ms":1,"type":"result","subtype":"success","is_error":true,"result":"no",
            "terminal_reason":"api_error","api_error_status":529,"api_error_type":"overloaded_error"}"#;
        let Frame::Over(over) = of(line) else { panic!() };
        assert_eq!(over.api_failure().unwrap().status, Some(529));
    }

    #[test]
    fn a_question_keeps_its_input_as_it_came_and_a_long_one_keeps_its_number() {
        let line = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool",
            "tool_name":"Bash","input":{"command": "touch x"},"tool_use_id":"t1"}}"#;
        let Frame::Asks(asks) = of(line) else { panic!() };
        assert_eq!((asks.input.get(), asks.what.as_str()), (r#"{"command": "touch x"}"#, "touch x"));
        let head = br#"{"type":"control_request","request_id":"r2","request":{"subtype":"can_use"#;
        assert!(matches!(Frame::of_cut(head), Frame::TooLong { request } if request == "r2"));
        assert!(matches!(Frame::of_cut(br#"{"type":"user""#), Frame::Other));
    }

    #[test]
    fn the_final_figures_come_at_the_end_of_a_message() {
        let line = r#"{"type":"stream_event","event":{"type":"message_delta","usage":{"output_tokens":44}},"api_message_id":"m1"}"#;
        assert!(matches!(of(line), Frame::Counted { id, usage } if id == "m1" && usage.output == 44));
        let delta = r#"{"type":"stream_event","event":{"type":"content_block_delta","delta":{}},"api_message_id":"m1"}"#;
        assert!(matches!(of(delta), Frame::Other));
    }

    #[test]
    fn a_retry_is_told_in_words() {
        let line =
            r#"{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"error_status":529}"#;
        let Frame::Retry(retry) = of(line) else { panic!() };
        assert_eq!(retry.text(), "the provider answered 529: trying again (2 of 10)");
    }

    #[test]
    fn what_is_unknown_or_broken_is_passed_over() {
        for line in ["", "{", "[]", "null", r#"{"type":"weather"}"#, r#"{"type":"assistant","message":7}"#] {
            assert!(matches!(of(line), Frame::Other), "{line}");
        }
    }
}
