//! Configuration and providers made into routes. Every name is looked up once, here: what leads nowhere is told
//! with its line, before any request asks for it.

use std::path::Path;
use std::sync::Arc;

use shared::catalogue::Catalogue;
use shared::redact::typed;

use super::known::Known;
use super::provider::Provider;
use super::{Leg, Ready, Routes, To, Way};
use crate::config::mistake::Mistake;
use crate::config::names::{ANTHROPIC, is_anthropics};
use crate::config::{Config, Fallback, Target};

/// The longest chain.
const LONGEST: usize = 8;

struct Settling<'c> {
    config: &'c Config,
    path: &'c Path,
    routes: Routes,
    mistakes: Vec<Mistake>,
}

impl Routes {
    /// The routes, or everything that is wrong with them.
    pub fn settle(
        config: &Config,
        path: &Path,
        catalogue: &Catalogue,
        workers: Vec<Provider>,
    ) -> Result<Self, Vec<Mistake>> {
        let (known, mistakes) = Known::gather(config, path, catalogue, workers);
        let profiles = config.profiles.iter();
        let profiles = profiles.map(|(name, profile)| (name.clone(), Arc::new(profile.clone()))).collect();
        let routes = Self { known, profiles, ..Self::default() };
        let mut settling = Settling { config, path, routes, mistakes };
        settling.rules();
        settling.roles();
        if let Some(target) = &config.default
            && let Some(to) = settling.to(target, None)
        {
            settling.routes.default = Some((target.line, to));
        }
        if settling.mistakes.is_empty() { Ok(settling.routes) } else { Err(settling.mistakes) }
    }
}

impl Settling<'_> {
    fn wrong(&mut self, line: usize, what: String) {
        self.mistakes.push(Mistake::on_line(self.path, line, what));
    }

    fn to(&mut self, target: &Target, profile: Option<&str>) -> Option<To> {
        if target.upstream == ANTHROPIC {
            return Some(self.routes.to(Way::Anthropic, target.model.clone(), None));
        }
        if self.routes.known.broken.contains(&target.upstream) {
            return None;
        }
        let provider = match self.routes.known.find(&target.upstream) {
            Ok(provider) => Arc::clone(provider),
            Err(what) => {
                self.wrong(target.line, what);
                return None;
            }
        };
        let model = target.model.as_deref().map(|model| provider.written(model));
        if let Some(model) = model.as_deref().filter(|model| is_anthropics(model))
            && !provider.base_url.is_anthropic()
        {
            let (model, host) = (typed(model), provider.base_url.host());
            self.wrong(target.line, format!("`{model}` is Anthropic's: it is not asked for at {host}"));
            return None;
        }
        Some(self.routes.to(Way::Provider(provider), model, profile))
    }

    fn rules(&mut self) {
        for rule in &self.config.rules {
            if let Some(to) = self.to(&rule.to, rule.profile.as_deref()) {
                self.routes.rules.push(Ready { pattern: rule.pattern.clone(), line: rule.to.line, to });
            }
        }
        // Stable: within a class the user's order stays.
        self.routes.rules.sort_by_key(|rule| rule.pattern.class());
    }

    fn roles(&mut self) {
        for (name, role) in &self.config.roles {
            let mut legs = Vec::new();
            let mut open = Vec::new();
            self.chain(name, role.line, &mut open, &mut legs);
            if legs.len() > LONGEST {
                self.wrong(role.line, format!("the chain of role `{name}` has more than {LONGEST} places"));
            }
            if !legs.is_empty() {
                self.routes.roles.insert(name.clone(), (role.line, legs));
            }
        }
    }

    /// Adds the places of a role, and of the roles it falls back on. `open` are the roles that are being followed:
    /// one that comes up again would go round for ever.
    fn chain(&mut self, name: &str, line: usize, open: &mut Vec<String>, legs: &mut Vec<Leg>) {
        if open.iter().any(|earlier| earlier == name) {
            if open.first().is_some_and(|first| first == name) {
                let round: Vec<_> = open.iter().map(|role| format!("mo-{role}")).collect();
                self.wrong(line, format!("the fallbacks go round: {} → mo-{name}", round.join(" → ")));
            }
            return;
        }
        let Some(role) = self.config.roles.get(name) else {
            self.wrong(line, format!("there is no role `{}` to fall back on", typed(name)));
            return;
        };
        open.push(name.to_owned());
        self.place(name, &role.to, role.profile.as_deref(), legs);
        for fallback in &role.fallback {
            match fallback {
                Fallback::To(target) => self.place(name, target, role.profile.as_deref(), legs),
                Fallback::Role(other, line) => self.chain(other, *line, open, legs),
            }
        }
        open.pop();
    }

    fn place(&mut self, role: &str, target: &Target, profile: Option<&str>, legs: &mut Vec<Leg>) {
        let Some(mut to) = self.to(target, profile) else { return };
        if let (None, Way::Provider(provider)) = (&to.model, &to.way) {
            to.model.clone_from(&provider.default_model);
        }
        if to.model.is_none() {
            let upstream = &target.upstream;
            let what = format!(
                "role `{role}` needs a model: write `{upstream},MODEL`, as `{upstream}` has no usual one"
            );
            self.wrong(target.line, what);
            return;
        }
        let leg = to.leg(role);
        let there = legs.iter().any(|other| other.upstream() == leg.upstream() && other.model == leg.model);
        if !there {
            legs.push(leg);
        }
    }
}
