//! One preset: what is known of a provider, checked before anything uses it.
//! Where presets come from, and which one wins, is left to the catalogue.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::auth::Auth;
use crate::base_url::BaseUrl;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::flatten::flatten;
use crate::model::{self, Model};
use crate::secret::Secret;
use crate::tier::Tier;

/// The longest id.
const LONGEST_ID: usize = 64;

/// Variables that decide where a worker goes and with which key: never a preset's switch.
const NOT_A_SWITCH: [&str; 3] = ["ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY"];

/// How the switches of Claude Code begin. A preset sets nothing else: not PATH, not a library to load.
const SWITCHES: [&str; 6] = ["CLAUDE_CODE_", "API_", "ENABLE_", "DISABLE_", "MAX_", "BASH_"];

/// Where an entry comes from.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Compiled in.
    #[default]
    Bundled,
    /// The user's own.
    Own,
    /// The user's own, in place of a bundled one.
    OwnOverBundled,
}

/// A provider: where it is, how it takes its key, which of its models serves which tier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preset {
    /// Its id, the word after `--preset`.
    #[serde(skip)]
    pub id: String,
    /// Where this entry comes from.
    #[serde(skip_deserializing)]
    pub origin: Origin,
    /// Its name for people.
    #[serde(default)]
    pub label: String,
    /// Where its Messages API is.
    pub base_url: BaseUrl,
    /// How it takes its key.
    #[serde(default)]
    pub auth: Auth,
    /// The model of each tier that is mapped.
    #[serde(default)]
    pub tiers: BTreeMap<Tier, String>,
    /// What is known of its models, by name.
    #[serde(default)]
    pub models: BTreeMap<String, Model>,
    /// Where to get a key; none for a server of the user's own.
    #[serde(default)]
    pub key_url: Option<String>,
    /// What stands in the place of a key where the server looks at none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder_key: Option<String>,
    /// Switches of Claude Code that this provider needs.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Paid by the month: tokens cost nothing extra.
    #[serde(default)]
    pub flat_plan: bool,
    /// Runs on the user's own machine.
    #[serde(default)]
    pub local: bool,
    /// What a user should know.
    #[serde(default)]
    pub notes: String,
    /// What could not be verified, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unverified: Option<String>,
    /// The day it was checked against the sources.
    #[serde(default)]
    pub verified: Option<String>,
    /// The provider's own pages it was checked against.
    #[serde(default)]
    pub sources: Vec<String>,
}

impl Preset {
    /// A preset with nothing but an id and a place.
    pub fn new(id: &str, base_url: BaseUrl) -> Result<Self> {
        Self {
            id: String::new(),
            origin: Origin::Own,
            label: String::new(),
            auth: if base_url.is_anthropic() { Auth::XApiKey } else { Auth::Bearer },
            local: base_url.is_loopback(),
            base_url,
            tiers: BTreeMap::new(),
            models: BTreeMap::new(),
            key_url: None,
            placeholder_key: None,
            env: BTreeMap::new(),
            flat_plan: false,
            notes: String::new(),
            unverified: None,
            verified: None,
            sources: Vec::new(),
        }
        .checked(id, Origin::Own)
    }

    /// The preset as it may be used, or what is wrong with it.
    pub fn checked(mut self, id: &str, origin: Origin) -> Result<Self> {
        check_id(id)?;
        id.clone_into(&mut self.id);
        self.origin = origin;
        self.label = if self.label.trim().is_empty() { id.to_owned() } else { flatten(&self.label, 80) };
        self.notes = flatten(&self.notes, 500);
        for name in self.tiers.values().chain(self.models.keys()) {
            model::check_name(name)?;
        }
        for (name, value) in &self.env {
            check_switch(name, value)?;
        }
        if let Some(key) = &self.placeholder_key {
            Secret::parse(key.as_bytes())?;
        }
        self.key_url = self.key_url.map(|url| flatten(&url, 200)).filter(|url| url.starts_with("https://"));
        Ok(self)
    }

    /// What is known of the model that serves this tier.
    pub fn model_of(&self, tier: Tier) -> Option<&Model> {
        self.tiers.get(&tier).and_then(|name| self.models.get(name))
    }
}

/// Refuses what can be no preset's id.
pub fn check_id(id: &str) -> Result<()> {
    let fits = id.len() <= LONGEST_ID
        && id.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        && id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if fits {
        return Ok(());
    }
    Err(Error::new(Exit::Usage, format!("`{}` cannot be a preset's id", flatten(id, LONGEST_ID)))
        .hint("an id has 1 to 64 characters: a-z, 0-9 and -, and starts with a letter or digit"))
}

fn check_switch(name: &str, value: &str) -> Result<()> {
    let well_formed = name.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase())
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    if NOT_A_SWITCH.contains(&name) || name.contains("CUSTOM_HEADERS") {
        return Err(Error::new(Exit::Usage, format!("{name} has no place in a preset's env"))
            .hint("the URL is base_url, and a key is stored with mo-key"));
    }
    let is_clients = SWITCHES.iter().any(|start| name.starts_with(start));
    if !well_formed || !is_clients || value.contains(char::is_control) {
        let shown = flatten(name, 60);
        return Err(Error::new(Exit::Usage, format!("`{shown}` is no variable a preset can set")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(json: &str) -> Result<Preset> {
        serde_json::from_str::<Preset>(json).unwrap().checked("x", Origin::Own)
    }

    #[test]
    fn a_base_url_is_enough() {
        let preset = entry(r#"{"base_url": "https://h/v1/", "unknown": 1}"#).unwrap();
        assert_eq!((preset.label.as_str(), preset.base_url.as_str()), ("x", "https://h"));
        assert_eq!(preset.auth, Auth::Bearer);
    }

    #[test]
    fn a_new_one_takes_after_its_host() {
        let preset = |url: &str| Preset::new("x", BaseUrl::parse(url).unwrap().url).unwrap();
        assert_eq!(preset("https://api.anthropic.com").auth, Auth::XApiKey);
        assert!(preset("http://localhost:1").local);
        assert!(!preset("https://h").local);
    }

    #[test]
    fn a_preset_can_neither_redirect_a_worker_nor_hold_its_key() {
        for name in
            ["ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "lower", "", "A B", "1A"]
        {
            let refused = entry(&format!(r#"{{"base_url": "https://h", "env": {{"{name}": "sk-secret"}}}}"#));
            assert!(!refused.unwrap_err().to_string().contains("secret"), "{name}");
        }
        assert!(entry("{\"base_url\": \"https://h\", \"env\": {\"A\": \"1\\n2\"}}").is_err());
    }

    #[test]
    fn hidden_characters_do_not_survive() {
        let preset =
            entry(r#"{"base_url": "https://h", "label": "a\u001b[31m\nb", "notes": "\u202ex"}"#).unwrap();
        assert_eq!((preset.label.as_str(), preset.notes.as_str()), ("a [31m b", "x"));
        assert!(entry(r#"{"base_url": "https://h", "tiers": {"opus": "a\u001bb"}}"#).is_err());
    }

    #[test]
    fn ids_are_words_for_a_command_line() {
        for id in ["zai", "0", "my-own-2"] {
            check_id(id).unwrap();
        }
        for id in ["", "-x", "A", "a b", "a/b", "..", "ä", &"a".repeat(65)] {
            assert_eq!(check_id(id).unwrap_err().exit(), Exit::Usage, "{id}");
        }
    }
}
