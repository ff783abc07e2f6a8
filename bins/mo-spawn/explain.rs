//! What would run, in words: the program, its arguments, and the rule behind each variable.

use std::ffi::OsStr;

use shared::child_env::Decision;
use shared::error::Result;
use shared::exit::Exit;
use shared::paths;
use shared::world::World;

use crate::launch::Launch;

/// Parts of names whose values nobody shows.
const TELLING: &[&str] = &["KEY", "TOKEN", "SECRET", "PASS", "AUTH", "HEADERS", "CREDENTIAL"];

/// Prints the launch.
pub fn print(world: &World, launch: &Launch) -> Result<Exit> {
    let mut text = String::from("would run:\n ");
    for word in std::iter::once(launch.program.as_os_str()).chain(launch.arguments.iter().map(AsRef::as_ref))
    {
        text.push(' ');
        text.push_str(&quoted(word));
    }
    text.push_str("\n\nputs in:\n");
    for decision in launch.env.decisions() {
        if let (Some(value), Some(rule)) = (&decision.value, &decision.rule) {
            let name = decision.name.to_string_lossy();
            text.push_str(&format!("  {name}={}  ({rule})\n", shown(decision, value)));
        }
    }
    text.push_str("\ntakes away:\n");
    let gone = launch.env.decisions().filter(|decision| decision.value.is_none());
    let was_there = |name: &OsStr| name.to_str().is_none_or(|name| world.env.get(name).is_some());
    for decision in gone.filter(|decision| was_there(&decision.name)) {
        let rule = decision.rule.as_deref().unwrap_or_default();
        text.push_str(&format!("  {}  ({rule})\n", decision.name.to_string_lossy()));
    }
    let passed = launch.env.decisions().filter(|decision| decision.rule.is_none()).count();
    text.push_str(&format!("\npasses on {passed} other variables as they are\n"));
    match &launch.dispatch {
        Some(_) => text.push_str(&format!(
            "leaves a record in {}\n",
            paths::shown(&world.paths.dispatch()?, &world.paths)
        )),
        None => text.push_str("leaves no record: this is no session\n"),
    }
    world.say.out(&text)?;
    Ok(Exit::Done)
}

fn shown(decision: &Decision, value: &OsStr) -> String {
    let name = decision.name.to_string_lossy();
    if decision.secret {
        return format!("[{}]", shared::secret::Secret::from_file(&value.to_string_lossy()).masked());
    }
    // CLAUDE_CODE_MAX_CONTEXT_TOKENS and its like are counts.
    if TELLING.iter().any(|part| name.contains(part)) && !name.ends_with("_TOKENS") {
        return "[hidden]".to_owned();
    }
    if holds_a_login(&value.to_string_lossy()) {
        return "[hidden: a URL with a login]".to_owned();
    }
    quoted(value)
}

/// `https://user:password@host`.
fn holds_a_login(text: &str) -> bool {
    let authorities = text.split("://").skip(1).filter_map(|rest| rest.split(['/', '?', '#']).next());
    authorities.into_iter().any(|authority| authority.contains('@'))
}

/// The word as a shell takes it.
fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,@%+".contains(letter);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into_owned();
    }
    let escaped: String =
        text.chars().map(|letter| if letter.is_control() && letter != '\n' { '?' } else { letter }).collect();
    format!("'{}'", escaped.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::{holds_a_login, quoted};
    use std::ffi::OsStr;

    #[test]
    fn words_are_quoted_as_a_shell_takes_them() {
        assert_eq!(quoted(OsStr::new("--model")), "--model");
        assert_eq!(quoted(OsStr::new("it's \u{1b}[31m")), r"'it'\''s ?[31m'");
        assert_eq!(quoted(OsStr::new("")), "''");
    }

    #[test]
    fn a_login_in_a_url_is_seen() {
        assert!(holds_a_login("http://u:p@proxy:1/"));
        assert!(!holds_a_login("http://proxy:1/a@b"));
    }
}
