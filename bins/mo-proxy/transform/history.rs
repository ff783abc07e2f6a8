//! The conversation so far: thinking that another wrote is left out, and references to tools that only Anthropic
//! resolves become words.

use super::minted::Minted;
use super::{Shaping, is_type};
use crate::route::{Leg, Way};
use crate::scan::Value;
use crate::scan::edit::{Fate, quoted};

/// Stands for a turn that held nothing but left-out thinking: an empty one is refused.
const NOTHING: &str = r#"[{"type":"text","text":"(no text)"}]"#;

/// Shapes the messages. Tells whether the turn that the next answer goes on from has lost its thinking.
pub fn shape(shaping: &mut Shaping<'_>, leg: &Leg, minted: &Minted) -> bool {
    let Some(messages) = shaping.body.get("messages") else { return false };
    // Most requests hold neither, and are told so without a walk.
    let holds = |needle: &str| memchr::memmem::find(messages.raw(), needle.as_bytes()).is_some();
    let (thinking, references) = (holds("thinking\""), holds("tool_reference"));
    let to_provider = matches!(leg.way, Way::Provider(_));
    if !(thinking || references && to_provider) {
        return false;
    }
    let mut interrupted = false;
    let (mut edited, mut referred) = (false, false);
    for message in messages.items() {
        let Some(content) = message.get("content").filter(|content| content.is_array()) else { continue };
        if is_role(message, "assistant") {
            interrupted = thinking && left_out(shaping, content, leg, minted);
            edited |= interrupted;
        } else if references && to_provider {
            referred |= in_words(shaping, content);
        }
    }
    if edited {
        shaping.note("thinking-blocks");
    }
    if referred {
        shaping.note("tool-references");
    }
    interrupted
}

fn is_role(message: Value<'_>, role: &str) -> bool {
    message.get("role").is_some_and(|own| own.is_text(role))
}

/// Leaves thinking out that may not go there; tells whether there was any.
fn left_out(shaping: &mut Shaping<'_>, content: Value<'_>, leg: &Leg, minted: &Minted) -> bool {
    let goes = |block: Value<'_>| {
        let thinks = is_type(block, "thinking") || is_type(block, "redacted_thinking");
        !thinks || minted.may_go(block, leg)
    };
    let (mut all, mut kept) = (0, 0);
    for block in content.items() {
        all += 1;
        kept += usize::from(goes(block));
    }
    if kept == all {
        return false;
    }
    if kept == 0 {
        shaping.edits.replace(content, NOTHING);
    } else {
        shaping.edits.array(content, |_, block| if goes(block) { Fate::Keep } else { Fate::Drop });
    }
    true
}

/// References in results of tools become words; tells whether there were any.
fn in_words(shaping: &mut Shaping<'_>, content: Value<'_>) -> bool {
    let mut any = false;
    for block in content.items().filter(|block| is_type(*block, "tool_result")) {
        let Some(inner) = block.get("content") else { continue };
        any |= shaping.edits.array(inner, |_, item| {
            if !is_type(item, "tool_reference") {
                return Fate::Keep;
            }
            let name = item.get("tool_name").and_then(Value::text).unwrap_or_default();
            let words = quoted(&format!("The tool {name} can be used now."));
            Fate::Replace(format!(r#"{{"type":"text","text":{words}}}"#))
        });
    }
    any
}
