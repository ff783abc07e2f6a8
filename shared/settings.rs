//! A worker's `settings.json`: Claude Code's own file, of which we read and edit only `env`.
//! An edit changes the bytes of one value; every other byte stays as it was.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions};
use serde::Deserialize;
use zeroize::Zeroizing;

use crate::document;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::file::{self, Durability};

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
        file::refuse_foreign(path)?;
        Self::parse(path, &Zeroizing::new(file::read(path, file::JSON_CAP)?))
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<Self> {
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

    /// Sets one variable of `env` in the file, on disk before this returns.
    pub fn set(&self, name: &str, value: &str) -> Result<()> {
        file::refuse_foreign(&self.path)?;
        let bytes = Zeroizing::new(file::read(&self.path, file::JSON_CAP)?);
        Self::parse(&self.path, &bytes)?;
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| document::broken(&self.path, 1, "it is not valid UTF-8"))?;
        let edited = edit(&self.path, text, name, value)?;
        file::replace(&self.path, edited.as_bytes(), file::PRIVATE, Durability::Synced)
    }
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

/// The text with one variable of `env` set. Works on the bytes between the tokens, so that nothing else
/// can change, and on buffers that are wiped, because the text holds a key.
fn edit(path: &Path, text: &str, name: &str, value: &str) -> Result<Zeroizing<String>> {
    let strict = ParseOptions {
        allow_comments: false,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        ..ParseOptions::default()
    };
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &strict)
        .map_err(|error| document::broken(path, 1, &error.to_string()))?;
    let missing = || document::broken(path, 1, "it has no `env` object");
    let Some(Value::Object(top)) = &parsed.value else { return Err(missing()) };
    let Some(Value::Object(env)) = last(top, "env").map(|property| &property.value) else {
        return Err(missing());
    };
    let value = Zeroizing::new(quoted(value)?);
    let name_text = quoted(name)?;
    let (from, to, new) = match (last(env, name), env.properties.last()) {
        (Some(property), _) => (property.value.start(), property.value.end(), value),
        (None, Some(before)) => {
            let end = before.end();
            let gap = leading_space(text, before.start());
            (end, end, Zeroizing::new(format!(",{gap}{name_text}: {}", value.as_str())))
        }
        (None, None) => {
            (env.start(), env.end(), Zeroizing::new(format!("{{{name_text}: {}}}", value.as_str())))
        }
    };
    let part = |range: Option<&str>| range.map(str::to_owned).map(Zeroizing::new).ok_or_else(missing);
    let (head, tail) = (part(text.get(..from))?, part(text.get(to..))?);
    let mut edited = Zeroizing::new(String::with_capacity(head.len() + new.len() + tail.len()));
    edited.push_str(&head);
    edited.push_str(&new);
    edited.push_str(&tail);
    Ok(edited)
}

/// Of two properties of one name, JSON readers take the last.
fn last<'a, 'b>(object: &'b Object<'a>, name: &str) -> Option<&'b ObjectProp<'a>> {
    object.properties.iter().rev().find(|property| property.name.as_str() == name)
}

/// The white space before this place.
fn leading_space(text: &str, at: usize) -> &str {
    let head = text.get(..at).unwrap_or_default();
    head.get(head.trim_end().len()..).unwrap_or_default()
}

fn quoted(text: &str) -> Result<String> {
    serde_json::to_string(text)
        .map_err(|error| Error::new(Exit::Bug, "cannot write a string").caused_by(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str, name: &str) -> String {
        edit(Path::new("/s"), text, name, "k\"1").unwrap().to_string()
    }

    #[test]
    fn only_the_value_changes() {
        let odd = "{\t\"permissions\" : {\"allow\":[ ]},\r\n  \"env\":{ \"A\" :\"x\",\n\n\"B\":  \"y\" } , \"z\":1.0}";
        assert_eq!(edited(odd, "A"), odd.replace("\"x\"", "\"k\\\"1\""));
        assert_eq!(edited(odd, "B"), odd.replace("\"y\"", "\"k\\\"1\""));
    }

    #[test]
    fn a_new_variable_stands_like_the_one_before_it() {
        let text = "{\n  \"env\": {\n    \"A\": \"x\"\n  }\n}\n";
        assert_eq!(edited(text, "B"), "{\n  \"env\": {\n    \"A\": \"x\",\n    \"B\": \"k\\\"1\"\n  }\n}\n");
        assert_eq!(edited("{\"env\":{}}", "B"), "{\"env\":{\"B\": \"k\\\"1\"}}");
    }

    #[test]
    fn an_env_outside_the_top_level_is_not_ours() {
        let text = "{\"mcp\":{\"env\":{\"A\":\"x\"}},\"env\":{\"A\":\"y\"}}";
        assert_eq!(edited(text, "A"), text.replace("\"y\"", "\"k\\\"1\""));
    }

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
