//! Prompt-cache markers for a request to Anthropic that has none, where the user asked for them.
//! Anthropic takes at most four in a request, the top-level one counted; reads tools, then system, then messages; and
//! refuses one on an empty text or on thinking. A client that sets markers knows better: then none is added.

#[cfg(test)]
mod tests;

use crate::scan::edit::{Edits, Fate};
use crate::scan::{Body, Value};

/// The marker: five minutes, so that none lasts longer than one before it.
const MARKER: &str = r#"{"type":"ephemeral"}"#;

/// Adds markers where they serve the next request: behind the tools, the system prompt, and the two newest messages
/// of the user. Tells whether any was added.
pub fn add(body: &Body<'_>, edits: &mut Edits) -> bool {
    if is_marked(body) {
        return false;
    }
    let last_of = |name: &str| body.get(name).filter(|value| value.is_array()).and_then(last);
    let mut added = last_of("tools").is_some_and(|tool| mark(tool, edits));
    if let Some(system) = body.get("system") {
        added |= mark_content(system, edits);
    }
    let users: Vec<Value<'_>> = body
        .get("messages")
        .into_iter()
        .flat_map(Value::items)
        .filter(|message| message.get("role").is_some_and(|role| role.is_text("user")))
        .collect();
    for message in users.iter().rev().take(2) {
        added |= message.get("content").is_some_and(|content| mark_content(content, edits));
    }
    added
}

/// Whether the client has set a marker anywhere.
fn is_marked(body: &Body<'_>) -> bool {
    let marked = |value: Value<'_>| value.get("cache_control").is_some_and(|marker| !marker.is_null());
    let blocks_marked = |content: Value<'_>| {
        content
            .items()
            .any(|block| marked(block) || block.get("content").is_some_and(|inner| inner.items().any(marked)))
    };
    marked(body.whole())
        || body.get("tools").is_some_and(|tools| tools.items().any(marked))
        || body.get("system").is_some_and(blocks_marked)
        || body.get("messages").is_some_and(|messages| {
            messages
                .items()
                .any(|message| marked(message) || message.get("content").is_some_and(blocks_marked))
        })
}

fn last(array: Value<'_>) -> Option<Value<'_>> {
    array.items().filter(|item| item.is_object()).last()
}

/// Marks a content: the last block that can bear it, or a text that becomes a block.
fn mark_content(content: Value<'_>, edits: &mut Edits) -> bool {
    if let Some(text) = content.text() {
        if text.trim().is_empty() {
            return false;
        }
        let raw = String::from_utf8_lossy(content.raw());
        edits.replace(content, format!(r#"[{{"type":"text","text":{raw},"cache_control":{MARKER}}}]"#));
        return true;
    }
    let bearing = content.items().filter(|block| can_bear(*block)).last();
    bearing.is_some_and(|block| mark(block, edits))
}

/// Whether a block can bear a marker.
fn can_bear(block: Value<'_>) -> bool {
    let Some(kind) = block.get("type").and_then(Value::text) else { return false };
    match kind.as_ref() {
        "thinking" | "redacted_thinking" => false,
        "text" => block.get("text").and_then(Value::text).is_some_and(|text| !text.trim().is_empty()),
        _ => true,
    }
}

fn mark(object: Value<'_>, edits: &mut Edits) -> bool {
    // A null in its place makes way.
    let fate = |member: &crate::scan::value::Member<'_>| {
        if member.name.is("cache_control") { Fate::Drop } else { Fate::Keep }
    };
    edits.object(object, fate, &[("cache_control", MARKER.to_owned())])
}
