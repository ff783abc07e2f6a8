//! What a request asks for: which call of the API, which model, and whether as a stream.

use std::borrow::Cow;

use crate::scan::Body;
use crate::wire::head::Head;

/// A call of the API.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Call {
    /// A message is to be made.
    Messages,
    /// Tokens are to be counted.
    Count,
    /// Anything else: only Anthropic has it.
    Other,
}

/// What is asked for.
#[derive(Debug)]
pub struct Ask<'a> {
    /// The call.
    pub call: Call,
    /// The body, where it is JSON and the call has a model.
    pub body: Option<Body<'a>>,
    /// The model.
    pub model: Option<Cow<'a, str>>,
    /// Whether the answer is wanted as a stream.
    pub stream: bool,
}

impl<'a> Ask<'a> {
    /// Reads it. A body that is no JSON is Anthropic's to refuse.
    pub fn read(head: &Head, bytes: &'a [u8]) -> Self {
        let call = match (head.method(), head.path()) {
            ("POST", "/v1/messages") => Call::Messages,
            ("POST", "/v1/messages/count_tokens") => Call::Count,
            _ => return Self { call: Call::Other, body: None, model: None, stream: false },
        };
        let body = Body::read(bytes).ok();
        let model = body.as_ref().and_then(Body::model);
        let stream = body.as_ref().is_some_and(Body::stream);
        Self { call, body, model, stream }
    }
}
