//! Whether the failed tool result of an older client says that the tool was denied. Newer clients say so in fields
//! of the row, which `transcript` reads; then nobody asks here.
//!
//! Clients of 2.0.76, 2.1.91 and 2.1.197 have no such field: what they write is frozen, and this is the most stable
//! of it. A shell command that ran and failed always begins with its exit code; each of the many reasons for which
//! it may be denied has words of its own. The other tools fail in many ways and are denied in few.

/// Begins the result of every call that its tool refused to take: no matter of permissions.
const NOT_TAKEN: &str = "<tool_use_error>";
/// Begins the result of a shell command that was run, or stopped by the user.
const RAN: [&str; 2] = ["Exit code ", "[Request interrupted"];
/// Begins the result of another tool that was denied: by nobody being there to ask, by a rule or mode, by a hook.
const DENIED: [&str; 3] = ["Claude requested permissions to ", "Permission to ", "PreToolUse:"];
/// The same for a write in plan mode (2.1.197).
const PLANNING: (&str, &str) = ("Cannot write to ", " while in plan mode.");
/// The tool whose results have an exit code.
const SHELL: &str = "Bash";

/// Judges the text of a tool result that is marked as an error.
pub fn is_denied(tool: &str, text: &str) -> bool {
    if text.starts_with(NOT_TAKEN) {
        return false;
    }
    if tool == SHELL {
        return !RAN.iter().any(|start| text.starts_with(start));
    }
    let planning = text.starts_with(PLANNING.0) && text.ends_with(PLANNING.1);
    planning || DENIED.iter().any(|start| text.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::is_denied;

    #[test]
    fn a_command_without_an_exit_code_never_ran() {
        for text in [
            "This command requires approval",
            "touch in '/w/made' was blocked. For security, Claude Code may only create or modify files in …",
            "Permission to use Bash with command touch made has been denied.",
            "PreToolUse:Bash hook error: [x]: no",
            "not this",
        ] {
            assert!(is_denied("Bash", text), "{text}");
        }
        for text in
            ["Exit code 1", "Exit code 127\nsh: x: not found", "[Request interrupted by user for tool use]"]
        {
            assert!(!is_denied("Bash", text), "{text}");
        }
        assert!(!is_denied("Bash", "<tool_use_error>Error: No such tool available: Bash</tool_use_error>"));
    }

    #[test]
    fn another_tool_is_denied_in_known_words_only() {
        for text in [
            "Claude requested permissions to write to /etc/x, but you haven't granted it yet.",
            "Permission to read /etc/shadow has been denied.",
            "Cannot write to /w/made while in plan mode.",
        ] {
            assert!(is_denied("Write", text), "{text}");
        }
        for text in
            ["ENOENT: no such file or directory", "<tool_use_error>File does not exist.</tool_use_error>"]
        {
            assert!(!is_denied("Read", text), "{text}");
        }
    }
}
