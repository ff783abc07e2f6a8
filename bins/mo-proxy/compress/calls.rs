//! The calls of tools in a conversation and their results: which result can be had again, and which is the only copy
//! of something.

use std::collections::HashMap;

use crate::scan::Value;

/// Tools whose output can be had again, or is stale by then.
const AGAIN: [&str; 7] = ["Bash", "BashOutput", "Glob", "Grep", "LS", "WebFetch", "WebSearch"];
/// A reading shorter than this may only say that nothing has changed since the one before: no copy.
const SHORTEST_COPY: usize = 300;

/// What a result is a copy of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Copy {
    /// Of nothing: it can be had again.
    None,
    /// Of a file that a later result shows whole again.
    Repeated,
    /// Of something that stands nowhere else, as far as we know.
    Only,
}

/// One result.
#[derive(Clone, Debug)]
pub struct Called<'a> {
    /// Where its content stands.
    pub content: Value<'a>,
    /// Its text; nothing where it is more than text.
    pub text: Option<String>,
    /// The message it stands in.
    pub message: usize,
    /// What it is a copy of.
    pub copy: Copy,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub struct Calls<'a> {
    /// The results that went well, in their order.
    pub results: Vec<Called<'a>>,
}

/// What was called.
enum Tool {
    Again,
    Read { path: String, whole: bool },
    Other,
}

impl<'a> Calls<'a> {
    /// Reads the messages.
    pub fn read(messages: &[Value<'a>]) -> Self {
        let mut tools: HashMap<String, Tool> = HashMap::new();
        let mut calls = Self::default();
        let mut paths: Vec<Option<(String, bool)>> = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            for block in message.get("content").into_iter().flat_map(Value::items) {
                let id = |name: &str| block.get(name).and_then(Value::text).map(std::borrow::Cow::into_owned);
                if block.get("type").is_some_and(|kind| kind.is_text("tool_use")) {
                    tools.extend(id("id").map(|id| (id, tool(block))));
                } else if block.get("type").is_some_and(|kind| kind.is_text("tool_result")) {
                    let failed = block.get("is_error").is_some_and(Value::is_true);
                    let (Some(content), false) = (block.get("content"), failed) else { continue };
                    let text = plain(content);
                    let length = text.as_deref().map_or(0, str::len);
                    let (copy, path) = match id("tool_use_id").and_then(|id| tools.get(&id)) {
                        Some(Tool::Again) => (Copy::None, None),
                        Some(Tool::Read { path, whole }) if length >= SHORTEST_COPY => {
                            (Copy::Only, Some((path.clone(), *whole)))
                        }
                        _ => (Copy::Only, None),
                    };
                    calls.results.push(Called { content, text, message: at, copy });
                    paths.push(path);
                }
            }
        }
        // From the end: the newest whole reading of a file stays, the older ones can go.
        let mut shown: Vec<&str> = Vec::new();
        for (result, path) in calls.results.iter_mut().zip(&paths).rev() {
            let Some((path, whole)) = path else { continue };
            if shown.contains(&path.as_str()) {
                result.copy = Copy::Repeated;
            } else if *whole {
                shown.push(path);
            }
        }
        calls
    }
}

fn tool(block: Value<'_>) -> Tool {
    let name = block.get("name").and_then(Value::text).unwrap_or_default();
    if AGAIN.contains(&name.as_ref()) {
        return Tool::Again;
    }
    let input = block.get("input");
    let part = |name: &str| input.and_then(|input| input.get(name)).filter(|value| !value.is_null());
    match part("file_path").and_then(Value::text) {
        Some(path) if name == "Read" => {
            let whole = ["offset", "limit", "pages"].into_iter().all(|name| part(name).is_none());
            Tool::Read { path: path.into_owned(), whole }
        }
        _ => Tool::Other,
    }
}

/// A content that is text and nothing else, no marker either.
fn plain(content: Value<'_>) -> Option<String> {
    if let Some(text) = content.text() {
        return Some(text.into_owned());
    }
    let mut all = String::new();
    for block in content.items() {
        let is_text = block.get("type").is_some_and(|kind| kind.is_text("text"));
        if !is_text || block.get("cache_control").is_some() {
            return None;
        }
        all.push_str(&block.get("text").and_then(Value::text)?);
    }
    content.is_array().then_some(all)
}
