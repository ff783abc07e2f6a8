//! The catalogue of providers: the bundled presets, with the user's own laid over them entry by entry.
//! A broken file of the user's never takes the bundled ones away. Writing that file is left to mo-preset.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::document;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::file;
use crate::flatten::flatten;
use crate::preset::{Origin, Preset};
use crate::redact::typed;
use crate::world::World;

/// The dated data file that every program carries.
const BUNDLED: &str = include_str!("../presets/catalogue.json");

/// What `presets.json` can hold, for its readers and its writer.
pub const VERSION: u64 = 1;

/// All presets, by id.
#[derive(Clone, Debug)]
pub struct Catalogue {
    dated: String,
    presets: BTreeMap<String, Preset>,
}

/// The file's shape. Entries are read one by one, so that one bad entry costs only itself.
#[derive(Deserialize)]
struct Shape {
    #[serde(default = "first_version")]
    version: u64,
    #[serde(default)]
    dated: String,
    #[serde(default)]
    presets: BTreeMap<String, serde_json::Value>,
}

fn first_version() -> u64 {
    VERSION
}

impl Catalogue {
    /// The bundled presets and the user's; and what is wrong with the user's file, if anything is.
    pub fn load(world: &World) -> (Self, Option<Error>) {
        let mut catalogue = match Self::bundled() {
            Ok(catalogue) => catalogue,
            Err(error) => return (Self { dated: String::new(), presets: BTreeMap::new() }, Some(error)),
        };
        let trouble = world.paths.presets().and_then(|path| catalogue.lay_over(&path)).err();
        (catalogue, trouble)
    }

    /// The bundled presets alone.
    pub fn bundled() -> Result<Self> {
        let mut catalogue = Self { dated: String::new(), presets: BTreeMap::new() };
        let path = Path::new("presets/catalogue.json");
        let (dated, entries, trouble) = read(path, BUNDLED.as_bytes())?;
        if let Some(error) = trouble {
            return Err(error);
        }
        catalogue.dated = dated;
        for (id, preset) in entries {
            catalogue.presets.insert(id, Preset { origin: Origin::Bundled, ..preset });
        }
        Ok(catalogue)
    }

    /// Lays the entries of the user's file over what is there.
    fn lay_over(&mut self, path: &Path) -> Result<()> {
        let Some(bytes) = file::read_if_there(path, file::JSON_CAP)? else { return Ok(()) };
        let (_, entries, trouble) = read(path, &bytes).map_err(|error| {
            let hint = error.what_next().unwrap_or("correct the line, or move the file away").to_owned();
            error.hint(format!("{hint}; the bundled presets still work"))
        })?;
        for (id, preset) in entries {
            let over = self.presets.contains_key(&id);
            let origin = if over { Origin::OwnOverBundled } else { Origin::Own };
            self.presets.insert(id, Preset { origin, ..preset });
        }
        trouble.map_or(Ok(()), Err)
    }

    /// The day the bundled presets were checked.
    pub fn dated(&self) -> &str {
        &self.dated
    }

    /// The preset of this id.
    pub fn get(&self, id: &str) -> Option<&Preset> {
        self.presets.get(id)
    }

    /// The preset of this id, or an error that names those there are.
    pub fn find(&self, id: &str) -> Result<&Preset> {
        self.get(id).ok_or_else(|| {
            let ids: Vec<&str> = self.ids().collect();
            Error::new(Exit::Usage, format!("there is no preset `{}`", typed(id)))
                .hint(format!("the presets are {}; `mo-preset add` makes one", ids.join(", ")))
        })
    }

    /// All ids, in order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.presets.keys().map(String::as_str)
    }

    /// All presets, in the order of their ids.
    pub fn presets(&self) -> impl Iterator<Item = &Preset> {
        self.presets.values()
    }
}

/// Refuses a file that cannot be read as a whole: before it is changed. A bad entry is no reason.
pub fn check_file(path: &Path, bytes: &[u8]) -> Result<()> {
    read(path, bytes).map(|_| ())
}

type Entries = BTreeMap<String, Preset>;

/// The good entries of a file, and the first trouble with the others.
fn read(path: &Path, bytes: &[u8]) -> Result<(String, Entries, Option<Error>)> {
    if bytes.trim_ascii_start().starts_with(b"[") {
        return Err(document::broken(path, 1, "it is an array, not an object with `presets`"));
    }
    let shape: Shape = document::parse(path, bytes)?;
    if shape.version != VERSION {
        let reason = format!("version {} is not one this program knows", shape.version);
        return Err(document::broken(path, document::line_of(bytes, "version"), &reason)
            .hint("update model-orchestration to read this file"));
    }
    let mut entries = Entries::new();
    let mut troubles: Vec<Error> = Vec::new();
    for (id, value) in shape.presets {
        let entry =
            if value.is_object() { serde_json::from_value::<Preset>(value) } else { Err(not_an_object()) };
        let entry = entry
            .map_err(|error| error.to_string())
            .and_then(|preset| preset.checked(&id, Origin::Own).map_err(|error| error.to_string()));
        match entry {
            Ok(preset) => {
                entries.insert(id, preset);
            }
            Err(reason) => {
                let reason = format!("preset `{}`: {}", flatten(&id, 64), flatten(&reason, 200));
                troubles.push(document::broken(path, document::line_of(bytes, &id), &reason));
            }
        }
    }
    let others = troubles.len().saturating_sub(1);
    let trouble = troubles.into_iter().next().map(|error| {
        error.hint(match others {
            0 => "this entry is left out, all others work; correct it, or remove it".to_owned(),
            _ => format!("this entry and {others} more are left out, all others work"),
        })
    });
    Ok((shape.dated, entries, trouble))
}

/// Said by us, because serde would read an array as the fields in their order.
fn not_an_object() -> serde_json::Error {
    serde::de::Error::custom("it is not an object")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::tier::Tier;

    fn laid_over(text: &str) -> (Catalogue, Option<Error>) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("presets.json");
        fs::write(&path, text).unwrap();
        let mut catalogue = Catalogue::bundled().unwrap();
        let trouble = catalogue.lay_over(&path).err();
        (catalogue, trouble)
    }

    #[test]
    fn every_bundled_preset_is_dated_sourced_and_complete() {
        let catalogue = Catalogue::bundled().unwrap();
        assert_eq!(catalogue.dated().len(), 10);
        for id in ["zai", "kimi", "minimax", "deepseek", "ollama"] {
            assert!(catalogue.get(id).is_some(), "{id}");
        }
        for preset in catalogue.presets() {
            let id = &preset.id;
            assert_eq!(preset.verified.as_deref().map(str::len), Some(10), "{id}");
            assert!(!preset.sources.is_empty() && preset.label != *id, "{id}");
            assert!(preset.sources.iter().all(|source| source.starts_with("https://")), "{id}");
            assert!(preset.base_url.is_https() || preset.base_url.is_loopback(), "{id}");
            assert_eq!(preset.local, preset.base_url.is_loopback(), "{id}");
            assert_eq!(preset.key_url.is_none(), preset.local, "{id}");
            for name in preset.tiers.values() {
                let model = preset.models.get(name).unwrap();
                let known = model.context_window.is_some() && model.max_output.is_some();
                assert!(known || model.unverified.is_some(), "{id} {name}");
            }
            if preset.tiers.is_empty() {
                assert!(preset.notes.contains("map the tiers") || preset.local, "{id} says nothing on tiers");
            }
        }
    }

    #[test]
    fn the_contracted_places_are_kept() {
        let catalogue = Catalogue::bundled().unwrap();
        for (id, url) in [
            ("zai", "https://api.z.ai/api/anthropic"),
            ("kimi", "https://api.moonshot.ai/anthropic"),
            ("minimax", "https://api.minimax.io/anthropic"),
            ("deepseek", "https://api.deepseek.com/anthropic"),
            ("ollama", "http://localhost:11434"),
        ] {
            assert_eq!(catalogue.find(id).unwrap().base_url.as_str(), url);
        }
        assert_eq!(
            catalogue.find("zai").unwrap().model_of(Tier::Haiku).unwrap().context_window,
            Some(200_000)
        );
        assert!(catalogue.find("nope").unwrap_err().what_next().unwrap().contains("zai"));
    }

    #[test]
    fn an_entry_takes_the_place_of_a_bundled_one_whole() {
        let (catalogue, trouble) = laid_over(
            r#"{"version": 1, "presets": {"zai": {"base_url": "https://own"}, "mine": {"base_url": "http://localhost:1"}}}"#,
        );
        assert_eq!(trouble, None);
        let zai = catalogue.get("zai").unwrap();
        assert_eq!((zai.base_url.as_str(), zai.origin), ("https://own", Origin::OwnOverBundled));
        assert!(zai.tiers.is_empty());
        assert_eq!(catalogue.get("mine").unwrap().origin, Origin::Own);
        assert_eq!(catalogue.get("kimi").unwrap().origin, Origin::Bundled);
    }

    #[test]
    fn a_broken_file_is_told_by_line_and_the_bundled_presets_stay() {
        for (text, line, part) in [
            ("{\n \"presets\": {\n}", 3, "EOF"),
            ("[]", 1, "an array"),
            ("", 1, "empty"),
            ("{\"version\": 1,\n\"presets\": []}", 2, "invalid type"),
            ("{\n\"version\": 2}", 2, "version 2"),
            ("\u{feff}{}", 1, "byte order"),
        ] {
            let (catalogue, trouble) = laid_over(text);
            let trouble = trouble.unwrap();
            assert!(trouble.to_string().contains(&format!("presets.json:{line}: ")), "{text}: {trouble}");
            assert!(trouble.to_string().contains(part), "{text}: {trouble}");
            assert!(trouble.what_next().is_some());
            assert_eq!(catalogue.ids().count(), Catalogue::bundled().unwrap().ids().count());
        }
    }

    #[test]
    fn a_bad_entry_costs_only_itself() {
        let (catalogue, trouble) = laid_over(
            "{\"presets\": {\n\"good\": {\"base_url\": \"https://h\"},\n\"bad\": {\"base_url\": \"https://u:sk-secret@h\"},\n\"c\": []}}",
        );
        let trouble = trouble.unwrap();
        assert!(
            trouble
                .to_string()
                .ends_with("presets.json:3: preset `bad`: the base URL holds a user name or password")
        );
        assert!(trouble.what_next().unwrap().contains("1 more"));
        assert!(catalogue.get("good").is_some() && catalogue.get("bad").is_none());
    }

    #[test]
    fn no_cut_and_no_damage_makes_it_panic_or_lie() {
        let path = Path::new("/f");
        let text = br#"{"version": 1, "presets": {"a": {"base_url": "https://h/v1", "tiers": {"opus": "m"},
            "models": {"m": {"context_window": 1000}}, "env": {"A": "1"}, "local": true}, "b": {"base_url": "x"}}}"#;
        for end in 0..text.len() {
            assert!(read(path, text.get(..end).unwrap()).is_err(), "cut at {end}");
        }
        for at in 0..text.len() {
            for byte in 0..=u8::MAX {
                let mut damaged = text.to_vec();
                damaged[at] = byte;
                if let Ok((_, entries, _)) = read(path, &damaged) {
                    assert!(entries.values().all(|preset| !preset.base_url.as_str().ends_with("/v1")));
                }
            }
        }
    }
}
