//! A worker: an isolated Claude Code identity, made of Claude Code's `settings.json` and our `worker.json`.
//! Which variables its process gets is decided in `child_env`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::base_url::BaseUrl;
use crate::document;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::file;
use crate::name::Name;
use crate::paths::Paths;
pub use crate::profile::{Check, Kind, Mapped, PROFILE, Profile, TierCheck};
use crate::redact::typed;
use crate::secret::Secret;
use crate::settings::{self, Settings};
use crate::tier::Tier;

/// Claude Code's own file.
pub const SETTINGS: &str = "settings.json";
/// The shim that runs the worker without any PATH.
pub const SHIM: &str = "run";

/// Where a worker's key comes from.
#[derive(Debug)]
pub enum Key {
    /// It stands in settings.json.
    Stored(Secret),
    /// A command prints it at each launch.
    Command(Vec<String>),
    /// An account needs none: Claude Code is logged in.
    Login,
    /// There is none yet.
    Missing,
}

/// How far a worker is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum State {
    /// Has no key.
    NeedsKey,
    /// Has never been checked, or not since its key changed.
    Unchecked,
    /// Every tier answered at this time.
    Live(String),
    /// A tier did not answer; what kind of trouble.
    Failing(String),
}

/// A worker as it stands on disk.
#[derive(Debug)]
pub struct Worker {
    /// Its name.
    pub name: Name,
    /// Its directory.
    pub directory: PathBuf,
    /// Our file; made up for a worker of the earlier plugin, which had none.
    pub profile: Profile,
    /// Claude Code's file.
    pub settings: Settings,
}

impl Worker {
    /// Reads a worker that must be there.
    pub fn load(paths: &Paths, name: &Name) -> Result<Self> {
        let directory = paths.worker(name.as_str())?;
        if !directory.is_dir() {
            return Err(Error::new(Exit::Usage, format!("there is no worker `{}`", typed(name.as_str())))
                .hint("`mo-worker list` shows the workers there are, `mo-worker create` makes one"));
        }
        Self::read(directory, name)
    }

    /// Reads the worker in this directory.
    pub fn read(directory: PathBuf, name: &Name) -> Result<Self> {
        file::refuse_foreign(&directory)?;
        let settings = Settings::read(&directory.join(SETTINGS))?;
        let path = directory.join(PROFILE);
        let profile = Profile::read(&path)?;
        let mut worker =
            Self { name: name.clone(), directory, profile: profile.unwrap_or_default(), settings };
        match worker.profile.kind {
            Kind::Provider => worker.refuse_nowhere()?,
            Kind::Account => worker.refuse_misled()?,
        }
        worker.follow_settings();
        Ok(worker)
    }

    /// Without a URL, Claude Code would take a provider's key to Anthropic.
    fn refuse_nowhere(&self) -> Result<()> {
        let broken = |why: &str| {
            document::broken(self.settings.path(), 1, &format!("`env.{}`: {why}", settings::BASE_URL))
                .hint("write the provider's URL there, or make the worker anew")
        };
        match self.base_url().map(BaseUrl::parse) {
            None => Err(broken("it is missing")),
            Some(Err(refusal)) => Err(broken(&refusal.to_string())),
            Some(Ok(_)) => Ok(()),
        }
    }

    /// An account's login goes to Anthropic, at most by way of this machine, and lies in a directory of its own.
    fn refuse_misled(&self) -> Result<()> {
        let url = self.base_url().map(BaseUrl::parse).transpose()?;
        if url.is_some_and(|parsed| !parsed.url.is_anthropic() && !parsed.url.is_loopback()) {
            let why = format!("`env.{}`: an account's login is sent to no other host", settings::BASE_URL);
            return Err(document::broken(self.settings.path(), 1, &why).hint("take it out"));
        }
        let own = self.profile.config_dir.as_ref();
        if own.is_none_or(|own| !own.is_absolute() || own.starts_with(&self.directory)) {
            let why = "`config_dir`: an account needs an absolute path of its own";
            return Err(document::broken(&self.directory.join(PROFILE), 1, why));
        }
        Ok(())
    }

    /// settings.json is Claude Code's word on the models, and a user may have edited it: it wins.
    fn follow_settings(&mut self) {
        let default = self.profile.default_tier.or_else(|| first_mapped(&self.profile.tiers));
        let default_model = default.and_then(|tier| self.settings.get(tier.variable())).map(str::to_owned);
        // What stood in before the default tier's model was edited by hand still only stands in.
        let stood_in =
            default.and_then(|tier| self.profile.tiers.get(&tier)).map(|mapped| mapped.model.clone());
        for tier in Tier::ALL {
            let Some(model) = self.settings.get(tier.variable()) else { continue };
            match self.profile.tiers.get_mut(&tier) {
                Some(mapped) if mapped.model == model => {}
                Some(mapped) => *mapped = Mapped { model: model.to_owned(), ..Mapped::default() },
                // The default tier's model stands in for every tier that is not mapped.
                None if [&default_model, &stood_in].iter().any(|one| one.as_deref() == Some(model)) => {}
                None => {
                    let mapped = Mapped { model: model.to_owned(), ..Mapped::default() };
                    self.profile.tiers.insert(tier, mapped);
                }
            }
        }
        self.profile.default_tier = default.or_else(|| first_mapped(&self.profile.tiers));
    }

    /// Where the provider is; nothing for an account that reaches Anthropic directly.
    pub fn base_url(&self) -> Option<&str> {
        self.settings.get(settings::BASE_URL)
    }

    /// Whether the models behind this worker are Anthropic's own.
    pub fn is_anthropic(&self) -> bool {
        if self.is_account() {
            return true;
        }
        match self.base_url() {
            None => true,
            Some(url) => BaseUrl::parse(url).is_ok_and(|parsed| parsed.url.is_anthropic()),
        }
    }

    /// Whether it is a Claude account.
    pub fn is_account(&self) -> bool {
        self.profile.kind == Kind::Account
    }

    /// Where the key comes from. An account's own login is the only one: a key beside it would be used in its place.
    pub fn key(&self) -> Key {
        if self.is_account() {
            return Key::Login;
        }
        if let Some(command) = &self.profile.key_command {
            return Key::Command(command.clone());
        }
        match self.settings.get(self.profile.auth.variable()).filter(|key| *key != settings::PLACEHOLDER) {
            Some(key) => Key::Stored(Secret::from_file(key)),
            None => Key::Missing,
        }
    }

    /// The default tier's model.
    pub fn default_model(&self) -> Option<&Mapped> {
        self.profile.default_tier.and_then(|tier| self.profile.tiers.get(&tier))
    }

    /// The configuration directory to name to Claude Code; nothing where it is the default one, because
    /// naming `~/.claude` is not the same as naming nothing.
    pub fn config_dir(&self, paths: &Paths) -> Option<PathBuf> {
        let directory = self.profile.config_dir.clone().unwrap_or_else(|| self.directory.clone());
        let default = paths.home().ok().map(|home| home.join(".claude"));
        (Some(&directory) != default.as_ref()).then_some(directory)
    }

    /// Where Claude Code keeps this worker's transcripts.
    pub fn projects(&self) -> PathBuf {
        self.profile.config_dir.as_ref().unwrap_or(&self.directory).join("projects")
    }

    /// How far the worker is.
    pub fn state(&self) -> State {
        if matches!(self.key(), Key::Missing) {
            return State::NeedsKey;
        }
        let Some(check) = &self.profile.last_check else { return State::Unchecked };
        // A check speaks for the endpoint and the models that it asked, not for later ones.
        let asked =
            self.profile.tiers.iter().all(|(tier, mapped)| {
                check.tiers.get(tier).is_some_and(|checked| checked.model == mapped.model)
            });
        if !asked || check.tiers.is_empty() || check.base_url.as_deref() != self.base_url() {
            return State::Unchecked;
        }
        match check.tiers.values().find(|tier| !tier.ok) {
            Some(failed) => State::Failing(failed.kind.clone()),
            None => State::Live(check.at.clone()),
        }
    }
}

/// The tier that stands in for the others where nobody chose: everyday work first.
pub fn first_mapped<T>(tiers: &BTreeMap<Tier, T>) -> Option<Tier> {
    [Tier::Sonnet, Tier::Opus, Tier::Haiku, Tier::Fable].into_iter().find(|tier| tiers.contains_key(tier))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn worker(settings: &str, profile: Option<&str>) -> Worker {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join(SETTINGS), settings).unwrap();
        if let Some(profile) = profile {
            fs::write(home.path().join(PROFILE), profile).unwrap();
        }
        Worker::read(home.path().to_owned(), &Name::parse("w").unwrap()).unwrap()
    }

    #[test]
    fn a_worker_of_the_earlier_plugin_is_read() {
        let settings = r#"{"env": {"ANTHROPIC_AUTH_TOKEN": "k", "ANTHROPIC_BASE_URL": "https://h",
            "ANTHROPIC_DEFAULT_OPUS_MODEL": "big"}}"#;
        let worker = worker(settings, None);
        assert_eq!(worker.profile.default_tier, Some(Tier::Opus));
        assert_eq!(worker.default_model().unwrap().model, "big");
        assert_eq!(worker.state(), State::Unchecked);
    }

    #[test]
    fn a_tier_filled_from_the_default_is_not_mapped() {
        let settings = r#"{"env": {"ANTHROPIC_BASE_URL": "https://h", "ANTHROPIC_DEFAULT_SONNET_MODEL": "m", "ANTHROPIC_DEFAULT_HAIKU_MODEL": "m",
            "ANTHROPIC_DEFAULT_OPUS_MODEL": "edited", "ANTHROPIC_DEFAULT_FABLE_MODEL": "m"}}"#;
        let worker = worker(settings, Some(r#"{"tiers": {"sonnet": {"model": "m", "context_window": 9}}}"#));
        let tiers: Vec<_> = worker.profile.tiers.keys().copied().collect();
        assert_eq!(tiers, [Tier::Opus, Tier::Sonnet]);
        assert_eq!(worker.default_model().unwrap().context_window, Some(9));
        assert_eq!(worker.state(), State::NeedsKey);
    }

    #[test]
    fn an_account_uses_its_own_login_and_sends_it_nowhere_else() {
        let read = |settings: &str, profile: &str| {
            let home = tempfile::tempdir().unwrap();
            fs::write(home.path().join(SETTINGS), settings).unwrap();
            fs::write(home.path().join(PROFILE), profile).unwrap();
            Worker::read(home.path().to_owned(), &Name::parse("w").unwrap())
        };
        let profile =
            r#"{"version": 1, "kind": "account", "config_dir": "/h/.claude-w", "default_tier": "opus"}"#;
        let keyed = r#"{"env": {"ANTHROPIC_AUTH_TOKEN": "k", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}}"#;
        let worker = read(keyed, profile).unwrap();
        assert!(matches!(worker.key(), Key::Login) && worker.is_anthropic());
        assert_eq!(worker.profile.default_tier, Some(Tier::Opus));
        assert!(read(r#"{"env": {"ANTHROPIC_BASE_URL": "https://elsewhere.example"}}"#, profile).is_err());
        for nowhere in ["null", "\"relative\""] {
            let profile = format!(r#"{{"version": 1, "kind": "account", "config_dir": {nowhere}}}"#);
            assert!(read(r#"{"env": {}}"#, &profile).is_err(), "{nowhere}");
        }
    }

    #[test]
    fn the_placeholder_is_no_key() {
        let settings = r#"{"env": {"ANTHROPIC_BASE_URL": "https://h", "ANTHROPIC_AUTH_TOKEN": "PASTE_YOUR_API_KEY_HERE"}}"#;
        assert!(matches!(worker(settings, None).key(), Key::Missing));
        let command = worker(settings, Some(r#"{"key_command": ["pass", "glm"]}"#));
        assert!(matches!(command.key(), Key::Command(_)));
    }

    #[test]
    fn a_provider_without_a_sound_url_is_broken() {
        for url in ["", "https://user:pass@h", "https://h?key=1", "ftp://h"] {
            let home = tempfile::tempdir().unwrap();
            let settings =
                format!(r#"{{"env": {{"ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_AUTH_TOKEN": "k"}}}}"#);
            fs::write(home.path().join(SETTINGS), settings).unwrap();
            let error = Worker::read(home.path().to_owned(), &Name::parse("w").unwrap()).unwrap_err();
            assert!(error.to_string().contains("ANTHROPIC_BASE_URL"), "{error}");
            assert!(!error.to_string().contains("user:pass"), "{error}");
        }
    }

    #[test]
    fn a_check_speaks_only_for_what_it_asked() {
        let state = |url: &str, model: &str| {
            let settings = format!(
                r#"{{"env": {{"ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_AUTH_TOKEN": "k", "ANTHROPIC_DEFAULT_SONNET_MODEL": "{model}"}}}}"#
            );
            let profile = r#"{"version": 1, "tiers": {"sonnet": {"model": "m"}}, "last_check": {"at": "2026-01-01T00:00:00Z",
                "base_url": "https://h", "tiers": {"sonnet": {"ok": true, "kind": "ok", "model": "m", "ms": 1}}}}"#;
            worker(&settings, Some(profile)).state()
        };
        assert_eq!(state("https://h", "m"), State::Live("2026-01-01T00:00:00Z".into()));
        assert_eq!(state("https://other", "m"), State::Unchecked);
        assert_eq!(state("https://h", "other"), State::Unchecked);
    }

    #[test]
    fn an_edited_default_model_maps_no_other_tier() {
        let settings = r#"{"env": {"ANTHROPIC_BASE_URL": "https://h", "ANTHROPIC_DEFAULT_SONNET_MODEL": "new",
            "ANTHROPIC_DEFAULT_HAIKU_MODEL": "old", "ANTHROPIC_DEFAULT_OPUS_MODEL": "own"}}"#;
        let worker = worker(settings, Some(r#"{"tiers": {"sonnet": {"model": "old"}}}"#));
        let tiers: Vec<_> =
            worker.profile.tiers.iter().map(|(tier, mapped)| (*tier, mapped.model.as_str())).collect();
        assert_eq!(tiers, [(Tier::Opus, "own"), (Tier::Sonnet, "new")]);
    }
}
