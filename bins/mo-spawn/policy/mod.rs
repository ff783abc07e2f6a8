//! Leave for tools, given by rule: the first rule that stands for a call decides, and what no rule stands for is
//! denied, because nobody is there to ask. What is really walled off is the sandbox's business.

mod command_pattern;
mod file;
mod glob;
mod obeyed;
mod path_pattern;
mod place;
mod prefix;
mod rule;
mod script;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde_json::Value;

use self::path_pattern::Ground;
use self::place::Place;
use self::rule::{Effect, Rule, SHELLS, Subject};
use self::script::{Simple, Word};

/// What is answered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Decision {
    /// Do it.
    Allow,
    /// Do not, for this reason, which says what can be done instead.
    Deny(String),
}

/// The rules of a run, in order.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    rules: Vec<Rule>,
    /// Commands that judge the work.
    checks: Vec<String>,
    home: Option<PathBuf>,
}

/// Files that a redirection may always name.
const HARMLESS: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr"];
/// The tool whose rules a redirection into a file is judged by, and out of one.
const REDIRECTED: (&str, &str) = ("Write", "Read");

impl Policy {
    /// Also lets the worker run these commands, where no rule denies them: they will be run on what it leaves anyway.
    #[must_use]
    pub fn with_checks(self, checks: &[String]) -> Self {
        Self { checks: checks.iter().map(|check| check.trim().to_owned()).collect(), ..self }
    }

    /// Decides on one call that the client asks about.
    pub fn decide(&self, tool: &str, input: &Value, directory: &Path) -> Decision {
        let ground = Ground { directory, home: self.home.as_deref() };
        if SHELLS.contains(&tool) {
            let command = input.get("command").and_then(Value::as_str).unwrap_or_default();
            return self.decide_command(tool, command, ground);
        }
        let subject = Subject::of(tool, input, ground);
        match self.first(tool, |rule| rule.covers(tool, &subject, ground)) {
            Some(rule) => verdict(rule, tool),
            None if subject.is_obeyed(tool, ground) => Decision::Deny(format!(
                "What stands in .claude, .git or .mcp.json is obeyed, so only a rule that names it gives leave to write there. {}",
                self.nothing_allows(tool, "this")
            )),
            None => Decision::Deny(self.nothing_allows(tool, "this")),
        }
    }

    /// The tools about which a rule denies something: the client must ask about all their calls.
    pub fn denied_tools(&self) -> Vec<&str> {
        let denying = self.rules.iter().filter(|rule| rule.effect == Effect::Deny);
        let mut names: Vec<&str> = denying.flat_map(Rule::asked).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn first(&self, tool: &str, covers: impl Fn(&Rule) -> bool) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.is_about(tool) && covers(rule))
    }

    fn decide_command(&self, tool: &str, command: &str, ground: Ground) -> Decision {
        let parts = script::parse(command);
        // A rule that names the very text, or all of them, decides on the whole.
        let whole = |rule: &Rule| match rule.command() {
            None => rule.is_whole(),
            Some(pattern) => pattern.is(command) || (parts.is_err() && rule.effect == Effect::Deny),
        };
        if self.checks.iter().any(|check| check == command.trim()) {
            let parts = parts.as_deref().unwrap_or_default();
            let denied = |rule: Option<&Rule>| rule.is_some_and(|rule| rule.effect == Effect::Deny);
            if !denied(self.first(tool, whole))
                && !parts.iter().any(|part| denied(self.on(tool, command, part)))
            {
                return Decision::Allow;
            }
        }
        let parts = match &parts {
            Ok(parts) if !parts.is_empty() => parts,
            Ok(_) => return Decision::Deny("there is no command in it".to_owned()),
            Err(why) => {
                return match self.first(tool, whole) {
                    Some(rule) => verdict(rule, tool),
                    None => Decision::Deny(format!(
                        "{} The command holds {why}, which cannot be judged: write plain commands.",
                        self.nothing_allows(tool, "it")
                    )),
                };
            }
        };
        for part in parts {
            let Some(rule) = self.on(tool, command, part) else {
                // Nothing but a redirection.
                if part.words.is_empty() {
                    match self.redirections(part, false, ground) {
                        Decision::Allow => continue,
                        denied @ Decision::Deny(_) => return denied,
                    }
                }
                return Decision::Deny(self.nothing_allows(tool, &quoted(&part.text())));
            };
            if rule.effect == Effect::Deny {
                return verdict(rule, tool);
            }
            let free = rule.is_whole() || rule.command().is_some_and(|pattern| pattern.is(command));
            let denied = self.redirections(part, free, ground);
            if denied != Decision::Allow {
                return denied;
            }
        }
        Decision::Allow
    }

    /// The first rule that stands for this part of the command.
    fn on(&self, tool: &str, command: &str, part: &Simple) -> Option<&Rule> {
        self.first(tool, |rule| match rule.command() {
            Some(pattern) => pattern.is(command) || pattern.fits(part, rule.care()),
            None => rule.is_whole(),
        })
    }

    /// Redirections of a command: a file may be named where the rules for files say so, or where the command is free
    /// and they do not say otherwise.
    fn redirections(&self, part: &Simple, free: bool, ground: Ground) -> Decision {
        let writes = part.writes.iter().map(|word| (REDIRECTED.0, word));
        for (tool, word) in writes.chain(part.reads.iter().map(|word| (REDIRECTED.1, word))) {
            if !word.changes && HARMLESS.contains(&word.text.as_str()) {
                continue;
            }
            let subject = self.redirected(word, ground);
            let reason = match self.first(tool, |rule| rule.covers(tool, &subject, ground)) {
                Some(rule) => match verdict(rule, tool) {
                    Decision::Allow => continue,
                    Decision::Deny(reason) => reason,
                },
                None if free => continue,
                None => self.nothing_allows(tool, &quoted(&word.text)),
            };
            if matches!(subject, Subject::Other) {
                return Decision::Deny(format!(
                    "Where {} leads cannot be told. Name the file by its absolute path, or use the {tool} tool.",
                    quoted(&word.text)
                ));
            }
            return Decision::Deny(reason);
        }
        Decision::Allow
    }

    /// The file, where its place is sure: not where the shell makes the name, or may have changed its directory.
    fn redirected(&self, word: &Word, ground: Ground) -> Subject {
        let moves = ["cd", "pushd", "popd"].map(|name| Simple {
            words: vec![
                Word { text: name.to_owned(), changes: false },
                Word { text: "x".to_owned(), changes: false },
            ],
            ..Simple::default()
        });
        let may_move = self.rules.iter().filter(|rule| rule.effect == Effect::Allow).any(|rule| {
            SHELLS.iter().any(|shell| rule.is_about(shell))
                && rule.command().is_none_or(|pattern| {
                    moves.iter().any(|command| pattern.fits(command, command_pattern::Care::Possible))
                })
        });
        if word.changes || (may_move && !word.text.starts_with('/')) {
            return Subject::Other;
        }
        Subject::File(Place::of(&word.text, ground.directory, ground.home))
    }

    /// What the worker is told.
    fn nothing_allows(&self, tool: &str, what: &str) -> String {
        let allowed: Vec<&str> = self
            .rules
            .iter()
            .filter(|rule| rule.effect == Effect::Allow && rule.is_about(tool))
            .map(|rule| rule.text.as_str())
            .take(12)
            .collect();
        let instead = if allowed.is_empty() {
            format!("Nothing of {tool} is allowed here")
        } else {
            format!("Allowed are: {}", allowed.join(", "))
        };
        format!(
            "No rule allows {what} for {tool}, and nobody is there to ask. {instead}. Do it another way, or say in your report what you could not do."
        )
    }
}

fn quoted(text: &str) -> String {
    format!("`{}`", shared::flatten::flatten(text, 200))
}

fn verdict(rule: &Rule, tool: &str) -> Decision {
    match rule.effect {
        Effect::Allow => Decision::Allow,
        Effect::Deny => {
            let reason = rule.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            Decision::Deny(format!(
                "{tool} is denied here by the rule {}{reason}. Do not try it another way; say in your report what you could not do.",
                rule.text
            ))
        }
    }
}
