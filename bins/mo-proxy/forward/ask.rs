//! What a request asks for: which call of the API, which model, and whether as a stream.

use std::borrow::Cow;

use super::whose;
use crate::agents::named::{START, beginning};
use crate::config::names::is_anthropics;
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
    /// How the prompt of a subagent begins.
    pub prompt: Option<String>,
    /// Why it cannot be told whose model is asked for: then nobody is asked.
    pub doubt: Option<String>,
}

impl<'a> Ask<'a> {
    /// Reads it. Where it begins with one of Anthropic's models, nothing further on looks like another one, and nothing
    /// that the user turned on wants to change it, the rest is not read: it goes there as it came.
    pub fn read(head: &Head, bytes: &'a [u8], changes: bool) -> Self {
        let call = match (head.method(), head.path()) {
            ("POST", "/v1/messages") => Call::Messages,
            ("POST", "/v1/messages/count_tokens") => Call::Count,
            _ => return Self::unread(Call::Other, whose::elsewhere(head, bytes)),
        };
        if let Some(doubt) = whose::packed(head, bytes) {
            return Self::unread(call, Some(doubt));
        }
        let is_subagent = call == Call::Messages && head.get(SUBAGENT).is_some();
        if let Some(model) = first_model(bytes).filter(|model| !changes && is_anthropics(model))
            && !whose::may_follow(bytes)
        {
            // Read on the side: what is no JSON and can name nobody else's model is Anthropic's to refuse.
            let read = is_subagent.then(|| Body::read(bytes).ok()).flatten();
            let prompt = read.as_ref().and_then(prompt);
            let model = Some(Cow::Borrowed(model));
            return Self { call, body: None, model, stream: false, prompt, doubt: None };
        }
        let body = match Body::read(bytes) {
            Err(why) if !bytes.trim_ascii().is_empty() => {
                return Self::unread(call, Some(whose::unreadable(why)));
            }
            read => read.ok(),
        };
        if let Some(doubt) = body.as_ref().and_then(whose::doubt) {
            return Self::unread(call, Some(doubt));
        }
        let model = body.as_ref().and_then(Body::model);
        let stream = body.as_ref().is_some_and(Body::stream);
        let prompt = body.as_ref().filter(|_| is_subagent).and_then(prompt);
        Self { call, body, model, stream, prompt, doubt: None }
    }

    /// One whose body says nothing to us.
    fn unread(call: Call, doubt: Option<String>) -> Self {
        Self { call, body: None, model: None, stream: false, prompt: None, doubt }
    }
}

/// The id of a subagent; only requests of one carry it.
pub const SUBAGENT: &str = "x-claude-code-agent-id";

/// The beginning of the longest text of the system prompt: there an agent's own words stand, first.
fn prompt(body: &Body<'_>) -> Option<String> {
    let system = body.get("system")?;
    let texts = system.items().filter_map(|block| block.get("text"));
    let longest =
        texts.chain([system]).max_by_key(|text| if text.is_array() { 0 } else { text.raw().len() })?;
    let text = longest.text()?;
    // With what stands behind an agent's words: whether a line ends there tells them apart.
    Some(beginning(text.trim_start(), START + 2).to_owned())
}

/// The model, where it is the first member of the body and plainly written.
fn first_model(bytes: &[u8]) -> Option<&str> {
    let rest = bytes.trim_ascii_start().strip_prefix(b"{")?.trim_ascii_start();
    let rest = rest.strip_prefix(b"\"model\"")?.trim_ascii_start();
    let rest = rest.strip_prefix(b":")?.trim_ascii_start().strip_prefix(b"\"")?;
    let name = rest.get(..memchr::memchr2(b'"', b'\\', rest.get(..LONGEST.min(rest.len()))?)?)?;
    let is_whole = rest.get(name.len()) == Some(&b'"');
    std::str::from_utf8(name).ok().filter(|_| is_whole)
}

/// The longest name that is looked for.
const LONGEST: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_stands_first_is_seen_and_what_is_written_oddly_is_left_to_the_scan() {
        for (body, model) in [
            ("{\"model\":\"claude-x\",\"a\":1}", Some("claude-x")),
            (" {\n\"model\" : \"claude-x\"", Some("claude-x")),
            ("{\"model\":\"glm\"}", Some("glm")),
            ("{\"a\":1,\"model\":\"claude-x\"}", None),
            ("{\"model\":\"claude\\u002dx\"}", None),
            ("{\"model\":\"claude-x", None),
            ("{\"model\":7}", None),
            ("[]", None),
            ("", None),
        ] {
            assert_eq!(first_model(body.as_bytes()), model, "{body}");
        }
    }
}
