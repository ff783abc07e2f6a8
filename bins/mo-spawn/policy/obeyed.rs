//! The files that Claude Code and git obey: what is written there runs, or says what may run. Leave to edit at large is
//! no leave for them.

use std::path::Path;

use super::place::{self, Place};

/// Directories of settings, hooks, agents and commands, and the list of servers that are started.
const OBEYED: &[&str] = &[".claude", ".git", ".mcp.json"];

/// The names on the way to this place, below the worker's directory, that stand for what is obeyed; nothing where it
/// cannot be told where the place is.
pub fn names(place: &Place, directory: &Path) -> Option<Vec<String>> {
    let real = place.real.as_deref()?;
    // The directory itself may lie in one of them.
    let base = place::real(directory);
    let below = base.and_then(|base| real.strip_prefix(base).ok()).unwrap_or(real);
    let names = below.iter().map(|name| name.to_string_lossy().into_owned());
    Some(names.filter(|name| OBEYED.iter().any(|obeyed| name.eq_ignore_ascii_case(obeyed))).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use serde_json::json;

    use super::super::Decision;
    use super::super::file::tests::policy;
    use super::*;

    fn allows(rules: &[&str], path: &Path, directory: &Path) -> bool {
        policy(rules).decide("Write", &json!({"file_path": path}), directory) == Decision::Allow
    }

    #[test]
    fn leave_at_large_is_none_for_what_is_obeyed() {
        let home = tempfile::tempdir().unwrap();
        let top = home.path().canonicalize().unwrap();
        let directory = top.join(".claude/worktrees/a");
        fs::create_dir_all(directory.join("deep")).unwrap();
        symlink(".claude", directory.join("link")).unwrap();
        fs::create_dir_all(directory.join(".claude")).unwrap();
        symlink(".mcp.json", directory.join("dangling")).unwrap();
        let held = [
            ".claude/settings.json",
            ".claude/settings.local.json",
            ".claude/hooks/a.sh",
            ".claude/agents/a.md",
            "deep/.claude/commands/a.md",
            ".mcp.json",
            ".git",
            ".git/hooks/pre-commit",
            "deep/../.Claude/settings.json",
            "link/settings.json",
            "dangling",
        ];
        for path in held {
            for rule in ["Edit", "Write", "*", "Edit(**)", "Edit(*.json)", "Edit(//**)", "Edit(.c*/**)"] {
                assert!(!allows(&[rule], &directory.join(path), &directory), "{rule} {path}");
            }
        }
        for path in ["a.json", "deep/b", "CLAUDE.md", ".github/x", ".gitignore", "claude/.mcp.json.md"] {
            assert!(allows(&["Edit"], &directory.join(path), &directory), "{path}");
            assert!(allows(&["Edit(**)"], &directory.join(path), &directory), "{path}");
        }
        assert!(!allows(&["Edit(//**)"], &top.join(".claude/settings.json"), &directory), "outside");
    }

    #[test]
    fn a_rule_that_names_it_gives_leave() {
        let directory = Path::new("/w");
        for (rule, path) in [
            ("Edit(.claude/**)", ".claude/settings.json"),
            ("Edit(.claude/agents/*.md)", ".claude/agents/a.md"),
            ("Edit(.mcp.json)", "deep/.mcp.json"),
            ("Edit(.git/info/exclude)", ".git/info/exclude"),
            ("Edit(//w/.claude/**)", ".claude/a"),
        ] {
            assert!(allows(&[rule], &directory.join(path), directory), "{rule} {path}");
            assert!(allows(&["Edit", rule], &directory.join(path), directory), "{rule} {path}");
        }
        assert!(!allows(&["Edit(.claude/**)"], &directory.join(".claude/x/.git/config"), directory));
    }

    #[test]
    fn a_redirection_is_held_alike_and_reading_is_not() {
        let rules = policy(&["Bash(echo:*)", "Bash(cd:*)", "Edit", "Read"]);
        let run = |command: &str| rules.decide("Bash", &json!({"command": command}), Path::new("/w"));
        assert_eq!(run("echo x > /w/a"), Decision::Allow);
        for command in
            ["echo x > /w/.claude/settings.json", "cd .claude && echo x > settings.json", "echo x > $y"]
        {
            assert_ne!(run(command), Decision::Allow, "{command}");
        }
        let read = json!({"file_path": "/w/.claude/settings.json"});
        assert_eq!(rules.decide("Read", &read, Path::new("/w")), Decision::Allow);
        let Decision::Deny(why) = rules.decide("Edit", &read, Path::new("/w")) else { panic!("it is held") };
        assert!(why.contains(".claude") && why.contains("names it"), "{why}");
    }
}
