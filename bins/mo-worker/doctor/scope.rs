//! Claude Code's own settings files as this place sees them: local before project before user, and any of
//! them before the environment (tried: it puts their `env` over the variables it was started with).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use shared::error::Result;
use shared::world::World;
use shared::{document, file, paths};

use super::line::{Line, Mark};

/// One settings file.
#[derive(Debug, Default)]
pub struct Scope {
    /// Its path as a person writes it.
    pub place: String,
    /// Whether it belongs to the project and not to the user.
    pub of_project: bool,
    /// What we know of its content.
    pub document: Document,
}

/// What we know of a settings file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Document {
    env: BTreeMap<String, Value>,
    enabled_plugins: BTreeMap<String, Value>,
    api_key_helper: Option<Value>,
}

impl Document {
    /// A variable that it sets.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.env.get(name).and_then(Value::as_str)
    }

    /// The names of the variables that it sets.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.env.keys().map(String::as_str)
    }

    /// The plugins that it switches on or off.
    pub fn plugins(&self) -> impl Iterator<Item = (&str, bool)> {
        self.enabled_plugins.iter().map(|(id, on)| (id.as_str(), *on != Value::Bool(false)))
    }

    /// Whether it names a program that prints the key.
    pub fn has_key_helper(&self) -> bool {
        self.api_key_helper.is_some()
    }
}

/// Reads the files, the strongest first; what cannot be read is a line.
pub fn read_all(world: &World, project: Option<&Path>) -> (Vec<Scope>, Vec<Line>) {
    let user = world.paths.claude_config().ok().map(|directory| directory.join("settings.json"));
    let of_project = |name: &str| project.map(|project| project.join(".claude").join(name));
    let mut files: Vec<(PathBuf, bool)> = [of_project("settings.local.json"), of_project("settings.json")]
        .into_iter()
        .flatten()
        .map(|path| (path, true))
        .collect();
    // In the home directory the user's file is the project's too.
    files.retain(|(path, _)| Some(path) != user.as_ref());
    files.extend(user.map(|path| (path, false)));
    let (mut scopes, mut lines) = (Vec::new(), Vec::new());
    for (path, of_project) in files {
        match read(&path) {
            Ok(Some(document)) => {
                scopes.push(Scope { place: paths::shown(&path, &world.paths), of_project, document });
            }
            Ok(None) => {}
            Err(error) => lines.push(Line::of_error(Mark::Bad, "settings", &error)),
        }
    }
    (scopes, lines)
}

fn read(path: &Path) -> Result<Option<Document>> {
    let Some(bytes) = file::read_if_there(path, file::JSON_CAP)? else { return Ok(None) };
    document::must_be_object(path, &bytes)?;
    document::parse(path, &bytes).map(Some)
}

/// A file that holds this, for tests.
#[cfg(test)]
pub fn holding(place: &str, of_project: bool, json: &str) -> Scope {
    Scope { place: place.to_owned(), of_project, document: serde_json::from_str(json).unwrap() }
}
