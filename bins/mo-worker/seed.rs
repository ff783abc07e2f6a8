//! Claude Code's first-run state of a worker: without it a fresh identity asks questions nobody can answer.
//! Only the onboarding is marked as done; no part of a key is ever written there.

use std::path::Path;

use serde::Deserialize;
use shared::document;
use shared::error::{Error, Result};
use shared::file::{self, Durability, PRIVATE};
use shared::json_edit;

const ONBOARDED: &str = "hasCompletedOnboarding";

#[derive(Deserialize)]
struct State {
    #[serde(default, rename = "hasCompletedOnboarding")]
    onboarded: bool,
}

/// Marks the onboarding as done, keeping everything else that stands there.
pub fn plant(config_dir: &Path) -> Result<()> {
    let path = config_dir.join(".claude.json");
    let found = file::read_own(&path, file::JSON_CAP)?;
    // An interrupted write leaves an empty file: nothing is lost by beginning anew.
    let found = found.filter(|bytes| !bytes.iter().all(u8::is_ascii_whitespace));
    let bytes = found.unwrap_or_else(|| b"{}\n".to_vec());
    let broken = |error: Error| error.hint("move it away: Claude Code makes a new one");
    document::must_be_object(&path, &bytes).map_err(broken)?;
    if document::parse::<State>(&path, &bytes).map_err(broken)?.onboarded {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&bytes);
    let edited = json_edit::set(&path, &text, &[], ONBOARDED, &true)?;
    file::replace(&path, edited.as_bytes(), PRIVATE, Durability::Lazy)
}

#[cfg(test)]
mod tests {
    use super::plant;
    use std::fs;

    #[test]
    fn what_is_there_stays_and_nothing_changes_twice() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(".claude.json");
        plant(home.path()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"hasCompletedOnboarding\": true}\n");
        let before = "{\n  \"z\": 1.0,\n  \"a\": [ ]\n}";
        fs::write(&path, before).unwrap();
        plant(home.path()).unwrap();
        let after = fs::read_to_string(&path).unwrap();
        assert_eq!(after, "{\n  \"z\": 1.0,\n  \"a\": [ ],\n  \"hasCompletedOnboarding\": true\n}");
        plant(home.path()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), after);
    }
}
