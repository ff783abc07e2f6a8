//! One rule: `TOOL` or `TOOL(pattern)` in Claude Code's own syntax, and whether it allows or denies.

use serde_json::Value;

use super::command_pattern::{Care, CommandPattern};
use super::glob::Glob;
use super::obeyed;
use super::path_pattern::{Ground, PathPattern};
use super::place::Place;

/// The tools that run a shell command.
pub const SHELLS: &[&str] = &["Bash", "Monitor"];
/// The tools that a rule for `Edit` stands for.
const EDITING: &[&str] = &["Edit", "Write", "MultiEdit", "NotebookEdit"];
/// The tools that a rule for `Read` stands for.
const READING: &[&str] = &["Read", "NotebookRead", "Grep", "Glob", "LS"];
/// The tools of those that look through a directory.
const SEARCHING: &[&str] = &["Grep", "Glob", "LS"];
/// Two names of one tool.
const AGENTS: &[&str] = &["Agent", "Task"];

/// What a rule does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Effect {
    /// Lets the call through.
    Allow,
    /// Stops it.
    Deny,
}

/// A rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// What it does.
    pub effect: Effect,
    /// As it was written.
    pub text: String,
    /// What the worker is told where it denies.
    pub reason: Option<String>,
    tool: Glob,
    /// Which of the tool's calls; nothing for all.
    scope: Option<Scope>,
}

#[derive(Clone, Debug)]
enum Scope {
    Command(CommandPattern),
    Path(PathPattern),
    Host(Glob),
    Named(Glob),
}

/// What a call is about.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A file.
    File(Place),
    /// A search below a directory.
    Search(Place),
    /// A host.
    Host(String),
    /// A subagent or a skill.
    Named(String),
    /// Nothing that a pattern could be about.
    Other,
}

impl Rule {
    /// Reads a rule, or says what is wrong with it.
    pub fn parse(effect: Effect, text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (tool, pattern) = match text.split_once('(') {
            Some((tool, rest)) => {
                (tool, Some(rest.strip_suffix(')').ok_or("the closing bracket is missing at its end")?))
            }
            None => (text, None),
        };
        let named = |letter: char| letter.is_ascii_alphanumeric() || "_-.:*".contains(letter);
        if tool.is_empty() || !tool.chars().all(named) {
            return Err("no tool's name: a rule is TOOL or TOOL(pattern), one at a time".to_owned());
        }
        let pattern = pattern.filter(|pattern| !matches!(pattern.trim(), "*" | ":*"));
        let scope = pattern.map(|pattern| scope(tool, pattern)).transpose()?;
        Ok(Self { effect, text: text.to_owned(), reason: None, tool: Glob::new(tool), scope })
    }

    /// Whether it is about calls of this tool at all.
    pub fn is_about(&self, tool: &str) -> bool {
        let names = |name: &str, family: &[&str]| self.tool.fits(name) && family.contains(&tool);
        self.tool.fits(tool)
            || names("Edit", EDITING)
            || names("Read", READING)
            || (AGENTS.contains(&tool) && AGENTS.iter().any(|name| self.tool.fits(name)))
            || tool
                .strip_prefix("mcp__")
                .and_then(|rest| rest.split_once("__"))
                .is_some_and(|(server, _)| self.tool.fits(&format!("mcp__{server}")))
    }

    /// The tools whose calls it may be about, as the client's own settings name them.
    pub fn asked(&self) -> Vec<&str> {
        let name = self.text.split('(').next().unwrap_or_default();
        let known = [SHELLS, EDITING, READING].concat();
        let mut names: Vec<&str> = known.into_iter().filter(|tool| self.is_about(tool)).collect();
        if !name.contains('*') && !names.contains(&name) {
            names.push(name);
        }
        names
    }

    /// Whether it stands for every call of its tools.
    pub fn is_whole(&self) -> bool {
        self.scope.is_none()
    }

    /// Whether it stands for a call of this tool that is about this.
    pub fn covers(&self, tool: &str, subject: &Subject, ground: Ground) -> bool {
        if self.effect == Effect::Allow && EDITING.contains(&tool) && !self.names_what(subject, ground) {
            return false;
        }
        match (&self.scope, subject) {
            (None, _) => true,
            (Some(Scope::Path(pattern)), Subject::File(place)) => pattern.fits(place, ground, self.care()),
            (Some(Scope::Path(pattern)), Subject::Search(place)) => match self.effect {
                Effect::Allow => pattern.fits(place, ground, Care::Sure),
                Effect::Deny => pattern.may_lie_below(place, ground),
            },
            (Some(Scope::Host(pattern)), Subject::Host(host)) => pattern.fits(host),
            (Some(Scope::Named(pattern)), Subject::Named(name)) => pattern.fits(name),
            // What a call is about that could not be told may be what is denied.
            (Some(_), _) => self.effect == Effect::Deny,
        }
    }

    /// Whether all that is obeyed on the way to the file stands in the rule by its name.
    fn names_what(&self, subject: &Subject, ground: Ground) -> bool {
        let Some(obeyed) = obeyed_names(subject, ground) else { return false };
        match &self.scope {
            Some(Scope::Path(pattern)) => obeyed.iter().all(|name| pattern.names(name)),
            _ => obeyed.is_empty(),
        }
    }

    /// The pattern for commands, where it has one.
    pub fn command(&self) -> Option<&CommandPattern> {
        match &self.scope {
            Some(Scope::Command(pattern)) => Some(pattern),
            _ => None,
        }
    }

    /// How strictly it compares.
    pub fn care(&self) -> Care {
        match self.effect {
            Effect::Allow => Care::Sure,
            Effect::Deny => Care::Possible,
        }
    }
}

fn scope(tool: &str, pattern: &str) -> Result<Scope, String> {
    if SHELLS.contains(&tool) {
        return CommandPattern::parse(pattern).map(Scope::Command);
    }
    if EDITING.contains(&tool) || READING.contains(&tool) {
        return PathPattern::parse(pattern).map(Scope::Path);
    }
    if tool == "WebFetch" {
        let host = pattern.trim().strip_prefix("domain:").filter(|host| !host.is_empty());
        let host = host.ok_or("a pattern of WebFetch is written domain:HOST")?;
        return Ok(Scope::Host(Glob::new(&host.to_ascii_lowercase())));
    }
    if AGENTS.contains(&tool) || tool == "Skill" {
        return Ok(Scope::Named(Glob::new(pattern.trim())));
    }
    Err(format!("calls of {tool} have nothing that a pattern could be about: name the tool alone"))
}

/// What is obeyed on the way to the file that a tool would write; nothing where the file cannot be told.
fn obeyed_names(subject: &Subject, ground: Ground) -> Option<Vec<String>> {
    match subject {
        Subject::File(place) => obeyed::names(place, ground.directory),
        _ => None,
    }
}

impl Subject {
    /// Whether it is a file that leave at large is no leave to write.
    pub fn is_obeyed(&self, tool: &str, ground: Ground) -> bool {
        EDITING.contains(&tool) && obeyed_names(self, ground).is_some_and(|names| !names.is_empty())
    }

    /// What this call is about.
    pub fn of(tool: &str, input: &Value, ground: Ground) -> Self {
        let text = |name: &str| input.get(name).and_then(Value::as_str);
        let place = |path: &str| Place::of(path, ground.directory, ground.home);
        if SEARCHING.contains(&tool) {
            return search(tool, text("path").unwrap_or("."), text("pattern"), ground);
        }
        if EDITING.contains(&tool) || READING.contains(&tool) {
            let path = text("file_path").or_else(|| text("notebook_path")).filter(|path| !path.is_empty());
            return path.map_or(Self::Other, |path| Self::File(place(path)));
        }
        let named = match tool {
            "WebFetch" => return text("url").and_then(host).map_or(Self::Other, Self::Host),
            "Skill" => text("skill").or_else(|| text("command")),
            _ if AGENTS.contains(&tool) => text("subagent_type"),
            _ => None,
        };
        named.map_or(Self::Other, |name| Self::Named(name.to_owned()))
    }
}

fn search(tool: &str, path: &str, pattern: Option<&str>, ground: Ground) -> Subject {
    let mut place = Place::of(path, ground.directory, ground.home);
    // The pattern of Glob can lead out of the directory.
    let leads_out = |pattern: &str| pattern.starts_with(['/', '~']) || pattern.contains("..");
    if tool == "Glob" && pattern.is_none_or(leads_out) {
        place.real = None;
    }
    Subject::Search(place)
}

/// The host of a URL that every reader reads alike.
fn host(url: &str) -> Option<String> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
    (!host.is_empty() && host.bytes().all(plain)).then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Rule {
        Rule::parse(Effect::Allow, text).unwrap()
    }

    #[test]
    fn a_rule_is_about_its_family_of_tools() {
        for (text, tool) in [
            ("Bash", "Bash"),
            ("Edit", "Write"),
            ("Edit(src/**)", "NotebookEdit"),
            ("Read", "Grep"),
            ("mcp__x__*", "mcp__x__y"),
            ("mcp__x", "mcp__x__y"),
            ("Task", "Agent"),
            ("*", "Whatever"),
        ] {
            assert!(rule(text).is_about(tool), "{text} {tool}");
        }
        for (text, tool) in
            [("Write", "Edit"), ("Read", "Edit"), ("mcp__x", "mcp__xy__z"), ("mcp__x__a", "mcp__x__ab")]
        {
            assert!(!rule(text).is_about(tool), "{text} {tool}");
        }
        assert!(rule("Bash(*)").is_whole() && !rule("Bash(ls)").is_whole());
    }

    #[test]
    fn a_wrong_rule_is_told() {
        for text in [
            "",
            "Bash(ls",
            "Bash(ls) x",
            "(ls)",
            "Read, Edit",
            "mcp__x__y(z)",
            "WebFetch(example.com)",
            "Bash(a; b:*)",
            "Edit(/etc/**)",
            "Foo(bar)",
            "B ash",
        ] {
            assert!(Rule::parse(Effect::Allow, text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_a_plain_host_is_one() {
        assert_eq!(host("https://Docs.rs:443/x?y").as_deref(), Some("docs.rs"));
        for url in ["ftp://a", "https://", "https://a@b/", "https://a\\b", "docs.rs", "https://[::1]/"] {
            assert_eq!(host(url), None, "{url}");
        }
    }
}
