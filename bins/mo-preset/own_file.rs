//! The user's `presets.json`: read, changed and replaced under one lock, so that no change of another is lost.
//! Only the entry concerned changes; the user's layout, order and unknown fields stay.

use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::Value;
use shared::catalogue::{self, VERSION};
use shared::document;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::file::{self, Durability};
use shared::lock::{Lock, PATIENCE};
use shared::world::World;

/// The file, held for a change.
#[derive(Debug)]
pub struct OwnFile {
    path: PathBuf,
    root: CstRootNode,
    _lock: Lock,
}

impl OwnFile {
    /// Takes the lock and reads the file; where there is none, begins one. A broken file is left alone.
    pub fn open(world: &World) -> Result<Self> {
        let lock = Lock::acquire(&world.paths.presets_lock()?, PATIENCE)?;
        let path = world.paths.presets()?;
        let root = read(&path)?;
        Ok(Self { path, root, _lock: lock })
    }

    /// Whether there is an entry of this id.
    pub fn has(&self, id: &str) -> bool {
        self.entries(false).is_some_and(|entries| entries.get(id).is_some())
    }

    /// Adds an entry at the end.
    pub fn add(&self, id: &str, entry: Value) -> Result<()> {
        let entries =
            self.entries(true).ok_or_else(|| document::broken(&self.path, 1, "`presets` is no object"))?;
        entries.append(id, input(entry));
        entries.ensure_multiline();
        self.save()
    }

    /// Takes an entry away.
    pub fn remove(&self, id: &str) -> Result<()> {
        // Of two entries of one id the last one counts: both go.
        while let Some(entry) = self.entries(false).and_then(|entries| entries.get(id)) {
            entry.remove();
        }
        self.save()
    }

    fn entries(&self, make: bool) -> Option<CstObject> {
        let top = self.root.object_value()?;
        if make { top.object_value_or_create("presets") } else { top.object_value("presets") }
    }

    fn save(&self) -> Result<()> {
        let mut text = self.root.to_string();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        file::replace(&self.path, text.as_bytes(), file::PRIVATE, Durability::Synced)
    }
}

fn read(path: &Path) -> Result<CstRootNode> {
    let new = || format!("{{\n  \"version\": {VERSION},\n  \"presets\": {{}}\n}}\n").into_bytes();
    let bytes = file::read_if_there(path, file::JSON_CAP)?.unwrap_or_else(new);
    catalogue::check_file(path, &bytes)?;
    let text = String::from_utf8(bytes).map_err(|_| document::broken(path, 1, "it is not valid UTF-8"))?;
    let strict = ParseOptions {
        allow_comments: false,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        ..ParseOptions::default()
    };
    CstRootNode::parse(&text, &strict)
        .map_err(|error| Error::new(Exit::Data, "cannot edit").at(path).caused_by(error))
}

fn input(value: Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text),
        Value::Array(items) => CstInputValue::Array(items.into_iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.into_iter().map(|(name, value)| (name, input(value))).collect())
        }
    }
}
