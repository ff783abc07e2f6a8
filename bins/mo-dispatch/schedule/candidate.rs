//! A worker as the scheduler sees it: what it can do, how busy it is, what is left of its plan.

use std::collections::BTreeMap;

use jiff::Timestamp;
use shared::tier::Tier;
use shared::usage::{self, Reading};
use shared::worker::Kind;

/// A worker.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Provider or account.
    pub kind: Kind,
    /// Where its models come from: a session can only go on where they are the same.
    pub provider: String,
    /// Why it cannot work at all: a broken file, no key, no login.
    pub broken: Option<String>,
    /// It is a provider whose last check did not prove that it answers, or that nobody checked.
    pub unproven: bool,
    /// The models it has, by tier.
    pub tiers: BTreeMap<Tier, String>,
    /// The tier it works at where none is asked for.
    pub default_tier: Option<Tier>,
    /// Whether its models are Anthropic's own.
    pub anthropic: bool,
    /// The one to take when several could.
    pub preferred: bool,
    /// How many tasks it runs now, in all sessions.
    pub running: u32,
    /// The most it may run at once.
    pub limit: Option<u32>,
    /// When it was given its last task.
    pub last_used: Option<Timestamp>,
    /// It refuses work until then.
    pub cooling_until: Option<Timestamp>,
    /// It is being asked for its usage just now.
    pub asking: bool,
    /// What is known of its plan; nothing for a provider that is paid another way, or where nobody ever asked.
    pub reading: Option<Reading>,
}

/// What a task asks of a worker.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wish {
    /// This worker and no other.
    pub worker: Option<String>,
    /// This tier.
    pub tier: Option<Tier>,
    /// This model.
    pub model: Option<String>,
    /// Workers that failed this task already.
    pub failed: Vec<String>,
}

impl Candidate {
    /// The model that would do the task; nothing where it has none that fits.
    pub fn model_for<'a>(&'a self, wish: &'a Wish) -> Option<&'a str> {
        if let Some(model) = &wish.model {
            return self
                .tiers
                .values()
                .find(|own| *own == model)
                .map(String::as_str)
                // An account knows every model of Anthropic's by its own name.
                .or_else(|| (self.anthropic && is_anthropics(model)).then_some(model.as_str()));
        }
        let tier = wish.tier.or(self.default_tier)?;
        self.tiers.get(&tier).map(String::as_str)
    }

    /// Whether nothing of its plan is left for this model, or nobody knows and more would be billed.
    pub fn is_exhausted(&self, model: &str, now: Timestamp) -> bool {
        usage::exhausted(self.reading.as_ref(), Some(model), now)
    }

    /// The name of the window that stops this model, and until when.
    pub fn used_up(&self, model: &str, now: Timestamp) -> Option<(String, Option<Timestamp>)> {
        let reading = self.reading.as_ref()?;
        let until = usage::refused_until(reading, Some(model), now).map(|moment| moment.0);
        let window = reading.known(now).find(|window| usage::full(window, now))?;
        Some((window.name.clone(), until))
    }

    /// Whether work past its plan goes on and is billed.
    pub fn bills_past_its_plan(&self) -> bool {
        self.reading.as_ref().is_some_and(|reading| reading.overage.is_on())
    }

    /// Whether it is an account of whose plan nobody told anything lately.
    pub fn is_untold(&self, now: Timestamp) -> bool {
        self.kind == Kind::Account && !usage::is_told(self.reading.as_ref(), now)
    }

    /// Whether the model is one that is billed per use even on a plan.
    pub fn is_frontier(&self, model: &str) -> bool {
        self.anthropic && is_frontier_model(model)
    }
}

/// Whether a model of Anthropic's belongs to the frontier tier, which is billed per use.
pub fn is_frontier_model(model: &str) -> bool {
    let model = model.to_ascii_lowercase();
    ["fable", "mythos"].iter().any(|name| model.contains(name))
}

fn is_anthropics(model: &str) -> bool {
    model.starts_with("claude-") || Tier::named(model).is_some()
}
