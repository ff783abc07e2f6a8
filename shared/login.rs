//! Whether an account is logged in, as Claude Code itself says (`claude auth status --json`), and where a login lies.
//! The login itself is never opened: no token is read, stored, refreshed or copied.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::child_env::{ChildEnv, Launch};
use crate::claude;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::file;
use crate::flatten::flatten;
use crate::moment::Moment;
use crate::reply;
use crate::worker::Worker;
use crate::world::World;

/// How long Claude Code may take to say it.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// Where Claude Code keeps a login on systems without a keychain. Only its presence is looked at.
pub const CREDENTIALS: &str = ".credentials.json";
/// Claude Code's state; it names the account that logged in.
const STATE: &str = ".claude.json";
/// The longest word that is shown.
const LONGEST: usize = 64;

/// What Claude Code says of a login.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Login {
    /// Whether somebody is logged in.
    pub is_in: bool,
    /// How: `claude.ai`, `oauth_token`, `api_key`, `none`.
    pub method: String,
    /// The kind of plan.
    pub plan: Option<String>,
    /// Who, as far as it is told.
    pub email: Option<String>,
    /// When the login ends.
    pub expires_at: Option<Moment>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Answer {
    logged_in: Option<bool>,
    auth_method: Option<String>,
    subscription_type: Option<String>,
    plan_tier: Option<String>,
    email: Option<String>,
    login_expires_at: Value,
}

impl Login {
    /// Reads the answer to `auth status --json`; nothing where it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.get(text.find('{')?..=text.rfind('}')?)?;
        let answer: Answer = serde_json::from_str(text).ok()?;
        let word =
            |word: Option<String>| word.map(|word| flatten(&word, LONGEST)).filter(|word| !word.is_empty());
        Some(Self {
            is_in: answer.logged_in?,
            method: word(answer.auth_method).unwrap_or_default(),
            plan: word(answer.plan_tier).or(word(answer.subscription_type)),
            email: word(answer.email),
            expires_at: Moment::of_value(&answer.login_expires_at),
        })
    }

    /// In a few words.
    pub fn text(&self) -> String {
        match (self.is_in, &self.plan) {
            (true, Some(plan)) => format!("logged in ({plan})"),
            (true, None) => "logged in".to_owned(),
            (false, _) => "logged out".to_owned(),
        }
    }
}

/// Asks Claude Code, in the worker's own environment: nothing of ours can pass for its login.
pub fn ask(world: &World, worker: &Worker) -> Result<Login> {
    let program = claude::find(world)?;
    let env = ChildEnv::of(&world.env, worker, &world.paths, &Launch::default());
    let neutral = tempfile::tempdir()
        .map_err(|error| Error::new(Exit::Io, "cannot make a temporary directory").because(&error))?;
    let mut command = Command::new(&program);
    command.args(["auth", "status", "--json"]).env_clear().envs(env.variables()).current_dir(neutral.path());
    let unclear = |why: &str| {
        let what = format!("cannot tell whether worker `{}` is logged in: Claude Code {why}", worker.name);
        Error::new(Exit::CouldNot, what).hint("`mo-worker doctor` shows which Claude Code is found")
    };
    match reply::of(&mut command, PATIENCE) {
        Err(error) => Err(claude::cannot_run(&program, &error)),
        Ok(None) => Err(unclear("gave no answer in time")),
        // It ends with 1 when nobody is logged in, and says so all the same.
        Ok(Some(reply)) => Login::parse(&reply.text).ok_or_else(|| unclear("does not say")),
    }
}

/// Whether this configuration directory seems to hold a login; `state` is where the account's state file lies.
pub fn is_held(config_dir: &Path, state: &Path) -> bool {
    let names_an_account = || {
        let bytes = file::read_if_there(state, file::JSON_CAP).ok().flatten().unwrap_or_default();
        serde_json::from_slice::<Value>(&bytes)
            .is_ok_and(|state| state.get("oauthAccount").is_some_and(Value::is_object))
    };
    config_dir.join(CREDENTIALS).is_file() || names_an_account()
}

/// The state file of an account in this directory; the default account's lies beside it.
pub fn state_file(config_dir: &Path, is_default: bool) -> std::path::PathBuf {
    match config_dir.parent().filter(|_| is_default) {
        Some(home) => home.join(STATE),
        None => config_dir.join(STATE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_client_says_is_told_apart() {
        let login = Login::parse(
            "note {\"loggedIn\": true, \"authMethod\": \"claude.ai\", \"email\": \"a@b\\u001b[2J\",
            \"subscriptionType\": \"max\", \"planTier\": \"max_20x\", \"loginExpiresAt\": null}\n",
        )
        .unwrap();
        assert_eq!((login.is_in, login.text().as_str()), (true, "logged in (max_20x)"));
        assert_eq!(login.email.as_deref(), Some("a@b [2J"));
        let out = Login::parse(r#"{"loggedIn": false, "authMethod": "none", "other": [1]}"#).unwrap();
        assert_eq!((out.is_in, out.text().as_str()), (false, "logged out"));
        for odd in ["", "error", "}{", "{}", "{\"loggedIn\": 1}"] {
            assert_eq!(Login::parse(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_login_is_seen_without_being_opened() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join(".claude-x");
        let state = state_file(&dir, false);
        std::fs::create_dir(&dir).unwrap();
        assert!(!is_held(&dir, &state));
        std::fs::write(&state, r#"{"oauthAccount": {"emailAddress": "a@b"}}"#).unwrap();
        assert!(is_held(&dir, &state));
        std::fs::write(&state, "{}").unwrap();
        std::fs::write(dir.join(CREDENTIALS), "not json").unwrap();
        assert!(is_held(&dir, &state));
    }
}
