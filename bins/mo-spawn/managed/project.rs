//! What a task's client reads of the project's own settings. They could allow what no rule stands for, and start
//! programs: hooks, helpers for keys, what a shell reads at its start. Only a trusted project's are read whole.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use shared::error::Result;
use shared::file::{self, Durability};
use shared::role;
use shared::world::World;

/// What a project's shared settings may say without deciding or starting anything. The client itself obeys none of
/// its permissions that allow, until the user has accepted the project in its own dialog.
const HARMLESS: &[&str] = &[
    "$schema",
    "alwaysThinkingEnabled",
    "attribution",
    "cleanupPeriodDays",
    "effortLevel",
    "includeCoAuthoredBy",
    "language",
    "model",
    "permissions",
    "respectGitignore",
];
/// The project's instructions, which the client knows only along with its settings.
const INSTRUCTIONS: [&str; 2] = ["CLAUDE.md", ".claude/CLAUDE.md"];

/// How much is read.
#[derive(Debug)]
pub enum Reading {
    /// Everything: the user trusts it.
    All,
    /// All but the local settings, in which a user's own leave is kept, and a clone may bring one along.
    Shared,
    /// Nothing, instructions included: this file does more than is harmless.
    Nothing(PathBuf),
}

impl Reading {
    /// What is read in this directory, for a task that was asked for from another.
    pub fn of(world: &World, asked_from: &Path, directory: &Path) -> Self {
        if role::trusts(&world.paths, asked_from) {
            return Self::All;
        }
        // Higher up the client looks for no shared settings.
        let path = directory.join(".claude/settings.json");
        match file::read_if_there(&path, file::JSON_CAP) {
            Ok(None) => Self::Shared,
            Ok(Some(bytes)) if is_harmless(&bytes) => Self::Shared,
            _ => Self::Nothing(path),
        }
    }

    /// The client's arguments for that.
    pub fn arguments(&self) -> Vec<OsString> {
        let sources = match self {
            Self::All => return Vec::new(),
            Self::Shared => "user,project",
            Self::Nothing(_) => "user",
        };
        vec!["--setting-sources".into(), sources.into()]
    }

    /// Adds to what the worker is told where the project's instructions stand, if the client does not say them itself.
    pub fn tell(&self, directory: &Path, told: Option<&Path>) -> Result<()> {
        let (Self::Nothing(_), Some(told)) = (self, told) else { return Ok(()) };
        let there: Vec<&str> =
            INSTRUCTIONS.into_iter().filter(|name| directory.join(name).is_file()).collect();
        if there.is_empty() {
            return Ok(());
        }
        let mut text = file::read(told, file::JSON_CAP)?;
        let names = there.join(" and ");
        text.extend(format!("\nBefore you begin, read {names}: the project's instructions.\n").bytes());
        file::replace(told, &text, file::PRIVATE, Durability::Lazy)
    }

    /// What the user should know.
    pub fn note(&self) -> Option<String> {
        let Self::Nothing(path) = self else { return None };
        Some(format!(
            "{} could start programs or decide on tools and was left out, with the project's agents and skills; \
             `mo-spawn roles trust DIR` lets it in",
            path.display()
        ))
    }
}

fn is_harmless(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if text.trim_ascii().is_empty() {
        return true;
    }
    serde_json::from_slice::<Map<String, Value>>(text)
        .is_ok_and(|settings| settings.keys().all(|key| HARMLESS.contains(&key.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_starts_something_is_not_harmless() {
        for harmless in ["", "{}", r#"{"model": "opus", "permissions": {"deny": ["Read(.env)"]}}"#] {
            assert!(is_harmless(harmless.as_bytes()), "{harmless}");
        }
        let harmful = [
            r#"{"hooks": {}}"#,
            r#"{"apiKeyHelper": "x"}"#,
            r#"{"env": {"BASH_ENV": "x"}}"#,
            r#"{"\u0068ooks": {}}"#,
            r#"{"model": "\ud800", "hooks": {}}"#,
            "[]",
            "{",
        ];
        for harmful in harmful {
            assert!(!is_harmless(harmful.as_bytes()), "{harmful}");
        }
    }
}
