//! A request as the provider saw it: who asked, with which key, for which model, with what conversation.

use std::time::Duration;

use serde_json::Value;

use super::http::{Wire, header};

/// One recorded request.
#[derive(Debug, Clone)]
pub struct Request {
    /// `GET`, `POST`, …
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// What stands after `?`, or nothing.
    pub query: String,
    /// All headers, in the order and case they came in.
    pub headers: Vec<(String, String)>,
    /// The body, or null when it is no JSON.
    pub body: Value,
    /// The key it was made with: the bearer token, else `x-api-key`.
    pub key: Option<String>,
    /// The model asked for.
    pub model: Option<String>,
    /// The client's session.
    pub session: Option<String>,
    /// The client's subagent.
    pub agent: Option<String>,
    /// Since the provider's start.
    pub at: Duration,
    /// The status it was answered with; 0 while it is not answered.
    pub status: u16,
}

impl Request {
    pub(super) fn new(wire: Wire, at: Duration) -> Self {
        let (path, query) = wire.target.split_once('?').unwrap_or((&wire.target, ""));
        let body: Value = serde_json::from_slice(&wire.body).unwrap_or_default();
        let of = |name: &str| header(&wire.headers, name).map(str::to_owned);
        let bearer = of("authorization").and_then(|value| value.strip_prefix("Bearer ").map(str::to_owned));
        Self {
            path: path.into(),
            query: query.into(),
            key: bearer.or_else(|| of("x-api-key")),
            model: body["model"].as_str().map(str::to_owned),
            session: of("x-claude-code-session-id"),
            agent: of("x-claude-code-agent-id"),
            method: wire.method,
            headers: wire.headers,
            body,
            at,
            status: 0,
        }
    }

    /// A header's value, whatever its case.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// Whether it asks for a message (not only for a count of tokens).
    pub fn is_message(&self) -> bool {
        self.path.ends_with("/v1/messages")
    }

    /// Names of the tools offered.
    pub fn tools(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        tools.iter().filter_map(|tool| tool["name"].as_str()).collect()
    }

    /// The whole system prompt as text.
    pub fn system(&self) -> String {
        texts(&self.body["system"]).join("\n")
    }

    /// Everything the model is given to read, system prompt and messages, as one text: to look for what reached it.
    pub fn everything(&self) -> String {
        let mut pieces = vec![self.system()];
        for message in self.messages() {
            pieces.extend(texts(&message["content"]));
            pieces.extend(results(message).into_iter().map(|(_, text, _)| text));
        }
        pieces.join("\n")
    }

    /// The messages of the conversation.
    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// The newest text a person, or a manager, wrote: what Claude Code wraps around or puts in by itself is left
    /// out. With it, how many turns of the model have followed.
    pub fn prompt(&self) -> (String, usize) {
        let messages = self.messages();
        let mut turns = 0;
        for message in messages.iter().rev() {
            // Claude Code also puts messages of the role `system` between the others.
            match message["role"].as_str() {
                Some("assistant") => turns += 1,
                Some("user") => {
                    let text = written(message);
                    if !text.is_empty() {
                        return (text, turns);
                    }
                }
                _ => {}
            }
        }
        (String::new(), turns)
    }

    /// All that people, or a manager, wrote, the newest first.
    pub fn prompts(&self) -> Vec<String> {
        let own = self.messages().iter().rev().filter(|message| message["role"] == "user");
        own.map(written).filter(|text| !text.is_empty()).collect()
    }

    /// What the model was told last: the texts of the newest tool results, oldest first, or a notification that a
    /// background task has ended.
    pub fn results(&self) -> Vec<String> {
        let told = |message: &Value| {
            let found: Vec<String> = results(message).into_iter().map(|(_, text, _)| text).collect();
            let notes = texts(&message["content"]).into_iter().filter(|text| text.contains(NOTIFICATION));
            if found.is_empty() { notes.collect() } else { found }
        };
        self.messages().iter().rev().map(told).find(|found| !found.is_empty()).unwrap_or_default()
    }

    /// Whether one of the newest tool results is an error.
    pub fn failed(&self) -> bool {
        let newest = self.messages().iter().rev().map(results).find(|found| !found.is_empty());
        newest.unwrap_or_default().iter().any(|(_, _, is_error)| *is_error)
    }
}

/// The tool results in a message: id of the use, text, whether it is an error.
fn results(message: &Value) -> Vec<(String, String, bool)> {
    let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let results = blocks.iter().filter(|block| block["type"] == "tool_result");
    results
        .map(|block| {
            let id = block["tool_use_id"].as_str().unwrap_or_default().to_owned();
            (id, texts(&block["content"]).join("\n"), block["is_error"] == true)
        })
        .collect()
}

/// The texts in a string or a list of blocks.
fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

/// Begins the text in which Claude Code tells that a background task has ended.
const NOTIFICATION: &str = "<task-notification>";
/// What stands in these tags is put in by Claude Code, not written by anyone.
const MACHINE_TAGS: [&str; 5] =
    ["system-reminder", "task-notification", "local-command-caveat", "local-command-stdout", "command-name"];
/// Whole messages that Claude Code writes in the user's name.
const MACHINE_STARTS: [&str; 3] =
    ["Stop hook feedback", "[Request interrupted", "Continue from where you left off"];

fn written(message: &Value) -> String {
    let pieces = texts(&message["content"]).into_iter().map(|text| stripped(&text));
    let pieces: Vec<String> =
        pieces.filter(|text| !MACHINE_STARTS.iter().any(|start| text.starts_with(start))).collect();
    pieces.join("\n").trim().to_owned()
}

fn stripped(text: &str) -> String {
    let mut text = text.to_owned();
    for tag in MACHINE_TAGS {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        while let Some(start) = text.find(&open) {
            let end = text[start..].find(&close).map_or(text.len(), |at| start + at + close.len());
            text.replace_range(start..end, "");
        }
    }
    text.trim().to_owned()
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    /// A request with these messages and tools.
    pub(crate) fn asking(messages: &Value, tools: &[&str]) -> Request {
        let tools: Vec<_> = tools.iter().map(|name| json!({"name": name})).collect();
        let body = json!({"model": "m", "max_tokens": 9, "messages": messages, "tools": tools});
        let wire = Wire {
            target: "/v1/messages?beta=true".into(),
            body: body.to_string().into(),
            ..Wire::default()
        };
        Request::new(wire, Duration::ZERO)
    }

    #[test]
    fn the_prompt_is_what_somebody_wrote() {
        let request = asking(
            &json!([
                {"role": "user", "content": [
                    {"type": "text", "text": "<system-reminder>\n#say no\n</system-reminder>"},
                    {"type": "text", "text": "do it"},
                ]},
                {"role": "system", "content": "# Environment"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "t", "content": "out"},
                    {"type": "text", "text": "<system-reminder>more</system-reminder>"},
                ]},
                {"role": "assistant", "content": "waiting"},
                {"role": "user", "content": "<task-notification>it ended</task-notification>"},
            ]),
            &[],
        );
        assert_eq!(request.prompt(), ("do it".into(), 2));
        assert_eq!(request.results(), ["<task-notification>it ended</task-notification>"]);
    }

    #[test]
    fn the_bearer_comes_before_the_api_key() {
        let headers = [("X-Api-Key", "b"), ("Authorization", "Bearer a.c")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let request =
            Request::new(Wire { headers: headers[..1].to_vec(), ..Wire::default() }, Duration::ZERO);
        assert_eq!(request.key.as_deref(), Some("b"));
        let request = Request::new(Wire { headers: headers.to_vec(), ..Wire::default() }, Duration::ZERO);
        assert_eq!(request.key.as_deref(), Some("a.c"));
    }
}
