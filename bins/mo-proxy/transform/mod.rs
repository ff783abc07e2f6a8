//! A request made fit for the place it goes to: what only Anthropic understands goes, limits of the model and the
//! user's profile are kept. A request to Anthropic under its own name is touched only by what the user turned on.

mod history;
pub mod minted;
mod outline;
mod system;
#[cfg(test)]
mod tests;
mod thinking;
mod tools;

use std::borrow::Cow;

use shared::host::Host;

use crate::compress;
use crate::config::{Compressing, Config, Thinking};
use crate::markers;
use crate::route::provider::Provider;
use crate::route::{Leg, Way};
use crate::scan::edit::{Edits, Fate, quoted};
use crate::scan::value::Member;
use crate::scan::{Body, Value};
use minted::Minted;
pub use outline::outline;
use thinking::{Outcome, Wanted};

/// The members of a request that every Messages API understands.
const USUAL: [&str; 12] = [
    "model",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "max_tokens",
    "stream",
    "stop_sequences",
    "temperature",
    "top_p",
    "top_k",
    "thinking",
];

/// Members that clients send and others refuse, by name for the audit.
const REFUSED: [&str; 8] = [
    "metadata",
    "context_management",
    "output_config",
    "service_tier",
    "container",
    "mcp_servers",
    "cache_control",
    "speed",
];

/// What the user turned on beyond what a place needs; off by default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras {
    /// Cache markers for Anthropic.
    pub markers: bool,
    /// Shorter results of tools.
    pub compressing: Option<Compressing>,
}

impl Extras {
    /// Those of the configuration.
    pub fn of(config: &Config) -> Self {
        Self { markers: config.markers, compressing: config.compressing }
    }
}

/// A request as it goes out.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Shaped<'a> {
    /// Its bytes: the client's own where nothing had to be changed.
    pub body: Cow<'a, [u8]>,
    /// What was changed, in words of ours.
    pub changes: Vec<&'static str>,
}

/// What was noted so far.
struct Shaping<'a> {
    body: &'a Body<'a>,
    edits: Edits,
    changes: Vec<&'static str>,
}

impl Shaping<'_> {
    fn note(&mut self, change: &'static str) {
        if !self.changes.contains(&change) {
            self.changes.push(change);
        }
    }
}

/// The request as this place gets it.
pub fn shape<'a>(body: &'a Body<'a>, leg: &Leg, minted: &Minted, extras: Extras) -> Shaped<'a> {
    let mut shaping = Shaping { body, edits: Edits::default(), changes: Vec::new() };
    match &leg.way {
        // Only a name of ours leads to Anthropic under another one; its own names are never touched.
        Way::Anthropic if leg.model.is_empty() || body.model().as_deref() == Some(leg.model.as_str()) => {}
        Way::Anthropic => shaping.renamed(leg, minted),
        Way::Provider(provider) => shaping.provider(leg, provider, minted),
    }
    shaping.extras(leg, extras);
    if shaping.edits.is_empty() {
        return Shaped { body: Cow::Borrowed(body.bytes()), changes: Vec::new() };
    }
    Shaped { body: Cow::Owned(shaping.edits.apply(body.bytes())), changes: shaping.changes }
}

impl Shaping<'_> {
    fn extras(&mut self, leg: &Leg, extras: Extras) {
        if let Some(settings) = extras.compressing
            && compress::shorten(self.body, settings, &mut self.edits) > 0
        {
            self.note("compressed");
        }
        if extras.markers
            && leg.host().is_none_or(Host::is_anthropic)
            && markers::add(self.body, &mut self.edits)
        {
            self.note("markers");
        }
    }

    /// A role or a rule that leads to Anthropic: its name, and no thinking of others, which Anthropic refuses.
    fn renamed(&mut self, leg: &Leg, minted: &Minted) {
        let interrupted = history::shape(self, leg, minted);
        let name = quoted(&leg.model);
        let fate = |member: &Member<'_>| match () {
            () if member.name.is("model") => Fate::Replace(name.clone()),
            () if interrupted && member.name.is("thinking") => Fate::Drop,
            () => Fate::Keep,
        };
        self.edits.object(self.body.whole(), fate, &[]);
        self.note("model");
        if interrupted {
            self.note("thinking");
        }
    }

    fn provider(&mut self, leg: &Leg, provider: &Provider, minted: &Minted) {
        let keeps = |name: &str| provider.keeps.iter().any(|kept| kept == name);
        let interrupted = history::shape(self, leg, minted);
        system::shape(self);
        let tools_left = tools::shape(self, &keeps);
        let most = self.max_tokens(leg, provider);
        let thinking = match thinking::decide(&self.wanted(leg, interrupted, &keeps), most) {
            Outcome::Keep => None,
            Outcome::Off => Some(r#"{"type":"disabled"}"#.to_owned()),
            Outcome::Budget(tokens) => Some(format!(r#"{{"type":"enabled","budget_tokens":{tokens}}}"#)),
        };
        let thinks = match &thinking {
            Some(set) => set.contains("enabled"),
            None => self.body.get("thinking").is_some_and(|asked| !is_type(asked, "disabled")),
        };
        let mut added = Vec::new();
        if let Some(set) = &thinking {
            self.note("thinking");
            if self.body.get("thinking").is_none() {
                added.push(("thinking", set.clone()));
            }
        }
        // A temperature beside thinking is refused by the strict ones.
        let temperature = leg.profile.as_ref().and_then(|profile| profile.temperature);
        if let Some(temperature) = temperature.filter(|_| !thinks && self.body.get("max_tokens").is_some())
            && self.body.get("temperature").is_none_or(Value::is_null)
        {
            self.note("temperature");
            added.push(("temperature", temperature.to_string()));
        }
        let set_temperature = added.iter().any(|(name, _)| *name == "temperature");
        let asked = self.body.max_tokens();
        let name = quoted(&leg.model);
        let mut left_out = Vec::new();
        let fate = |member: &Member<'_>| {
            let is = |wanted: &str| member.name.is(wanted);
            if is("model") && !member.value.is_text(&leg.model) {
                left_out.push("model");
                return Fate::Replace(name.clone());
            }
            if is("max_tokens") && most != asked && most.is_some() {
                left_out.push("max_tokens");
                return Fate::Replace(most.unwrap_or_default().to_string());
            }
            if is("thinking")
                && let Some(set) = &thinking
            {
                return Fate::Replace(set.clone());
            }
            if (is("temperature") && set_temperature) || (is("tool_choice") && !tools_left) {
                return Fate::Drop;
            }
            let plain = member.name.text();
            if USUAL.contains(&plain.as_ref()) || keeps(&plain) {
                return Fate::Keep;
            }
            left_out.push(REFUSED.iter().find(|known| **known == plain).copied().unwrap_or("members"));
            Fate::Drop
        };
        self.edits.object(self.body.whole(), fate, &added);
        for change in left_out {
            self.note(change);
        }
    }

    /// The most tokens of the answer: never more than was asked for, unless the profile has a floor.
    fn max_tokens(&self, leg: &Leg, provider: &Provider) -> Option<u64> {
        let asked = self.body.max_tokens()?;
        let profile = leg.profile.as_deref();
        let floored = asked.max(profile.and_then(|profile| profile.floor).unwrap_or(0));
        let limits = [provider.ceiling(&leg.model), profile.and_then(|profile| profile.max_tokens)];
        Some(limits.into_iter().flatten().fold(floored, u64::min))
    }

    fn wanted(&self, leg: &Leg, interrupted: bool, keeps: &impl Fn(&str) -> bool) -> Wanted {
        let asked = self.body.get("thinking");
        let forced = self.tool_is_forced();
        let profile = leg.profile.as_ref().and_then(|profile| profile.thinking);
        let effort = self.body.get("output_config").and_then(|config| config.get("effort"));
        Wanted {
            asked: asked.map_or(thinking::Asked::Nothing, thinking::Asked::read),
            // Thinking that begins in the middle of a round of tools has no beginning to go on from.
            profile: if interrupted {
                Some(Thinking::Off)
            } else {
                profile.filter(|_| asked.is_some() || !forced)
            },
            effort: effort.and_then(Value::text).map(Cow::into_owned),
            adaptive: keeps("adaptive"),
        }
    }

    /// Whether the caller forces a tool: that excludes thinking.
    fn tool_is_forced(&self) -> bool {
        let choice = self.body.whole().get("tool_choice");
        choice.is_some_and(|choice| is_type(choice, "any") || is_type(choice, "tool"))
    }
}

/// Whether an object's `type` is this.
fn is_type(value: Value<'_>, wanted: &str) -> bool {
    value.get("type").is_some_and(|kind| kind.is_text(wanted))
}
