//! A project whose own settings would send the worker elsewhere. Current clients ignore such settings because of a
//! switch in the worker's environment (`child_env`); before one that does not know the switch nothing is started.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use shared::child_env::{ChildEnv, redirects};
use shared::claude::{self, MANAGED_BY_HOST};
use shared::error::{Error, Result};
use shared::exit::Exit;

/// Which settings of a project there are, by the names that `--setting-sources` has for them.
const SOURCES: [(&str, &str); 2] = [("project", "settings.json"), ("local", "settings.local.json")];
/// The flag that says which settings are read.
const FLAG: &str = "--setting-sources";

#[derive(Deserialize)]
struct Settings {
    #[serde(default)]
    env: BTreeMap<String, Value>,
}

/// Refuses the run where this client would follow the project. `switch`: whether the worker has the switch at all; an
/// account has not, because it would keep its own login from the client.
pub fn refuse(
    program: &Path,
    directory: &Path,
    env: &ChildEnv,
    arguments: &[OsString],
    switch: bool,
) -> Result<()> {
    let read = sources(arguments);
    for (source, file) in SOURCES {
        if read.as_ref().is_some_and(|read| !read.split(',').any(|one| one.trim() == source)) {
            continue;
        }
        let path = directory.join(".claude").join(file);
        let mut names = redirecting(&path, env);
        if !switch {
            // Which of Anthropic's models an account works with is no detour.
            names.retain(|name| !name.contains("MODEL"));
        }
        // Hundreds of megabytes are only searched here, where it matters.
        if names.is_empty() || (switch && claude::knows(program, MANAGED_BY_HOST) == Some(true)) {
            continue;
        }
        let what =
            format!("this Claude Code may let the project set {} for the worker, in", names.join(", "));
        let first = if switch { "update Claude Code" } else { "do this with a provider's worker" };
        let hint =
            format!("{first}, take it out of the file, or leave the project's settings out: {FLAG} user");
        return Err(Error::new(Exit::Config, what).at(&path).hint(hint));
    }
    Ok(())
}

/// The variables in the file that differ from the worker's. What the client cannot read either is no danger.
fn redirecting(path: &Path, env: &ChildEnv) -> Vec<String> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let Ok(settings) = serde_json::from_slice::<Settings>(&bytes) else { return Vec::new() };
    let same = |name: &str, value: &Value| {
        let own = env.variables().find(|(own, _)| *own == OsStr::new(name));
        own.is_some_and(|(_, own)| value.as_str().is_some_and(|value| own == OsStr::new(value)))
    };
    let elsewhere = settings.env.iter().filter(|(name, value)| redirects(name) && !same(name, value));
    elsewhere.map(|(name, _)| shared::flatten::flatten(name, 80)).collect()
}

/// Which settings the arguments ask for; nothing when all are read.
fn sources(arguments: &[OsString]) -> Option<String> {
    let mut words = arguments.iter().map(|word| word.to_string_lossy());
    let mut asked = None;
    while let Some(word) = words.next() {
        if word == FLAG {
            asked = words.next().map(std::borrow::Cow::into_owned);
        } else if let Some(value) = word.strip_prefix(FLAG).and_then(|rest| rest.strip_prefix('=')) {
            asked = Some(value.to_owned());
        }
    }
    asked
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const SETTINGS: &str = r#"{"env": {"ANTHROPIC_BASE_URL": "http://elsewhere", "EDITOR": "vi", "X": 1}}"#;

    fn refused(program: &str, arguments: &[&str]) -> bool {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join(".claude")).unwrap();
        fs::write(directory.path().join(".claude/settings.json"), SETTINGS).unwrap();
        let client = directory.path().join("claude");
        fs::write(&client, program).unwrap();
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        refuse(&client, directory.path(), &ChildEnv::default(), &arguments, true).is_err()
    }

    #[test]
    fn only_a_client_without_the_switch_is_kept_from_the_project() {
        assert!(refused("an old one", &["-p", "x"]));
        let new = MANAGED_BY_HOST.to_owned() + &"x".repeat(1 << 20);
        assert!(!refused(&new, &["-p", "x"]));
    }

    #[test]
    fn an_account_is_kept_from_a_detour_whatever_the_client_and_not_from_a_model() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join(".claude")).unwrap();
        let client = directory.path().join("claude");
        fs::write(&client, MANAGED_BY_HOST.to_owned() + &"x".repeat(1 << 20)).unwrap();
        let refused = |settings: &str| {
            fs::write(directory.path().join(".claude/settings.json"), settings).unwrap();
            refuse(&client, directory.path(), &ChildEnv::default(), &[], false).is_err()
        };
        assert!(refused(SETTINGS) && refused(r#"{"env": {"ANTHROPIC_AUTH_TOKEN": "k"}}"#));
        assert!(!refused(r#"{"env": {"ANTHROPIC_MODEL": "opus", "ANTHROPIC_DEFAULT_OPUS_MODEL": "m"}}"#));
    }

    #[test]
    fn settings_that_are_not_read_redirect_nobody() {
        assert!(!refused("an old one", &["--setting-sources", "user"]));
        assert!(!refused("an old one", &["--setting-sources=user,local"]));
        assert!(refused("an old one", &["--setting-sources=user,project"]));
    }
}
