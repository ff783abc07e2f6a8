//! The dispatcher's settings, `.dispatch/config.json`: read whole and checked whole. The two guards on money open on the
//! literal `allow` alone; a file with a mistake opens nothing, because it is refused.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::document;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::file;
use crate::flatten::flatten;
use crate::nearest::nearest;
use crate::paths::Paths;

/// The permission modes that Claude Code knows.
const MODES: [&str; 7] = ["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "manual", "plan"];
/// The highest cap on a day's money that is no slip of the pen.
const MOST_USD: f64 = 1e9;
/// The only word that opens a guard.
const ALLOW: &str = "allow";
/// The word that keeps it closed.
const BLOCK: &str = "block";

/// The settings there are.
const KNOWN: [&str; 8] = [
    "version",
    "permission_mode",
    "timeout_minutes",
    "cooldown_minutes",
    "frontier",
    "overage",
    "daily_usd",
    "keep_days",
];

/// Whether something that costs extra may happen.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Guard {
    /// It may not.
    #[default]
    Block,
    /// The user wrote `allow`.
    Allow,
}

impl Guard {
    /// Whether it is open.
    pub fn is_open(self) -> bool {
        self == Self::Allow
    }

    /// Its word in the file.
    pub fn name(self) -> &'static str {
        if self.is_open() { ALLOW } else { BLOCK }
    }
}

/// The settings.
#[derive(Clone, Debug, PartialEq)]
pub struct DispatchConfig {
    /// Claude Code's permission mode for workers.
    pub permission_mode: String,
    /// How long a task may take where it says nothing itself, in minutes.
    pub timeout_minutes: u32,
    /// How long a worker cools after a quota refusal that names no reset, in minutes.
    pub cooldown_minutes: u32,
    /// Models that are billed per use.
    pub frontier: Guard,
    /// Work past a plan's windows.
    pub overage: Guard,
    /// The most that all dispatches of a day may cost, in USD.
    pub daily_usd: Option<f64>,
    /// How long finished records are kept, in days.
    pub keep_days: u32,
}

impl Default for DispatchConfig {
    fn default() -> Self {
        Self {
            permission_mode: "acceptEdits".to_owned(),
            timeout_minutes: 45,
            cooldown_minutes: 30,
            frontier: Guard::Block,
            overage: Guard::Block,
            daily_usd: None,
            keep_days: 90,
        }
    }
}

impl DispatchConfig {
    /// Where the settings are.
    pub fn path(paths: &Paths) -> Result<PathBuf> {
        Ok(paths.dispatch()?.join("config.json"))
    }

    /// The user's settings; without a file the defaults.
    pub fn load(paths: &Paths) -> Result<Self> {
        let path = Self::path(paths)?;
        // Whoever writes this file decides about money: it must be the user's own.
        match file::read_own(&path, file::JSON_CAP)? {
            Some(bytes) => Self::parse(&path, &bytes),
            None => Ok(Self::default()),
        }
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<Self> {
        document::must_be_object(path, bytes)?;
        let Members { given, twice } = document::parse(path, bytes)?;
        let mut reader = Reader { given: &given, bytes, mistakes: Vec::new() };
        for name in &twice {
            let line = document::line_of(bytes, name);
            reader.mistakes.push((line, format!("`{}` stands there more than once", flatten(name, 40))));
        }
        let usual = Self::default();
        reader.known();
        if given.get("version").is_some_and(|version| version != 1) {
            reader.wrong("version", "1");
        }
        let config = Self {
            permission_mode: reader.mode(&usual.permission_mode),
            timeout_minutes: reader.number("timeout_minutes", 1, 480, usual.timeout_minutes),
            cooldown_minutes: reader.number("cooldown_minutes", 0, 7 * 24 * 60, usual.cooldown_minutes),
            frontier: reader.guard("frontier"),
            overage: reader.guard("overage"),
            daily_usd: reader.money("daily_usd"),
            keep_days: reader.number("keep_days", 1, 36_500, usual.keep_days),
        };
        if reader.mistakes.is_empty() {
            return Ok(config);
        }
        let mistakes: Vec<String> = reader
            .mistakes
            .iter()
            .map(|(line, mistake)| format!("{}:{line}: {mistake}", path.display()))
            .collect();
        Err(Error::new(Exit::Config, mistakes.join("; "))
            .hint("until it is mended nothing is dispatched; without the file the defaults hold, which allow nothing extra"))
    }
}

/// The members, and the names of those that stand there more than once: which one was meant cannot be told.
struct Members {
    given: Map<String, Value>,
    twice: Vec<String>,
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Members { given: Map::new(), twice: Vec::new() };
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    if members.given.insert(name.clone(), value).is_some() {
                        members.twice.push(name);
                    }
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Read)
    }
}

/// Takes members out of the document and gathers every mistake.
struct Reader<'a> {
    given: &'a Map<String, Value>,
    bytes: &'a [u8],
    mistakes: Vec<(usize, String)>,
}

impl Reader<'_> {
    /// A name that is mistyped would be a limit that is not there.
    fn known(&mut self) {
        for name in self.given.keys().filter(|name| !KNOWN.contains(&name.as_str())) {
            let line = document::line_of(self.bytes, name);
            let meant = nearest(name, KNOWN.iter().copied());
            let meant = meant.map(|meant| format!(": did you mean `{meant}`?")).unwrap_or_default();
            self.mistakes.push((line, format!("there is no setting `{}`{meant}", flatten(name, 40))));
        }
    }

    fn wrong(&mut self, name: &str, wanted: &str) {
        let line = document::line_of(self.bytes, name);
        self.mistakes.push((line, format!("`{name}` must be {wanted}")));
    }

    fn guard(&mut self, name: &str) -> Guard {
        match self.given.get(name) {
            Some(Value::String(word)) if word == ALLOW => return Guard::Allow,
            None => {}
            Some(Value::String(word)) if word == BLOCK => {}
            Some(_) => self.wrong(name, "\"block\" or \"allow\""),
        }
        Guard::Block
    }

    fn number(&mut self, name: &str, least: u32, most: u32, usual: u32) -> u32 {
        let Some(value) = self.given.get(name) else { return usual };
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        number.filter(|number| (least..=most).contains(number)).unwrap_or_else(|| {
            self.wrong(name, &format!("a whole number from {least} to {most}"));
            usual
        })
    }

    fn money(&mut self, name: &str) -> Option<f64> {
        match self.given.get(name) {
            None | Some(Value::Null) => None,
            Some(value) => {
                let amount = value.as_f64().filter(|amount| (0.0..=MOST_USD).contains(amount));
                if amount.is_none() {
                    self.wrong(name, "null or an amount in USD, at most a billion");
                }
                amount
            }
        }
    }

    fn mode(&mut self, usual: &str) -> String {
        match self.given.get("permission_mode") {
            None => {}
            Some(Value::String(mode)) if MODES.contains(&mode.as_str()) => return flatten(mode, 32),
            Some(_) => self.wrong("permission_mode", &format!("one of {}", MODES.join(", "))),
        }
        usual.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<DispatchConfig> {
        DispatchConfig::parse(Path::new("/c"), text.as_bytes())
    }

    #[test]
    fn a_guard_opens_on_the_literal_word_alone() {
        let open = parse(r#"{"version": 1, "frontier": "allow", "overage": "allow"}"#).unwrap();
        assert!(open.frontier.is_open() && open.overage.is_open());
        assert_eq!(parse("{}").unwrap(), DispatchConfig::default());
        assert_eq!(parse(r#"{"frontier": "block"}"#).unwrap().frontier, Guard::Block);
        for word in ["\"Allow\"", "\"allow \"", "true", "1", "null", "[\"allow\"]", "\"\""] {
            assert_eq!(
                parse(&format!("{{\"overage\": {word}}}")).unwrap_err().exit(),
                Exit::Config,
                "{word}"
            );
        }
    }

    #[test]
    fn every_mistake_is_told_with_its_place() {
        let text = "{\n\"permission_mode\": \"yolo\",\n\"timeout_minutes\": 481,\n\"cooldown_minutes\": -1,\n\
                    \"daily_usd\": \"5\",\n\"keep_days\": 1.5,\n\"version\": 2}";
        let error = parse(text).unwrap_err().to_string();
        for place in [
            "/c:2: `permission_mode`",
            "/c:3: `timeout_minutes`",
            "/c:4: `cooldown_minutes`",
            "/c:5: `daily_usd`",
            "/c:6: `keep_days`",
            "/c:7: `version`",
        ] {
            assert!(error.contains(place), "{place} in {error}");
        }
        let error_of = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(
            error_of("{\n\"overage\": \"allow\", \"daily_uds\": 5}"),
            "/c:2: there is no setting `daily_uds`: did you mean `daily_usd`?"
        );
        assert!(!error.contains("yolo"), "what was written there is not repeated: {error}");
        for text in ["", "[]", "{", "{} x"] {
            assert_eq!(parse(text).unwrap_err().exit(), Exit::Data, "{text}");
        }
    }

    #[test]
    fn an_amount_out_of_reason_and_a_name_that_stands_there_twice_are_mistakes() {
        for amount in ["-1", "-0.01", "1e308", "1000000001", "true"] {
            let error = parse(&format!("{{\n\"daily_usd\": {amount}}}")).unwrap_err();
            assert_eq!(error.exit(), Exit::Config, "{amount}");
            assert!(error.to_string().contains("/c:2: `daily_usd`"), "{error}");
        }
        assert_eq!(parse(r#"{"daily_usd": 1e999}"#).unwrap_err().exit(), Exit::Data);
        assert_eq!(parse(r#"{"daily_usd": 1e9}"#).unwrap().daily_usd, Some(1e9));
        for text in [
            "{\n\"overage\": \"block\", \"overage\": \"allow\"}",
            "{\n\"overage\": \"allow\", \"overage\": \"allow\"}",
            "{\n\"overage\": \"allow\", \"other\": 1, \"overage\": \"block\"}",
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.exit(), Exit::Config, "{text}");
            assert!(error.to_string().contains("/c:2: `overage` stands there more than once"), "{error}");
        }
    }

    #[test]
    fn the_file_must_be_the_users_own() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::of(&[("HOME", home.path())].into_iter().collect());
        assert_eq!(DispatchConfig::load(&paths).unwrap(), DispatchConfig::default());
        let path = DispatchConfig::path(&paths).unwrap();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(home.path().join("elsewhere"), r#"{"overage": "allow"}"#).unwrap();
        std::os::unix::fs::symlink(home.path().join("elsewhere"), &path).unwrap();
        assert!(DispatchConfig::load(&paths).is_err());
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, r#"{"daily_usd": 0}"#).unwrap();
        assert_eq!(DispatchConfig::load(&paths).unwrap().daily_usd, Some(0.0));
    }
}
