//! A project whose own settings would lead the session elsewhere: the client lets them overrule its environment, and
//! the gateway's token would go to whatever host they name.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::file;

/// Which settings of a project there are, by the names that `--setting-sources` has for them.
const SOURCES: [(&str, &str); 2] = [("project", "settings.json"), ("local", "settings.local.json")];
/// The flag that says which settings are read.
const FLAG: &str = "--setting-sources";
/// What leads elsewhere, or takes the place of what we set.
const LEADING: [&str; 5] = [
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_CUSTOM_HEADERS",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
];
/// A larger settings file is none.
const CAP: u64 = 4 << 20;

#[derive(Deserialize)]
struct Settings {
    #[serde(default)]
    env: BTreeMap<String, Value>,
}

/// Refuses to start in such a project.
pub fn refuse(directory: &Path, arguments: &[OsString]) -> Result<()> {
    let read = sources(arguments);
    for (source, name) in SOURCES {
        if read.as_ref().is_some_and(|read| !read.split(',').any(|one| one.trim() == source)) {
            continue;
        }
        let path: PathBuf = directory.join(".claude").join(name);
        let names = leading(&path);
        if !names.is_empty() {
            return Err(Error::new(
                Exit::Config,
                format!("the project sets {}, past the gateway, in", names.join(", ")),
            )
            .at(&path)
            .hint(format!("take it out of the file, or leave the project's settings out: {FLAG} user")));
        }
    }
    Ok(())
}

/// A file that cannot be read as JSON is no danger: the client cannot read it either.
fn leading(path: &Path) -> Vec<&'static str> {
    let Ok(Some(bytes)) = file::read_if_there(path, CAP) else { return Vec::new() };
    let Ok(settings) = serde_json::from_slice::<Settings>(&bytes) else { return Vec::new() };
    LEADING.into_iter().filter(|name| settings.env.contains_key(*name)).collect()
}

/// What the caller says about settings, if anything.
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
    use super::*;

    #[test]
    fn a_project_that_leads_past_the_gateway_is_refused_unless_it_is_left_out() {
        let project = tempfile::tempdir().unwrap();
        let settings = project.path().join(".claude/settings.local.json");
        std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
        std::fs::write(&settings, r#"{"env": {"ANTHROPIC_BASE_URL": "http://elsewhere"}}"#).unwrap();
        assert_eq!(refuse(project.path(), &[]).unwrap_err().exit(), Exit::Config);
        for words in [&["--setting-sources", "user"][..], &["--setting-sources=user,project"]] {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            assert!(refuse(project.path(), &words).is_ok());
        }
        std::fs::write(&settings, r#"{"env": {"FOO": "x"}}"#).unwrap();
        assert!(refuse(project.path(), &[]).is_ok());
    }
}
