//! Claude Code's first-run state of a worker: without it a fresh identity asks questions nobody can answer.
//! Only the onboarding is marked as done; no part of a key is ever written there.

use std::path::Path;

use serde::Deserialize;
use shared::document;
use shared::error::Result;
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
    let bytes = file::read_if_there(&path, file::JSON_CAP)?.unwrap_or_else(|| b"{}\n".to_vec());
    document::must_be_object(&path, &bytes)?;
    if document::parse::<State>(&path, &bytes)?.onboarded {
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
