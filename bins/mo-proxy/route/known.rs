//! Which providers there are: workers, presets that a key is at hand for, and upstreams of the user's own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use shared::catalogue::Catalogue;
use shared::error::Error;
use shared::nearest::nearest;
use shared::redact::typed;
use shared::roster::Entry;

use super::provider::{Key, Provider};
use crate::config::mistake::Mistake;
use crate::config::names::ANTHROPIC;
use crate::config::{Config, Pace, Upstream};

/// The providers, by name.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Those that requests can go to.
    pub providers: BTreeMap<String, Arc<Provider>>,
    /// Names that would lead somewhere, and what is missing.
    pub missing: BTreeMap<String, String>,
    /// Upstreams of the configuration that are told to be wrong: what leads to them is not told again.
    pub broken: BTreeSet<String>,
}

impl Known {
    /// The providers of these workers, of the catalogue and of the configuration, and what is wrong with the latter.
    pub fn gather(
        config: &Config,
        path: &Path,
        catalogue: &Catalogue,
        workers: Vec<Provider>,
    ) -> (Self, Vec<Mistake>) {
        let mut found: BTreeMap<String, Provider> = BTreeMap::new();
        let mut known = Self::default();
        for worker in workers {
            found.insert(worker.name.clone(), worker);
        }
        for preset in catalogue.presets().filter(|preset| preset.id != ANTHROPIC) {
            if found.contains_key(&preset.id) {
                continue;
            }
            let of_it = found.values().filter(|worker| worker.preset.as_deref() == Some(&preset.id));
            // The preferred worker stands for its preset, else the first by name.
            let chosen =
                of_it.max_by_key(|worker| (worker.preferred, std::cmp::Reverse(worker.name.clone())));
            match chosen.cloned() {
                Some(worker) => {
                    found.insert(preset.id.clone(), worker);
                }
                None if preset.placeholder_key.is_some() => {
                    found.insert(preset.id.clone(), Provider::of_preset(preset));
                }
                None => {
                    let id = &preset.id;
                    let what = format!("no worker has a key for it: `mo-worker create {id} --preset {id}`");
                    known.missing.insert(id.clone(), what);
                }
            }
        }
        let mut mistakes = Vec::new();
        for (name, own) in config.upstreams.iter().filter(|(name, _)| *name != ANTHROPIC) {
            match described(name, own, &found, &known.missing) {
                Ok(provider) => {
                    known.missing.remove(name);
                    found.insert(name.clone(), provider);
                }
                Err(what) => {
                    known.broken.insert(name.clone());
                    mistakes.push(Mistake::on_line(path, own.line, what));
                }
            }
        }
        known.providers = found
            .into_iter()
            .map(|(name, provider)| {
                let pace = if provider.pace == Pace::default() { config.pace } else { provider.pace };
                (name, Arc::new(Provider { pace, ..provider }))
            })
            .collect();
        (known, mistakes)
    }

    /// The providers of the workers that can be read, and what is wrong with the others.
    pub fn of_roster(roster: Vec<Entry>, catalogue: &Catalogue) -> (Vec<Provider>, Vec<Error>) {
        let (mut providers, mut troubles) = (Vec::new(), Vec::new());
        for entry in roster {
            match entry.worker {
                Ok(worker) => providers.extend(Provider::of_worker(&worker, catalogue)),
                Err(error) => troubles.push(error),
            }
        }
        (providers, troubles)
    }

    /// The provider of this name, or why there is none.
    pub fn find(&self, name: &str) -> Result<&Arc<Provider>, String> {
        if let Some(provider) = self.providers.get(name) {
            return Ok(provider);
        }
        let shown = typed(name);
        if let Some(missing) = self.missing.get(name) {
            return Err(format!("`{shown}` cannot be reached: {missing}"));
        }
        let names = self.providers.keys().chain(self.missing.keys()).map(String::as_str);
        Err(match nearest(name, names.chain([ANTHROPIC])) {
            Some(meant) => format!("there is no upstream `{shown}`; did you mean `{meant}`?"),
            None => format!("there is no worker, preset or upstream `{shown}`"),
        })
    }
}

fn described(
    name: &str,
    own: &Upstream,
    found: &BTreeMap<String, Provider>,
    missing: &BTreeMap<String, String>,
) -> Result<Provider, String> {
    let base = match (found.get(name), &own.base_url) {
        // A place of its own takes nobody's key with it.
        (Some(there), Some(url))
            if matches!(there.key, Key::Worker(_)) && there.base_url.host() != url.host() =>
        {
            Provider { key: Key::None, ..there.clone() }
        }
        (Some(there), _) => there.clone(),
        (None, Some(url)) => Provider::at(name, url.clone()),
        (None, None) => {
            return Err(match missing.get(name) {
                Some(missing) => format!("`{name}` cannot be reached: {missing}"),
                None => format!("there is no worker or preset `{}`: name its `base_url`", typed(name)),
            });
        }
    };
    let mut provider = Provider { name: name.to_owned(), ..base }.with(own);
    if let Some(worker) = &own.worker {
        let holder = found.get(worker).filter(|holder| matches!(holder.key, Key::Worker(_)));
        let holder = holder.ok_or_else(|| format!("there is no worker `{}` with a key", typed(worker)))?;
        if holder.base_url.host() != provider.base_url.host() {
            let (owner, other) = (holder.base_url.host(), provider.base_url.host());
            return Err(format!(
                "the key of worker `{worker}` belongs to {owner}: it is not sent to {other}"
            ));
        }
        provider.key = holder.key.clone();
        provider.auth = own.auth.unwrap_or(holder.auth);
    }
    Ok(provider)
}
