//! Where rules come from: the user's file for all runs, the file of this one, `--allow`, a role. In this order, so that
//! what the user denies for all runs, no run allows.

use std::path::Path;

use serde_json::{Map, Value};
use shared::document;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::file;
use shared::flatten::flatten;
use shared::world::World;

use super::Policy;
use super::rule::{Effect, Rule};

/// The user's file for all runs, in the root.
pub const FILE: &str = "policy.json";

const SHAPE: &str = "a policy is {\"version\": 1, \"rules\": [{\"allow\": \"Bash(git diff:*)\"}, {\"deny\": \"Read(.env)\", \"reason\": \"…\"}]}";

impl Policy {
    /// All rules of a run. Every mistake in a file is told, not only the first.
    pub fn gather(world: &World, own: Option<&Path>, allow: &[String], role: &[String]) -> Result<Self> {
        let mut rules = Vec::new();
        let for_all = world.paths.root()?.join(FILE);
        if let Some(bytes) = file::read_own(&for_all, file::JSON_CAP)? {
            rules.extend(read(&for_all, &bytes)?);
        }
        if let Some(path) = own {
            rules.extend(read(path, &file::read(path, file::JSON_CAP)?)?);
        }
        rules.extend(listed(allow, "--allow", Exit::Usage)?);
        rules.extend(listed(role, "the role allows", Exit::Config)?);
        Ok(Self { rules, checks: Vec::new(), home: world.paths.home().ok().map(Path::to_owned) })
    }
}

fn listed(texts: &[String], whose: &str, exit: Exit) -> Result<Vec<Rule>> {
    let one = |text: &String| {
        Rule::parse(Effect::Allow, text).map_err(|why| {
            Error::new(exit, format!("{whose} `{}`: {why}", flatten(text, 120))).hint(
                "rules are written as for Claude Code: Bash(git diff:*), Edit(src/**), Read, mcp__server__*",
            )
        })
    };
    texts.iter().map(one).collect()
}

fn read(path: &Path, bytes: &[u8]) -> Result<Vec<Rule>> {
    document::must_be_object(path, bytes)?;
    let value: Map<String, Value> = document::parse(path, bytes)?;
    let mut rules = Vec::new();
    let mut mistakes = Vec::new();
    for (name, value) in &value {
        match (name.as_str(), value) {
            ("version", value) if value.as_u64() == Some(1) => {}
            ("version", _) => mistakes.push("version: only 1 is known".to_owned()),
            ("rules", Value::Array(items)) => {
                for (number, item) in items.iter().enumerate() {
                    match rule(item) {
                        Ok(rule) => rules.push(rule),
                        Err(why) => mistakes.push(format!("rules[{number}]: {why}")),
                    }
                }
            }
            ("rules", _) => mistakes.push("rules: it is no list".to_owned()),
            (name, _) => mistakes.push(format!("{}: unknown", flatten(name, 40))),
        }
    }
    for name in ["version", "rules"] {
        if !value.contains_key(name) {
            mistakes.push(format!("{name}: missing"));
        }
    }
    if mistakes.is_empty() {
        return Ok(rules);
    }
    Err(Error::new(Exit::Data, format!("{}: {}", path.display(), mistakes.join("; "))).hint(SHAPE))
}

fn rule(item: &Value) -> Result<Rule, String> {
    let item = item.as_object().ok_or("it is no object")?;
    if let Some(name) = item.keys().find(|name| !["allow", "deny", "reason"].contains(&name.as_str())) {
        return Err(format!("{}: unknown", flatten(name, 40)));
    }
    let (effect, text) = match (item.get("allow"), item.get("deny")) {
        (Some(text), None) => (Effect::Allow, text),
        (None, Some(text)) => (Effect::Deny, text),
        _ => return Err("it needs either allow or deny".to_owned()),
    };
    let text = text.as_str().ok_or("a rule is a text")?;
    let mut rule = Rule::parse(effect, text).map_err(|why| format!("`{}`: {why}", flatten(text, 120)))?;
    if let Some(reason) = item.get("reason") {
        rule.reason = Some(flatten(reason.as_str().ok_or("a reason is a text")?, 300));
    }
    Ok(rule)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A policy of rules, `!` before those that deny.
    pub fn policy(rules: &[&str]) -> Policy {
        let rules = rules.iter().map(|text| match text.strip_prefix('!') {
            Some(text) => Rule::parse(Effect::Deny, text).unwrap(),
            None => Rule::parse(Effect::Allow, text).unwrap(),
        });
        Policy { rules: rules.collect(), checks: Vec::new(), home: None }
    }

    #[test]
    fn every_mistake_is_told_with_its_place() {
        let text =
            br#"{"version": 2, "rules": [{"allow": "Read"}, {"allow": "Bash(ls"}, {"deny": "Read", "why": 1},
            {"allow": "a", "deny": "b"}, 7, {"deny": "Read", "reason": 1}], "more": 1}"#;
        let error = read(Path::new("/p.json"), text).unwrap_err().to_string();
        for part in [
            "version: only 1",
            "rules[1]: `Bash(ls`",
            "rules[2]: why: unknown",
            "rules[3]: it needs either",
            "rules[4]: it is no object",
            "rules[5]: a reason",
            "more: unknown",
        ] {
            assert!(error.contains(part), "{part} in {error}");
        }
        for text in ["", "[]", "{}", "{\"version\": 1}", "{\"version\": 1, \"rules\": {}}", "{\"rules\""] {
            assert_eq!(read(Path::new("/p.json"), text.as_bytes()).unwrap_err().exit(), Exit::Data, "{text}");
        }
    }

    #[test]
    fn a_reason_is_kept_for_the_worker() {
        let text = br#"{"version": 1, "rules": [{"deny": "Read(.env)", "reason": "it holds keys"}]}"#;
        assert_eq!(read(Path::new("/p"), text).unwrap()[0].reason.as_deref(), Some("it holds keys"));
    }
}
