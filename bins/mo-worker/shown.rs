//! How a worker's parts read in lists and on screens.

use shared::flatten::flatten;
use shared::worker::{State, Worker};

/// The longest text of a cell.
const CELL: usize = 80;

/// The state in a few words.
pub fn state(state: &State) -> String {
    match state {
        State::NeedsKey => "needs key".to_owned(),
        State::Unchecked => "unchecked".to_owned(),
        State::Live(at) => format!("live ({})", at.get(..10).unwrap_or(at)),
        State::Failing(kind) => format!("failing: {}", flatten(kind, CELL)),
    }
}

/// The state in one word, for scripts.
pub fn state_word(state: &State) -> &'static str {
    match state {
        State::NeedsKey => "needs-key",
        State::Unchecked => "unchecked",
        State::Live(_) => "live",
        State::Failing(_) => "failing",
    }
}

/// The mapped tiers, the default one marked.
pub fn tiers(worker: &Worker) -> String {
    if let (true, Some(tier)) = (worker.profile.tiers.is_empty(), worker.profile.default_tier) {
        return format!("{tier}*");
    }
    let mapped = worker.profile.tiers.iter().map(|(tier, mapped)| {
        let mark = if Some(*tier) == worker.profile.default_tier { "*" } else { "" };
        format!("{tier}{mark}={}", flatten(&mapped.model, CELL))
    });
    mapped.collect::<Vec<_>>().join(" ")
}

/// The endpoint, or what stands in its place.
pub fn endpoint(worker: &Worker) -> String {
    match worker.base_url() {
        None => "Claude account".to_owned(),
        Some(url) if worker.is_account() => format!("Claude account by way of {}", flatten(url, CELL)),
        Some(url) => flatten(url, CELL),
    }
}
