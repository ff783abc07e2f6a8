//! Where a model's name leads: to Anthropic with the client's own login, or to a provider with its worker's key.
//! Only names are looked at here; what a request to a provider may hold is `transform`'s.

pub mod explain;
pub mod known;
mod load;
pub mod provider;
pub mod same_model;
mod settle;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use shared::host::Host;
use shared::model;
use shared::nearest::nearest;
use shared::redact::typed;
use shared::tier::Tier;

use crate::config::names::{ANTHROPIC, ROLE, is_anthropics};
use crate::config::{Pattern, Profile};
use known::Known;
use provider::{Key, Provider};

/// Anthropic's host, the only one that a client's own login is sent to.
pub const API: &str = "api.anthropic.com";

/// Where a request goes.
#[derive(Clone, Debug, PartialEq)]
pub enum Way {
    /// Anthropic, with what the client brings. There is no place in it: it has only one.
    Anthropic,
    /// A provider, with a key of its own.
    Provider(Arc<Provider>),
}

/// Whose credential goes along.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Credential<'a> {
    /// The client's own.
    Clients,
    /// The provider's.
    Providers(&'a Key),
}

/// One place a request can go to, as whom.
#[derive(Clone, Debug, PartialEq)]
pub struct Leg {
    /// The place.
    pub way: Way,
    /// The model's name there.
    pub model: String,
    /// How the request is shaped; never on a way to Anthropic.
    pub profile: Option<Arc<Profile>>,
}

impl Leg {
    /// Whose credential goes along.
    pub fn credential(&self) -> Credential<'_> {
        match &self.way {
            Way::Anthropic => Credential::Clients,
            Way::Provider(provider) => Credential::Providers(&provider.key),
        }
    }

    /// The host that it leads to; nothing for Anthropic's own, which is [`API`].
    pub fn host(&self) -> Option<&Host> {
        match &self.way {
            Way::Anthropic => None,
            Way::Provider(provider) => Some(provider.base_url.host()),
        }
    }

    /// The upstream's name.
    pub fn upstream(&self) -> &str {
        match &self.way {
            Way::Anthropic => ANTHROPIC,
            Way::Provider(provider) => &provider.name,
        }
    }
}

/// Why a name leads where it does.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Why {
    /// It is one of Anthropic's.
    Claude,
    /// It names its upstream.
    Named,
    /// It is a role of this name, on this line.
    Role(String, usize),
    /// It is a role that the configuration says nothing of, played by the worker of this name.
    Preferred(String, String),
    /// A rule with this pattern, on this line.
    Rule(String, usize),
    /// The worker or preset of this name serves it.
    Serves(String),
    /// Nothing knows it, and there is a default, on this line.
    Default(usize),
}

/// Where a name leads: the first place, and those that stand in for it before the first byte.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// Why.
    pub why: Why,
    /// The places, in order; never none.
    pub legs: Vec<Leg>,
}

impl Route {
    /// The role that was asked for.
    pub fn role(&self) -> Option<&str> {
        match &self.why {
            Why::Role(role, _) | Why::Preferred(role, _) => Some(role),
            _ => None,
        }
    }
}

/// A name that leads nowhere.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unknown(String);

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A rule, ready.
#[derive(Clone, Debug)]
struct Ready {
    pattern: Pattern,
    line: usize,
    to: To,
}

/// Where a rule or the default leads: its model is the one that was asked for, unless it names another.
#[derive(Clone, Debug)]
struct To {
    way: Way,
    model: Option<String>,
    profile: Option<Arc<Profile>>,
}

impl To {
    fn leg(&self, asked: &str) -> Leg {
        let model = match (&self.model, &self.way) {
            (Some(model), _) => model.clone(),
            (None, Way::Provider(provider)) => provider.written(asked),
            (None, Way::Anthropic) => asked.to_owned(),
        };
        Leg { way: self.way.clone(), model, profile: self.profile.clone() }
    }
}

/// Everything that leads somewhere, checked whole.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    known: Known,
    profiles: BTreeMap<String, Arc<Profile>>,
    /// Exact ones first, then beginnings, then ends; each in the user's order.
    rules: Vec<Ready>,
    roles: BTreeMap<String, (usize, Vec<Leg>)>,
    /// Roles that there are texts for, and the tier that each wants.
    texts: BTreeMap<String, Option<Tier>>,
    default: Option<(usize, To)>,
}

impl Routes {
    /// The providers there are.
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// Where this model's name leads.
    pub fn find(&self, asked: &str) -> Result<Route, Unknown> {
        let route = self.follow(asked)?;
        // Whatever was written where: no model of Anthropic's is asked for anywhere else.
        for leg in &route.legs {
            if is_anthropics(&leg.model)
                && let Some(host) = leg.host().filter(|host| !host.is_anthropic())
            {
                let model = typed(&leg.model);
                return Err(Unknown(format!("`{model}` is Anthropic's: it is not asked for at {host}")));
            }
        }
        Ok(route)
    }

    fn follow(&self, asked: &str) -> Result<Route, Unknown> {
        if model::check_name(asked).is_err() {
            return Err(Unknown(format!("`{}` cannot be a model's name", typed(asked))));
        }
        if is_anthropics(asked) {
            let leg = Leg { way: Way::Anthropic, model: asked.to_owned(), profile: None };
            return Ok(Route { why: Why::Claude, legs: vec![leg] });
        }
        if let Some((upstream, model)) = asked.split_once(',') {
            return self.named(upstream, model).map(|leg| Route { why: Why::Named, legs: vec![leg] });
        }
        if let Some(route) = asked.strip_prefix(ROLE).and_then(|role| self.role(role)) {
            return Ok(route);
        }
        if let Some(rule) = self.rules.iter().find(|rule| rule.pattern.fits(asked)) {
            let why = Why::Rule(rule.pattern.to_string(), rule.line);
            return Ok(Route { why, legs: vec![rule.to.leg(asked)] });
        }
        if let Some(provider) = self.server(asked) {
            let why = Why::Serves(provider.name.clone());
            return Ok(Route { why, legs: vec![self.to(Way::Provider(provider), None, None).leg(asked)] });
        }
        if let Some((line, to)) = &self.default {
            return Ok(Route { why: Why::Default(*line), legs: vec![to.leg(asked)] });
        }
        Err(self.unknown(asked))
    }

    /// `upstream,model`.
    fn named(&self, upstream: &str, model: &str) -> Result<Leg, Unknown> {
        let (upstream, model) = (upstream.trim(), model.trim());
        if upstream == ANTHROPIC {
            if !is_anthropics(model) {
                return Err(Unknown(format!("Anthropic has no model `{}`", typed(model))));
            }
            return Ok(Leg { way: Way::Anthropic, model: model.to_owned(), profile: None });
        }
        let provider = self.known.find(upstream).map_err(Unknown)?;
        if model::check_name(model).is_err() || model.contains(',') {
            return Err(Unknown(format!("`{}` cannot be a model's name", typed(model))));
        }
        Ok(self.to(Way::Provider(Arc::clone(provider)), None, None).leg(model))
    }

    /// With these roles, for which there are texts: what the configuration does not map is the preferred worker's.
    #[must_use]
    pub fn with_roles(self, texts: impl Iterator<Item = (String, Option<Tier>)>) -> Self {
        Self { texts: texts.collect(), ..self }
    }

    /// A role of the configuration, a worker that is asked for as if it were one, or a role that nothing maps.
    fn role(&self, role: &str) -> Option<Route> {
        if let Some((line, legs)) = self.roles.get(role) {
            return Some(Route { why: Why::Role(role.to_owned(), *line), legs: legs.clone() });
        }
        let (why, provider, tier) = if let Some(provider) = self.known.providers.get(role) {
            (Why::Role(role.to_owned(), 0), provider, None)
        } else {
            let tier = *self.texts.get(role)?;
            let provider = self.first_worker()?;
            (Why::Preferred(role.to_owned(), provider.name.clone()), provider, tier)
        };
        let model = tier.and_then(|tier| provider.tiers.get(&tier)).or(provider.default_model.as_ref())?;
        let to = self.to(Way::Provider(Arc::clone(provider)), Some(model.clone()), None);
        Some(Route { why, legs: vec![to.leg(role)] })
    }

    /// The worker that the user prefers, else the first by name.
    fn first_worker(&self) -> Option<&Arc<Provider>> {
        let workers =
            self.known.providers.values().filter(|provider| {
                matches!(provider.key, Key::Worker(_)) && !provider.base_url.is_anthropic()
            });
        workers.max_by_key(|provider| (provider.preferred, std::cmp::Reverse(&provider.name)))
    }

    /// The provider that serves this model by what is known of it: a worker the user prefers, then any worker, then
    /// a preset.
    fn server(&self, asked: &str) -> Option<Arc<Provider>> {
        let serving = self.known.providers.values().filter(|provider| provider.serves(asked));
        let order = |provider: &&Arc<Provider>| {
            let has_key = matches!(provider.key, Key::Worker(_));
            (provider.preferred, has_key, std::cmp::Reverse(provider.name.clone()))
        };
        serving.max_by_key(order).map(Arc::clone)
    }

    /// A place with its profile: the one that is named, else the provider's.
    fn to(&self, way: Way, model: Option<String>, profile: Option<&str>) -> To {
        let profile = match &way {
            Way::Anthropic => None,
            Way::Provider(provider) => profile.or(provider.profile.as_deref()),
        };
        let profile = profile.and_then(|name| self.profiles.get(name)).map(Arc::clone);
        To { way, model, profile }
    }

    fn unknown(&self, asked: &str) -> Unknown {
        let roles = self.roles.keys().chain(self.texts.keys());
        let roles: Vec<String> = roles.map(|role| format!("{ROLE}{role}")).collect();
        let exact = self.rules.iter().filter_map(|rule| match &rule.pattern {
            Pattern::Exact(name) => Some(name.as_str()),
            Pattern::Prefix(_) | Pattern::Suffix(_) => None,
        });
        let served = self.known.providers.values().flat_map(|provider| provider.models.keys());
        let names = roles.iter().map(String::as_str).chain(exact).chain(served.map(String::as_str));
        let lower = asked.to_lowercase();
        let next = match (nearest(&lower, names), self.closest_rule(&lower)) {
            (Some(meant), _) => format!("did you mean `{meant}`?"),
            (None, Some(rule)) => format!("the nearest rule is `{}` on line {}", rule.pattern, rule.line),
            (None, None) => "name it `upstream,model`, or give it a rule or a `default`".to_owned(),
        };
        let shown = typed(asked);
        Unknown(format!("no rule, role, worker or preset knows the model `{shown}`; {next}"))
    }

    /// The rule that shares the longest beginning or end with the name.
    fn closest_rule(&self, asked: &str) -> Option<&Ready> {
        let shared = |rule: &Ready| {
            let pattern = rule.pattern.to_string().to_lowercase();
            let from_end = matches!(rule.pattern, Pattern::Suffix(_));
            let pairs: Box<dyn Iterator<Item = (u8, u8)>> = if from_end {
                Box::new(pattern.bytes().rev().zip(asked.bytes().rev()))
            } else {
                Box::new(pattern.bytes().zip(asked.bytes()))
            };
            pairs.take_while(|(one, other)| one == other).count()
        };
        let close = self.rules.iter().map(|rule| (shared(rule), rule)).filter(|(count, _)| *count >= 2);
        close.max_by_key(|(count, _)| *count).map(|(_, rule)| rule)
    }
}
