//! The command line of one run: what mo-spawn is told.

use std::ffi::OsString;
use std::path::Path;

use crate::tools::spec::Spec;

/// The least that `--budget-usd` can be.
pub const LEAST_USD: f64 = 0.000_001;
/// The most that `--budget-usd` takes.
const MOST_USD: f64 = 1e6;

/// One run to be started.
#[derive(Debug)]
pub struct Command<'a> {
    /// Who works.
    pub worker: &'a str,
    /// The dispatch.
    pub id: &'a str,
    /// What was asked for.
    pub spec: &'a Spec,
    /// The file that holds the prompt.
    pub prompt: &'a Path,
    /// The file that holds the addition to the system prompt.
    pub system_prompt: Option<&'a Path>,
    /// The client's own name of the call.
    pub tool_use: Option<&'a str>,
    /// The dispatch that it goes on with.
    pub before: Option<&'a str>,
    /// It takes that one's place and not its session.
    pub anew: bool,
    /// The settings' permission mode.
    pub permission_mode: &'a str,
    /// The settings' time limit.
    pub timeout_minutes: u32,
    /// What is left of the day's money.
    pub left_usd: Option<f64>,
}

impl Command<'_> {
    /// The words after the program's name. Prompts go by file: words can be seen by everybody and are cut at 128 KiB.
    pub fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec![self.worker.into(), "--task".into(), self.prompt.into()];
        let mut add = |name: &str, value: &str| {
            words.push(name.into());
            words.push(value.into());
        };
        let spec = self.spec;
        add("--id", self.id);
        add("--title", &spec.title);
        match (&spec.model, spec.tier) {
            (Some(model), _) => add("--model", model),
            (None, Some(tier)) => add("--tier", tier.name()),
            (None, None) => {}
        }
        let texts = [("--role", &spec.role), ("--effort", &spec.effort)];
        for (name, value) in texts {
            if let Some(value) = value {
                add(name, value);
            }
        }
        let minutes = spec.timeout_minutes.unwrap_or(self.timeout_minutes);
        add("--timeout", &format!("{minutes}m"));
        for command in &spec.check {
            add("--check", command);
        }
        let numbers = [
            ("--attempts", spec.attempts.map(u64::from)),
            ("--max-turns", spec.max_turns.map(u64::from)),
            ("--budget-tokens", spec.budget_tokens),
        ];
        for (name, value) in numbers {
            if let Some(value) = value {
                add(name, &value.to_string());
            }
        }
        if let Some(usd) = self.budget() {
            add("--budget-usd", &format!("{usd:.6}"));
        }
        for pattern in &spec.files {
            add("--files", pattern);
        }
        for tool in &spec.allow {
            add("--allow", tool);
        }
        // A role brings its own mode; what the caller says wins over both.
        match (&spec.permission_mode, &spec.role) {
            (Some(mode), _) => add("--permission-mode", mode),
            (None, None) => add("--permission-mode", self.permission_mode),
            (None, Some(_)) => {}
        }
        if let Some(tool_use) = self.tool_use {
            add("--tool-use-id", tool_use);
        }
        if let Some(before) = self.before {
            add("--continue-from", before);
        }
        if let Some(path) = self.system_prompt {
            words.extend(["--system-prompt-file".into(), path.into()]);
        }
        if self.before.is_some() && self.anew {
            words.push("--anew".into());
        }
        if spec.worktree && self.before.is_none() {
            words.push("--worktree".into());
        }
        // Events and complaints share standard error: one pipe, nothing to hand down by number.
        words.extend(["--tied", "--events", "fd:2", "--progress=none", "--json"].map(OsString::from));
        words
    }

    /// The least of what the caller allows and what is left of the day, as far as `mo-spawn` takes it.
    fn budget(&self) -> Option<f64> {
        let least = match (self.spec.budget_usd, self.left_usd) {
            (Some(own), Some(left)) => Some(own.min(left)),
            (own, left) => own.or(left),
        };
        least.map(|usd| usd.clamp(LEAST_USD, MOST_USD))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn words(spec: &Spec, before: Option<&str>, left_usd: Option<f64>) -> String {
        let command = Command {
            worker: "glm",
            id: "d-1",
            spec,
            prompt: Path::new("/p"),
            system_prompt: Some(Path::new("/s")),
            tool_use: Some("toolu_1"),
            before,
            anew: false,
            permission_mode: "acceptEdits",
            timeout_minutes: 45,
            left_usd,
        };
        let words = command.words();
        words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn no_text_of_the_task_is_a_word() {
        let spec = Spec::of(&json!({"title": "t", "prompt": "SECRET", "system_prompt": "ALSO"})).unwrap();
        let words = words(&spec, None, None);
        assert!(words.starts_with("glm --task /p --id d-1 --title t"), "{words}");
        assert!(!words.contains("SECRET") && !words.contains("ALSO"), "{words}");
        assert!(words.ends_with("--tied --events fd:2 --progress=none --json"), "{words}");
    }

    #[test]
    fn what_was_asked_for_is_passed_on_and_the_days_money_bounds_it() {
        let spec = Spec::of(&json!({
            "title": "t", "prompt": "p", "tier": "opus", "effort": "high", "check": ["make", "true"], "attempts": 3,
            "worktree": true, "files": ["src/**"], "budget_usd": 2.0, "timeout_minutes": 5, "allow": ["Bash(ls)"],
        }))
        .unwrap();
        let said = words(&spec, None, Some(0.5));
        for part in [
            "--tier opus",
            "--effort high",
            "--effort high",
            "--check make --check true",
            "--attempts 3",
            "--worktree",
            "--files src/**",
            "--budget-usd 0.500000",
            "--timeout 5m",
            "--allow Bash(ls)",
            "--permission-mode acceptEdits",
            "--tool-use-id toolu_1",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        let again = words(&spec, Some("d-0"), None);
        assert!(again.contains("--continue-from d-0") && !again.contains("--worktree"), "{again}");
        assert!(again.contains("--budget-usd 2.000000"), "{again}");
        for (left, said) in [(0.0, "0.000001"), (0.000_000_1, "0.000001"), (1e9, "1000000.000000")] {
            let plain = Spec::of(&json!({"title": "t", "prompt": "p"})).unwrap();
            let words = words(&plain, None, Some(left));
            assert!(words.contains(&format!("--budget-usd {said}")), "{words}");
        }
    }
}
