//! Claude Code's arguments for a task.

use std::ffi::OsString;

use crate::options::Task;
use crate::policy::Policy;

/// The permission mode when nobody says.
const MODE: &str = "acceptEdits";

/// The arguments, without a model that nobody named; a session that goes on stands first.
pub fn of(task: &Task, policy: &Policy, session: Option<&str>) -> Vec<OsString> {
    let mut words: Vec<OsString> =
        session.iter().flat_map(|session| ["--resume", *session]).map(Into::into).collect();
    let always = [
        "-p",
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        "--verbose",
        "--permission-prompt-tool",
        "stdio",
        "--permission-mode",
        task.permission_mode.as_deref().unwrap_or(MODE),
    ]
    .map(OsString::from);
    words.extend(always);
    let mut flag = |flag: &str, value: OsString| words.extend([OsString::from(flag), value]);
    if let Some(model) = &task.model {
        flag("--model", model.into());
    }
    if let Some(effort) = &task.effort {
        flag("--effort", effort.into());
    }
    if let Some(file) = &task.told {
        flag("--append-system-prompt-file", file.into());
    }
    if let Some(turns) = task.limits.turns {
        flag("--max-turns", turns.to_string().into());
    }
    // Much is let through by the client itself, without a question: not what a rule may deny.
    let denied = policy.denied_tools();
    if !denied.is_empty() {
        flag("--settings", serde_json::json!({"permissions": {"ask": denied}}).to_string().into());
    }
    // Servers of a project would start unasked, with the account's or the provider's key at hand. A role says itself.
    if task.role.is_none() && !task.allow.iter().any(|tool| tool.starts_with("mcp__")) {
        words.push("--strict-mcp-config".into());
    }
    // Only what comes in pieces tells how much was written before a message is over.
    if task.limits.money.is_some() || task.limits.tokens.is_some() {
        words.push("--include-partial-messages".into());
    }
    words.extend_from_slice(&task.cast);
    words
}
