//! The system prompt: its first block is a line for Anthropic's billing that differs in every request, and so ruins
//! the prompt cache of everybody else.

use super::Shaping;
use crate::scan::edit::{Fate, quoted};

/// How the line begins.
const BILLING: &str = "x-anthropic-billing-header:";

/// Leaves the line out.
pub fn shape(shaping: &mut Shaping<'_>) {
    let Some(system) = shaping.body.get("system") else { return };
    let edited = if system.is_array() {
        let mut trimmed = Vec::new();
        let dropped = shaping.edits.array(system, |_, block| {
            let Some(value) = block.get("text") else { return Fate::Keep };
            match value.text() {
                Some(text) if is_billing(&text) && rest_of(&text).is_empty() => return Fate::Drop,
                Some(text) if is_billing(&text) => trimmed.push((value, quoted(rest_of(&text)))),
                _ => {}
            }
            Fate::Keep
        });
        let any = dropped || !trimmed.is_empty();
        for (value, rest) in trimmed {
            shaping.edits.replace(value, rest);
        }
        any
    } else {
        match system.text() {
            Some(text) if is_billing(&text) => {
                shaping.edits.replace(system, quoted(rest_of(&text)));
                true
            }
            _ => false,
        }
    };
    if edited {
        shaping.note("billing");
    }
}

fn is_billing(text: &str) -> bool {
    text.trim_start().starts_with(BILLING)
}

/// What stands behind the line.
fn rest_of(text: &str) -> &str {
    text.trim_start().split_once('\n').map_or("", |(_, rest)| rest.trim_start())
}
