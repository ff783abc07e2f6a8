//! The environment, read once; every variable that we read is a documented constant here.
//! What a worker's process gets is decided in `child_env`, not here.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// Where the workers live. Default: `~/.claude-workers`.
pub const CLAUDE_WORKERS_ROOT: &str = "CLAUDE_WORKERS_ROOT";
/// `off`, `0`, `false`, `no`, `disabled`: no delegation rules are injected.
pub const DELEGATION: &str = "MODEL_ORCHESTRATION_DELEGATION";
/// `off`, `0`, `false`, `no`, `disabled`: savings are not shown.
pub const SAVINGS: &str = "MODEL_ORCHESTRATION_SAVINGS";
/// A fixed RFC 3339 time in place of the clock; for tests.
pub const NOW: &str = "MODEL_ORCHESTRATION_NOW";
/// The worker this process works for. Set by mo-spawn in the worker.
pub const MO_WORKER: &str = "MO_WORKER";
/// The dispatch this process belongs to. Set by mo-spawn in the worker.
pub const MO_DISPATCH: &str = "MO_DISPATCH";
/// The session that gave the work away. Set by mo-spawn in the worker, and by mo-hook in a manager whose client
/// does not name its session itself.
pub const MO_MANAGER_SESSION: &str = "MO_MANAGER_SESSION";
/// Set by a mo-spawn that goes on in the background, for itself there.
pub const MO_SUPERVISOR: &str = "MO_SUPERVISOR";
/// How deep in workers this process is: unset or 0 in a manager, 1 in a worker.
pub const MO_DEPTH: &str = "MO_DEPTH";
/// Claude Code's configuration directory, where it is not `~/.claude`.
pub const CLAUDE_CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";
/// The running Claude Code's own program, set by it for what it starts.
pub const CLAUDE_CODE_EXECPATH: &str = "CLAUDE_CODE_EXECPATH";
/// The session that started us, set by Claude Code.
pub const CLAUDE_CODE_SESSION_ID: &str = "CLAUDE_CODE_SESSION_ID";
/// A file whose lines the commands of a session start with; set by Claude Code for a hook at its start.
pub const CLAUDE_ENV_FILE: &str = "CLAUDE_ENV_FILE";
/// The tool use that started us, set by Claude Code.
pub const CLAUDE_CODE_TOOL_USE_ID: &str = "CLAUDE_CODE_TOOL_USE_ID";
/// The folder of the plugin whose hook runs, set by Claude Code.
pub const CLAUDE_PLUGIN_ROOT: &str = "CLAUDE_PLUGIN_ROOT";
/// The user's home directory.
pub const HOME: &str = "HOME";
/// Where programs are looked for.
pub const PATH: &str = "PATH";
/// The kind of terminal.
pub const TERM: &str = "TERM";
/// Set to anything: no colour.
pub const NO_COLOR: &str = "NO_COLOR";
/// The directory for sockets of this login; may be missing.
pub const XDG_RUNTIME_DIR: &str = "XDG_RUNTIME_DIR";

/// A snapshot of the environment.
#[derive(Clone, Debug, Default)]
pub struct Env(BTreeMap<OsString, OsString>);

impl Env {
    /// What this process was started with.
    #[expect(clippy::disallowed_methods, reason = "the one place where the environment is read")]
    pub fn of_process() -> Self {
        Self(std::env::vars_os().collect())
    }

    /// The variable's value, an empty one included.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// The variable's value where it is text and not empty.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(OsStr::to_str).filter(|value| !value.is_empty())
    }

    /// Whether the variable is there and not empty.
    pub fn is_set(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !value.is_empty())
    }

    /// Whether a switch of ours was turned off.
    pub fn is_off(&self, name: &str) -> bool {
        self.text(name).is_some_and(is_off)
    }

    /// All variables, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

/// Whether this value of a switch of ours means off.
pub fn is_off(value: &str) -> bool {
    let value = value.trim();
    ["off", "0", "false", "no", "disabled"].iter().any(|off| value.eq_ignore_ascii_case(off))
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Env {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_off_in_any_case() {
        for value in ["off", "OFF", "0", "False", "no", "Disabled", " off "] {
            assert!(is_off(value), "{value}");
        }
        for value in ["", "on", "1", "true", "offline"] {
            assert!(!is_off(value), "{value}");
        }
    }
}
