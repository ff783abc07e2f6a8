//! A worker's name: short, lower-case, safe as a directory and as a word on a command line.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::redact::typed;

/// The longest name.
const LONGEST: usize = 64;

/// Words that mean something else where a worker's name can stand.
const RESERVED: &[&str] = &[
    "main",
    "roles",
    "ps",
    "tell",
    "logs",
    "stop",
    "wait",
    "resume",
    "attach",
    "worktrees",
    "usage",
    "help",
    // Every command of ours.
    "list",
    "show",
    "add",
    "remove",
    "probe",
    "create",
    "check",
    "rename",
    "doctor",
    "import",
    "login",
    "prefer",
    "accounts",
    "update",
    "rebuild",
    "report",
    "savings",
    "statusline",
    "export",
    "watch",
    "count",
    "policy",
    "top",
    "serve",
    "exec",
    "status",
    "reload",
    "explain",
    "audit",
    "cost",
    "service",
    "version",
];

/// The name of a worker.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Name(String);

impl Name {
    /// Checks the name.
    pub fn parse(name: &str) -> Result<Self> {
        Self::of("worker", name)
    }

    /// Checks the name of a role: the same rules.
    pub fn of_role(name: &str) -> Result<Self> {
        Self::of("role", name)
    }

    fn of(whose: &str, name: &str) -> Result<Self> {
        let refused = |what: String| Err(Error::new(Exit::Usage, what).hint(HINT));
        let shown: String = typed(name).chars().map(escaped).collect();
        if name.is_empty() {
            return refused(format!("the {whose}'s name is empty"));
        }
        if name.len() > LONGEST {
            return refused(format!("`{shown}` is too long for a {whose}'s name"));
        }
        let mut letters = name.bytes();
        let first_fits =
            letters.next().is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        if !first_fits
            || !letters.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        {
            return refused(format!("`{shown}` cannot be a {whose}'s name"));
        }
        if RESERVED.contains(&name) {
            return refused(format!("`{name}` is a reserved word, no {whose}'s name"));
        }
        Ok(Self(name.to_owned()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Letters beyond ASCII as numbers: some look like others.
fn escaped(letter: char) -> String {
    if letter == '…' { letter.to_string() } else { letter.escape_default().collect() }
}

const HINT: &str = "a name has 1 to 64 characters: a-z, 0-9 and -, and starts with a letter or digit";

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Name {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        Self::parse(&name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_names_pass() {
        for name in ["glm", "0", "kimi-2", &"a".repeat(64)] {
            assert_eq!(Name::parse(name).unwrap().as_str(), name);
        }
    }

    #[test]
    fn bad_names_are_refused_and_shown_harmlessly() {
        for name in
            ["", "..", ".", "a/b", "GLM", "-x", "--help", "a b", "ä", "a\n", &"a".repeat(300), "main", "ps"]
        {
            let error = Name::parse(name).unwrap_err();
            assert_eq!(error.exit(), Exit::Usage, "{name}");
            assert!(!error.to_string().contains(char::is_control), "{error}");
            assert!(error.to_string().len() < 120);
        }
    }
}
