//! A project whose own settings would send the worker elsewhere. Current clients ignore such settings because of a
//! switch in the worker's environment (`child_env`); before one that does not know the switch nothing is started.

use std::ffi::OsStr;
use std::path::Path;

use serde_json::Value;
use shared::child_env::{ChildEnv, redirects};
use shared::claude::{self, MANAGED_BY_HOST};
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::project_settings::{ProjectSettings, WITHOUT};
use shared::world::World;

use crate::launch::Launch;
use crate::sitting::Sitting;

/// Refuses a session in a directory whose project would lead it elsewhere. To be asked again where the directory
/// becomes another one.
pub fn refuse(world: &World, launch: &Launch) -> Result<()> {
    let worker = &launch.worker;
    if launch.asked.sitting == Sitting::None || !(worker.base_url().is_some() || worker.is_account()) {
        return Ok(());
    }
    let own = world.paths.claude_config().ok();
    let settings = ProjectSettings::of(&launch.directory, &launch.arguments, own.as_deref());
    follows(&launch.program, settings, &launch.env, !worker.is_account())
}

/// Refuses where this client would follow one of these. `switch`: whether the worker has the switch at all; an
/// account has not, because it would keep its own login from the client.
fn follows(program: &Path, all: Vec<ProjectSettings>, env: &ChildEnv, switch: bool) -> Result<()> {
    let same = |name: &str, value: &Value| {
        let own = env.variables().find(|(own, _)| *own == OsStr::new(name));
        own.is_some_and(|(_, own)| value.as_str().is_some_and(|value| own == OsStr::new(value)))
    };
    // Which of Anthropic's models an account works with is no detour.
    let matters = |name: &str| switch || !name.contains("MODEL");
    for settings in all {
        let leads = |name: &str, value: &Value| redirects(name) && matters(name) && !same(name, value);
        // Hundreds of megabytes are only searched here, where it matters.
        let Some(told) = settings.leading(leads) else { continue };
        if switch && claude::knows(program, MANAGED_BY_HOST) == Some(true) {
            continue;
        }
        let what = format!("this Claude Code may follow a project that {told}, in");
        let first = if switch { "update Claude Code" } else { "do this with a provider's worker" };
        let hint = format!("{first}, take it out of the file, or {WITHOUT}");
        return Err(Error::new(Exit::Config, what).at(&settings.path).hint(hint));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
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
        let settings = ProjectSettings::of(directory.path(), &arguments, None);
        follows(&client, settings, &ChildEnv::default(), true).is_err()
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
            let settings = ProjectSettings::of(directory.path(), &[], None);
            follows(&client, settings, &ChildEnv::default(), false).is_err()
        };
        assert!(refused(SETTINGS) && refused(r#"{"env": {"ANTHROPIC_AUTH_TOKEN": "k"}}"#));
        assert!(!refused(r#"{"env": {"ANTHROPIC_MODEL": "opus", "ANTHROPIC_DEFAULT_OPUS_MODEL": "m"}}"#));
    }
}
