//! All workers as the scheduler needs them, taken at one moment: their files, their usage, what they run.

use jiff::Timestamp;
use shared::accounts;
use shared::base_url::BaseUrl;
use shared::error::Result;
use shared::flatten::flatten;
use shared::login;
use shared::paths::Paths;
use shared::profile::USUAL_LIMIT;
use shared::roster;
use shared::tier::Tier;
use shared::usage::{self, Account, Freshness};
use shared::worker::{Key, Kind, State, Worker};

use crate::schedule::candidate::Candidate;
use crate::work::leases::Leases;

/// Everything about one worker.
#[derive(Debug)]
pub struct Seen {
    /// As the scheduler sees it.
    pub candidate: Candidate,
    /// What is kept of its usage; nothing for a provider.
    pub account: Option<Account>,
}

impl Seen {
    /// Whether it is an account of which nothing is known any more, so that it is worth asking.
    pub fn is_unknown(&self, now: Timestamp) -> bool {
        let Some(account) = &self.account else { return false };
        self.candidate.broken.is_none()
            && account.reading.as_ref().is_none_or(|reading| {
                reading.has_limits != Some(false) && reading.freshness(now) == Freshness::Gone
            })
    }
}

/// All of them, by name.
pub fn take(paths: &Paths, leases: &Leases, now: Timestamp) -> Result<Vec<Seen>> {
    let roster = roster::read(paths)?;
    Ok(roster
        .into_iter()
        .map(|entry| match entry.worker {
            Ok(worker) => seen(paths, &worker, leases, now),
            Err(error) => Seen {
                candidate: Candidate {
                    name: flatten(&entry.name, 64),
                    broken: Some(flatten(&error.to_string(), 300)),
                    ..Candidate::default()
                },
                account: None,
            },
        })
        .collect())
}

fn seen(paths: &Paths, worker: &Worker, leases: &Leases, now: Timestamp) -> Seen {
    let name = worker.name.as_str();
    // Cooling is kept for providers too: their quota ends as well.
    let account = usage::read(paths, &worker.name).unwrap_or_default();
    let is_account = worker.profile.kind == Kind::Account;
    let broken = broken(paths, worker);
    let candidate = Candidate {
        name: name.to_owned(),
        kind: worker.profile.kind,
        provider: provider(worker),
        broken,
        // An account is asked for its usage, which proves as much.
        unproven: !is_account && !matches!(worker.state(), State::Live(_)),
        tiers: tiers(worker),
        default_tier: worker.profile.default_tier.or(is_account.then_some(Tier::Opus)),
        anthropic: worker.is_anthropic(),
        preferred: worker.profile.preferred,
        running: leases.running(name),
        limit: Some(worker.profile.max_parallel.unwrap_or(USUAL_LIMIT)),
        last_used: leases.last_used(name),
        cooling_until: account.cooling(now).map(|cooling| cooling.until.0),
        asking: false,
        reading: account.reading.clone().filter(|_| is_account),
    };
    Seen { candidate, account: is_account.then_some(account) }
}

/// Why it cannot work at all.
fn broken(paths: &Paths, worker: &Worker) -> Option<String> {
    let name = &worker.name;
    if matches!(worker.key(), Key::Missing) {
        return Some(format!("has no key yet: `mo-key {name}`"));
    }
    if worker.profile.kind != Kind::Account {
        return None;
    }
    if !accounts::is_allowed(paths, worker).unwrap_or(false) {
        return Some("is another account, and several accounts are off: `mo-worker accounts on`".to_owned());
    }
    let is_default = worker.config_dir(paths).is_none();
    let directory = worker.profile.config_dir.clone().unwrap_or_else(|| worker.directory.clone());
    let held = login::is_held(&directory, &login::state_file(&directory, is_default));
    (!held).then(|| format!("is logged out: `mo-worker login {name}`"))
}

/// An account has every tier of Anthropic's by its own name; a provider what was mapped.
fn tiers(worker: &Worker) -> std::collections::BTreeMap<Tier, String> {
    if worker.profile.kind == Kind::Account && worker.profile.tiers.is_empty() {
        return Tier::ALL.into_iter().map(|tier| (tier, tier.name().to_owned())).collect();
    }
    worker.profile.tiers.iter().map(|(tier, mapped)| (*tier, mapped.model.clone())).collect()
}

/// Where its models come from, so that it is clear whose sessions it can go on with.
fn provider(worker: &Worker) -> String {
    match worker.base_url().map(BaseUrl::parse) {
        None => "anthropic".to_owned(),
        Some(Ok(parsed)) => parsed.url.as_str().to_owned(),
        Some(Err(_)) => worker.name.to_string(),
    }
}
