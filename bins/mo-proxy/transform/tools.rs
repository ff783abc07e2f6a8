//! The tools: those that Anthropic runs itself are left out, and so are hints that only Anthropic reads.

use super::Shaping;
use crate::scan::Value;
use crate::scan::edit::Fate;
use crate::scan::value::Member;

/// The members of a tool that every Messages API understands.
const USUAL: [&str; 5] = ["name", "description", "input_schema", "type", "cache_control"];

/// Shapes the tools. Tells whether any are left (also where there were none to begin with and none is forced).
pub fn shape(shaping: &mut Shaping<'_>, keeps: &impl Fn(&str) -> bool) -> bool {
    let Some(tools) = shaping.body.get("tools") else { return true };
    let runs_elsewhere = |tool: Value<'_>| match tool.get("type").and_then(Value::text) {
        None => true,
        Some(kind) => kind == "custom" || keeps(&kind),
    };
    let (mut left, mut any) = (0, 0);
    for tool in tools.items() {
        any += 1;
        if runs_elsewhere(tool) {
            left += 1;
            let fate = |member: &Member<'_>| {
                let known = USUAL.iter().any(|usual| member.name.is(usual)) || keeps(&member.name.text());
                if known { Fate::Keep } else { Fate::Drop }
            };
            if shaping.edits.object(tool, fate, &[]) {
                shaping.note("tools");
            }
        }
    }
    let fate = |_, tool: Value<'_>| if runs_elsewhere(tool) { Fate::Keep } else { Fate::Drop };
    if shaping.edits.array(tools, fate) {
        shaping.note("tools");
    }
    left > 0 || any == 0
}
