//! A worker's `settings.json`: Claude Code's own file, of which we read and edit only `env`.
//! An edit changes the bytes of one value; every other byte stays as it was.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use serde::Deserialize;
use zeroize::Zeroizing;

use crate::document;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::file::{self, Durability};
use crate::json_edit;

/// Where the provider is.
pub const BASE_URL: &str = "ANTHROPIC_BASE_URL";
/// The key of a provider that takes bearer tokens.
pub const AUTH_TOKEN: &str = "ANTHROPIC_AUTH_TOKEN";
/// The key of a provider that takes `x-api-key`: Anthropic with an own key.
pub const API_KEY: &str = "ANTHROPIC_API_KEY";
/// How long Claude Code waits for an answer, in milliseconds.
pub const API_TIMEOUT: &str = "API_TIMEOUT_MS";
/// Stands in the key's place until there is one.
pub const PLACEHOLDER: &str = "PASTE_YOUR_API_KEY_HERE";

/// What we know of a settings file.
#[derive(Debug)]
pub struct Settings {
    path: PathBuf,
    env: BTreeMap<String, Zeroizing<String>>,
}

#[derive(Deserialize)]
struct Document {
    env: Option<BTreeMap<String, Zeroizing<String>>>,
}

impl Settings {
    /// Reads the file. What holds a key must be a real file of ours: a symlink or a foreign file is refused.
    pub fn read(path: &Path) -> Result<Self> {
        Self::parse(path, &bytes(path)?)
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<Self> {
        document::must_be_object(path, bytes)?;
        let document: Document = document::parse(path, bytes)?;
        let env = document.env.ok_or_else(|| document::broken(path, 1, "it has no `env` object"))?;
        Ok(Self { path: path.to_owned(), env })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// One variable of `env`, where it is there and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.env.get(name).map(|value| value.as_str()).filter(|value| !value.is_empty())
    }

    /// All of `env`.
    pub fn env(&self) -> impl Iterator<Item = (&str, &str)> {
        self.env.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Sets one variable of `env` in the file, on disk before this returns; every other byte stays as it was.
    pub fn set(&self, name: &str, value: &str) -> Result<()> {
        self.edit(|text| json_edit::set(&self.path, text, &["env"], name, value))
    }

    /// Takes one variable out of `env` in the file, on disk before this returns.
    pub fn unset(&self, name: &str) -> Result<()> {
        self.edit(|text| json_edit::unset(&self.path, text, &["env"], name))
    }

    fn edit(&self, change: impl FnOnce(&str) -> Result<Zeroizing<String>>) -> Result<()> {
        let bytes = bytes(&self.path)?;
        Self::parse(&self.path, &bytes)?;
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| document::broken(&self.path, 1, "it is not valid UTF-8"))?;
        file::replace(&self.path, change(text)?.as_bytes(), file::PRIVATE, Durability::Synced)
    }
}

fn bytes(path: &Path) -> Result<Zeroizing<Vec<u8>>> {
    let missing =
        || Error::io("cannot read", path, &Errno::NOENT.into()).hint("remove the worker and make it anew");
    file::read_own(path, file::JSON_CAP)?.map(Zeroizing::new).ok_or_else(missing)
}

/// The text of a new settings file.
pub fn new_file(env: &[(&str, &str)]) -> Result<String> {
    let env: serde_json::Map<_, _> =
        env.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    let document = serde_json::json!({ "env": env });
    let text = serde_json::to_string_pretty(&document)
        .map_err(|error| Error::new(Exit::Bug, "cannot write settings").caused_by(error))?;
    Ok(text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_settings_are_named_with_their_line() {
        for text in [
            "",
            "[]",
            "{}",
            "{\"env\": 1}",
            "{\"env\": {\"A\": 1}}",
            "{\"env\": {\"A\": \"1\",}}",
            "\u{feff}{}",
        ] {
            let error = Settings::parse(Path::new("/s"), text.as_bytes()).unwrap_err();
            assert!(error.to_string().starts_with("/s:1: "), "{text}: {error}");
        }
    }
}
