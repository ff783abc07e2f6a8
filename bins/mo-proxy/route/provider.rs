//! A provider as requests can be routed to it: its place, whose key it takes, what is known of its models.
//! The key itself is never here: it stays in its worker's file and is read when a request needs it.

use std::collections::BTreeMap;

use shared::auth::Auth;
use shared::base_url::BaseUrl;
use shared::catalogue::Catalogue;
use shared::model::Model;
use shared::name::Name;
use shared::preset::Preset;
use shared::tier::Tier;
use shared::worker::{self, Kind, Worker};

use crate::config::{Pace, Upstream};

/// Whose key a provider takes. Never the client's own: no variant could hold it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Key {
    /// The one in this worker's file.
    Worker(Name),
    /// A word that stands in a key's place, for servers that look at none.
    Placeholder(String),
    /// None.
    None,
}

/// A provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Provider {
    /// Its name in rules: the worker's, the preset's, or the user's own.
    pub name: String,
    /// Where it is.
    pub base_url: BaseUrl,
    /// How it takes its key.
    pub auth: Auth,
    /// Whose key.
    pub key: Key,
    /// The preset it was made from.
    pub preset: Option<String>,
    /// The model of each tier.
    pub tiers: BTreeMap<Tier, String>,
    /// The model where none is named.
    pub default_model: Option<String>,
    /// What is known of its models.
    pub models: BTreeMap<String, Model>,
    /// The profile of its requests, unless a role or a rule names another.
    pub profile: Option<String>,
    /// Members of a request that it understands, beyond the usual ones.
    pub keeps: Vec<String>,
    /// Betas that it understands.
    pub betas: Vec<String>,
    /// How much it is asked at once.
    pub pace: Pace,
    /// Paid by the month.
    pub flat_plan: bool,
    /// The user's first choice.
    pub preferred: bool,
}

impl Provider {
    /// A provider at this place, of which nothing is known.
    pub fn at(name: &str, base_url: BaseUrl) -> Self {
        Self {
            name: name.to_owned(),
            base_url,
            auth: Auth::default(),
            key: Key::None,
            preset: None,
            tiers: BTreeMap::new(),
            default_model: None,
            models: BTreeMap::new(),
            profile: None,
            keeps: Vec::new(),
            betas: Vec::new(),
            pace: Pace::default(),
            flat_plan: false,
            preferred: false,
        }
    }

    /// The provider behind a worker; nothing for an account, whose login is Claude Code's own affair.
    pub fn of_worker(worker: &Worker, catalogue: &Catalogue) -> Option<Self> {
        if worker.profile.kind == Kind::Account {
            return None;
        }
        let base_url = BaseUrl::parse(worker.base_url()?).ok()?.url;
        let profile = &worker.profile;
        let preset = profile.preset.as_deref().and_then(|id| catalogue.get(id));
        let mut models = preset.map(|preset| preset.models.clone()).unwrap_or_default();
        for mapped in profile.tiers.values() {
            let known = models.entry(mapped.model.clone()).or_default();
            known.context_window = mapped.context_window.or(known.context_window);
            known.max_output = mapped.max_output.or(known.max_output);
        }
        let tiers: BTreeMap<Tier, String> =
            profile.tiers.iter().map(|(tier, mapped)| (*tier, mapped.model.clone())).collect();
        Some(Self {
            auth: profile.auth,
            key: Key::Worker(worker.name.clone()),
            preset: profile.preset.clone(),
            default_model: worker.default_model().map(|mapped| mapped.model.clone()),
            tiers,
            models,
            flat_plan: profile.flat_plan,
            preferred: profile.preferred,
            ..Self::at(worker.name.as_str(), base_url)
        })
    }

    /// The provider that a preset describes; a key it has only where it needs none.
    pub fn of_preset(preset: &Preset) -> Self {
        let default = worker::first_mapped(&preset.tiers);
        Self {
            auth: preset.auth,
            key: preset.placeholder_key.clone().map_or(Key::None, Key::Placeholder),
            preset: Some(preset.id.clone()),
            default_model: default.and_then(|tier| preset.tiers.get(&tier)).cloned(),
            tiers: preset.tiers.clone(),
            models: preset.models.clone(),
            flat_plan: preset.flat_plan,
            ..Self::at(&preset.id, preset.base_url.clone())
        }
    }

    /// With what the configuration says of it.
    #[must_use]
    pub fn with(mut self, own: &Upstream) -> Self {
        if let Some(base_url) = &own.base_url {
            self.base_url = base_url.clone();
        }
        self.auth = own.auth.unwrap_or(self.auth);
        self.profile = own.profile.clone().or(self.profile);
        self.keeps.extend(own.keeps.iter().cloned());
        self.betas.extend(own.betas.iter().cloned());
        self.flat_plan = own.flat_plan.unwrap_or(self.flat_plan);
        for (name, said) in &own.models {
            let known = self.models.entry(name.clone()).or_default();
            known.context_window = said.context_window.or(known.context_window);
            known.max_output = said.max_output.or(known.max_output);
        }
        if let Some(pace) = own.pace {
            self.pace = pace;
        }
        self
    }

    /// What is known of this model. A beginning alone is no match: `glm-5` says nothing of `glm-5.2`.
    pub fn known(&self, model: &str) -> Option<(&str, &Model)> {
        let plain = model.split('[').next().unwrap_or(model);
        let same = |name: &str| name.eq_ignore_ascii_case(model) || name.eq_ignore_ascii_case(plain);
        self.models.iter().find(|(name, _)| same(name)).map(|(name, known)| (name.as_str(), known))
    }

    /// The model's name as this provider writes it: a tier is the model that serves it, and a name in another case
    /// is written as it is known.
    pub fn written(&self, model: &str) -> String {
        if let Some(mapped) = Tier::named(model).and_then(|tier| self.tiers.get(&tier)) {
            return mapped.clone();
        }
        match self.known(model) {
            Some((name, _)) if name.eq_ignore_ascii_case(model) => name.to_owned(),
            _ => model.to_owned(),
        }
    }

    /// The most tokens that an answer of this model can have, where it is known.
    pub fn ceiling(&self, model: &str) -> Option<u64> {
        self.known(model)?.1.max_output
    }

    /// Whether it serves a model of this name, as far as is known.
    pub fn serves(&self, model: &str) -> bool {
        let mapped = self.tiers.values().any(|name| name.eq_ignore_ascii_case(model));
        mapped || self.models.keys().any(|name| name.eq_ignore_ascii_case(model))
    }
}
