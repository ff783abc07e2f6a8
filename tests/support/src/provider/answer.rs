//! What the provider may answer, and how slowly.

use std::time::Duration;

use serde_json::{Value, json};

use super::account::Usage;
use super::plan::Plan;

/// One block of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Thinking before the answer.
    Thinking(String),
    /// Text.
    Text(String),
    /// A tool to be run.
    Tool {
        /// Its name.
        name: String,
        /// Its input.
        input: Value,
    },
}

/// What is answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Body {
    /// A message.
    Message(Vec<Block>),
    /// An error as the API words it.
    Failure { status: u16, kind: String, message: String },
    /// Something that is not this API.
    Page { status: u16, content_type: String, text: String },
    /// Nothing, until the client or the provider gives up.
    Hang,
}

/// One answer: what, and how it is delivered.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub(super) body: Body,
    pub(super) headers: Vec<(String, String)>,
    pub(super) usage: Option<Usage>,
    pub(super) first_byte_after: Duration,
    pub(super) pace: Duration,
    pub(super) cut: bool,
}

impl From<Body> for Answer {
    fn from(body: Body) -> Self {
        Self {
            body,
            headers: Vec::new(),
            usage: None,
            first_byte_after: Duration::ZERO,
            pace: Duration::ZERO,
            cut: false,
        }
    }
}

impl Answer {
    /// A message of one text.
    pub fn say(text: impl Into<String>) -> Self {
        Body::Message(vec![Block::Text(text.into())]).into()
    }

    /// A message that asks for one tool.
    pub fn tool(name: &str, input: Value) -> Self {
        Body::Message(vec![Block::Tool { name: name.into(), input }]).into()
    }

    /// A message of these blocks.
    pub fn message(blocks: impl IntoIterator<Item = Block>) -> Self {
        Body::Message(blocks.into_iter().collect()).into()
    }

    /// The error that goes with a status, in the API's own words.
    pub fn fail(status: u16) -> Self {
        let (kind, message) = match status {
            400 => ("invalid_request_error", "the request is not valid"),
            401 => ("authentication_error", "invalid x-api-key"),
            403 => ("permission_error", "this key may not use the specified resource"),
            404 => ("not_found_error", "model not found"),
            413 => ("request_too_large", "request exceeds the maximum size"),
            429 => ("rate_limit_error", "this request would exceed your account's rate limit"),
            529 => ("overloaded_error", "Overloaded"),
            _ => ("api_error", "Internal server error"),
        };
        let answer = Self::error(status, kind, message);
        if status == 429 { answer.header("retry-after", "1") } else { answer }
    }

    /// An error with words of its own.
    pub fn error(status: u16, kind: &str, message: impl Into<String>) -> Self {
        Body::Failure { status, kind: kind.into(), message: message.into() }.into()
    }

    /// The refusal of an account whose plan window (`five_hour`, `seven_day`, …) is used up until `reset`
    /// (seconds since 1970).
    pub fn quota(window: &str, reset: u64) -> Self {
        let mut answer = Self::fail(429);
        answer.headers = Plan::refused(window, reset).headers();
        answer
    }

    /// A page of some other server.
    pub fn page(status: u16, content_type: &str, text: impl Into<String>) -> Self {
        Body::Page { status, content_type: content_type.into(), text: text.into() }.into()
    }

    /// No answer at all.
    pub fn hang() -> Self {
        Body::Hang.into()
    }

    /// One more response header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// With these plan-usage headers, as an account's allowed request has them.
    pub fn within_plan(mut self, window: &str, utilization: f64, reset: u64) -> Self {
        self.headers.extend(Plan::within(window, utilization, reset).headers());
        self
    }

    /// With these tokens instead of the provider's own figures.
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// The first byte comes this late.
    pub fn slow(mut self, wait: Duration) -> Self {
        self.first_byte_after = wait;
        self
    }

    /// This much time between two events of a stream.
    pub fn paced(mut self, pause: Duration) -> Self {
        self.pace = pause;
        self
    }

    /// The connection breaks in the middle.
    pub fn cut(mut self) -> Self {
        self.cut = true;
        self
    }

    pub(super) fn status(&self) -> u16 {
        match &self.body {
            Body::Message(_) => 200,
            Body::Failure { status, .. } | Body::Page { status, .. } => *status,
            Body::Hang => 0,
        }
    }
}

/// The error document of the API.
pub(super) fn error_document(kind: &str, message: &str, request_id: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id})
}
