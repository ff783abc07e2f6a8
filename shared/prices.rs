//! What providers ask for tokens: a dated list that every program carries, with the user's `prices.json`
//! laid over it. An unknown price is unknown, never zero. Who pays by the month is left to `costs`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Deserializer};

use crate::document;
use crate::error::{Error, Result};
use crate::file;
use crate::flatten::flatten;
use crate::ledger::usage::Usage;
use crate::money::Money;
use crate::world::World;

/// The list as it ships.
const BUNDLED: &str = include_str!("../presets/prices.json");
/// The format that is read.
const VERSION: u64 = 1;
/// The highest price that is believed, in dollars a million tokens.
const HIGHEST: f64 = 1_000_000.0;

/// Micro-dollars a million tokens, which is picodollars a token.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Rate(i128);

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        let micro = (dollars * 1e6).round();
        if !(0.0..=HIGHEST).contains(&dollars) || (micro - dollars * 1e6).abs() > 1e-3 {
            let what = "a price is dollars a million tokens, with at most six digits after the point";
            return Err(serde::de::Error::custom(what));
        }
        Ok(Self(micro as i128))
    }
}

/// The prices of one size of prompt. What is missing has no known price.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
struct Rates {
    input: Rate,
    output: Rate,
    cache_read: Option<Rate>,
    cache_write_5m: Option<Rate>,
    cache_write_1h: Option<Rate>,
}

/// The prices for prompts above a size.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
struct Above {
    prompt: u64,
    #[serde(flatten)]
    rates: Rates,
}

/// The prices of one model.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
pub struct Price {
    #[serde(flatten)]
    rates: Rates,
    /// Sizes of prompt from which on other prices hold, for the whole message.
    #[serde(default)]
    above: Vec<Above>,
    /// The largest prompt whose price is known.
    up_to: Option<u64>,
    /// The day the prices were looked up.
    #[serde(default)]
    pub verified: String,
    /// Where they stand.
    #[serde(default)]
    pub sources: Vec<String>,
}

impl Price {
    /// What one message costs; nothing where a part of it has no known price.
    pub fn of(&self, usage: &Usage) -> Option<Money> {
        self.band(usage, usage.prompt(), usage.prompt())
    }

    /// What several messages cost whose prompts all had a size in this range; nothing where the price changes
    /// within the range.
    pub fn band(&self, usage: &Usage, from: u64, to: u64) -> Option<Money> {
        if *usage == Usage::default() {
            return Some(Money::default());
        }
        let rates = self.rates(to);
        (self.rates(from) == rates).then_some(rates?)?.of(usage)
    }

    fn rates(&self, prompt: u64) -> Option<Rates> {
        if self.up_to.is_some_and(|most| prompt > most) {
            return None;
        }
        let above = self.above.iter().filter(|above| prompt > above.prompt).max_by_key(|above| above.prompt);
        Some(above.map_or(self.rates, |above| above.rates))
    }
}

impl Rates {
    /// What is left out in one's own prices costs as much as input: providers that name no price for the cache
    /// ask for nothing more, and a discount that is not written down is not assumed.
    fn fill(&mut self) {
        for rate in [&mut self.cache_read, &mut self.cache_write_5m, &mut self.cache_write_1h] {
            rate.get_or_insert(self.input);
        }
    }

    fn of(&self, usage: &Usage) -> Option<Money> {
        let for_an_hour = usage.cache_creation_1h.min(usage.cache_creation);
        let parts = [
            (usage.input, Some(self.input)),
            (usage.output, Some(self.output)),
            (usage.cache_read, self.cache_read),
            (usage.cache_creation - for_an_hour, self.cache_write_5m),
            (for_an_hour, self.cache_write_1h),
        ];
        let mut sum = Money::default();
        for (tokens, rate) in parts.into_iter().filter(|(tokens, _)| *tokens > 0) {
            sum += Money::picodollars(i128::from(tokens) * rate?.0);
        }
        Some(sum)
    }
}

#[derive(Deserialize)]
struct Shape {
    #[serde(default = "first_version")]
    version: u64,
    #[serde(default)]
    dated: String,
    #[serde(default)]
    models: BTreeMap<String, serde_json::Value>,
}

fn first_version() -> u64 {
    VERSION
}

/// The prices of all models that we know.
#[derive(Clone, Debug, Default)]
pub struct Prices {
    dated: String,
    /// By pattern, in lower case.
    models: BTreeMap<String, Price>,
}

impl Prices {
    /// The bundled list with the user's laid over it; and what is wrong with the user's, if anything is.
    pub fn load(world: &World) -> (Self, Option<Error>) {
        let mut prices = match Self::bundled() {
            Ok(prices) => prices,
            Err(error) => return (Self::default(), Some(error)),
        };
        let trouble = world.paths.prices().and_then(|path| prices.lay_over(&path)).err();
        (prices, trouble)
    }

    /// The bundled list alone.
    pub fn bundled() -> Result<Self> {
        let (shape, models, trouble) = read(Path::new("presets/prices.json"), BUNDLED.as_bytes())?;
        trouble.map_or(Ok(Self { dated: shape.dated, models }), Err)
    }

    fn lay_over(&mut self, path: &Path) -> Result<()> {
        let Some(bytes) = file::read_if_there(path, file::JSON_CAP)? else { return Ok(()) };
        let (_, models, trouble) = read(path, &bytes).map_err(|error| {
            let hint = error.what_next().unwrap_or("correct the line, or move the file away").to_owned();
            error.hint(format!("{hint}; the bundled prices still work"))
        })?;
        self.models.extend(models.into_iter().map(|(pattern, mut price)| {
            price.rates.fill();
            price.above.iter_mut().for_each(|above| above.rates.fill());
            (pattern, price)
        }));
        trouble.map_or(Ok(()), Err)
    }

    /// The day the bundled list was made.
    pub fn dated(&self) -> &str {
        &self.dated
    }

    /// The prices of a model: those of the longest pattern that it begins with.
    pub fn find(&self, model: &str) -> Option<&Price> {
        let model = model.to_ascii_lowercase();
        let fits = |pattern: &str| match pattern.strip_suffix('*') {
            Some(beginning) => model.starts_with(beginning),
            None => model.strip_prefix(pattern).is_some_and(is_same_model),
        };
        let found = self.models.iter().filter(|(pattern, _)| fits(pattern));
        found.max_by_key(|(pattern, _)| pattern.trim_end_matches('*').len()).map(|(_, price)| price)
    }
}

/// Whether this rest of a name still means the same model: a date, `-latest`, a window in brackets. Anything
/// else, `-5` or `-fast`, names another model, whose price would be a guess.
fn is_same_model(rest: &str) -> bool {
    let rest = rest.split_once('[').map_or(rest, |(before, _)| before);
    let Some(word) = rest.strip_prefix(['-', '@']) else { return rest.is_empty() };
    word == "latest" || (word.len() >= 6 && word.bytes().all(|byte| byte.is_ascii_digit()))
}

type Read = (Shape, BTreeMap<String, Price>, Option<Error>);

/// The good entries of a file, and the first trouble with the others.
fn read(path: &Path, bytes: &[u8]) -> Result<Read> {
    document::must_be_object(path, bytes)?;
    let mut shape: Shape = document::parse(path, bytes)?;
    if shape.version != VERSION {
        let reason = format!("version {} is not one this program knows", shape.version);
        return Err(document::broken(path, document::line_of(bytes, "version"), &reason)
            .hint("update model-orchestration to read this file"));
    }
    let (mut models, mut troubles) = (BTreeMap::new(), Vec::new());
    for (pattern, value) in std::mem::take(&mut shape.models) {
        match serde_json::from_value::<Price>(value) {
            Ok(price) => {
                models.insert(pattern.to_ascii_lowercase(), price);
            }
            Err(error) => {
                let reason =
                    format!("prices of `{}`: {}", flatten(&pattern, 64), flatten(&error.to_string(), 200));
                troubles.push(document::broken(path, document::line_of(bytes, &pattern), &reason));
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
    Ok((shape, models, trouble))
}

#[cfg(test)]
mod tests;
