//! The choice of a worker for one task, by the rules of the house:
//! the named one; else those that can and may, the exhausted ones last and only with permission; the preferred one
//! favoured but never flooded; else the least busy, of these whoever is known to answer, else the one that rested longest.

use jiff::{SignedDuration, Timestamp};

use super::candidate::{Candidate, Wish};
use super::guards::Guards;
use super::reason::Reason;

/// So long a task waits for a worker that cools; after that its caller is better told.
const PATIENCE: SignedDuration = SignedDuration::from_mins(5);

/// What is decided for a task.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// This candidate does it.
    Take {
        /// Its place among the candidates.
        at: usize,
        /// Whether the work is billed past a plan.
        billed: bool,
    },
    /// Nobody can now, somebody will: when a task ends, or at this time.
    Wait {
        /// When to look again at the latest; nothing where only the end of a task helps.
        until: Option<Timestamp>,
        /// What stands in the way of each.
        why: Vec<(String, Reason)>,
    },
    /// Nobody can, and waiting does not help.
    Refuse {
        /// What stands in the way of each.
        why: Vec<(String, Reason)>,
    },
}

/// Chooses.
pub fn choose(wish: &Wish, candidates: &[Candidate], guards: Guards, now: Timestamp) -> Choice {
    let asked = |candidate: &Candidate| wish.worker.as_ref().is_none_or(|name| *name == candidate.name);
    let mut fit: Vec<(usize, bool)> = Vec::new();
    let mut why = Vec::new();
    for (at, candidate) in candidates.iter().enumerate().filter(|(_, candidate)| asked(candidate)) {
        match judge(wish, candidate, guards, now) {
            Ok(billed) => fit.push((at, billed)),
            Err(reason) => why.push((candidate.name.clone(), reason)),
        }
    }
    // Whoever would bill comes after everybody who does not.
    let billed = fit.iter().all(|(_, billed)| *billed);
    fit.retain(|(_, bills)| *bills == billed);
    if let Some(at) = best(&fit, candidates) {
        // Who is not exhausted but full is worth waiting for before money is spent.
        let worth_waiting = billed && why.iter().any(|(_, reason)| reason.passes_with_a_task());
        if !worth_waiting && !awaits_preferred(candidates.get(at), candidates, &why) {
            return Choice::Take { at, billed };
        }
    }
    let soon = why.iter().filter_map(|(_, reason)| reason.passes_at()).min();
    let soon = soon.filter(|at| at.duration_since(now) <= PATIENCE);
    if soon.is_some() || why.iter().any(|(_, reason)| reason.passes_with_a_task()) {
        return Choice::Wait { until: soon, why };
    }
    Choice::Refuse { why }
}

/// Whether this worker may do the task, and whether that would be billed past its plan.
pub fn judge(wish: &Wish, candidate: &Candidate, guards: Guards, now: Timestamp) -> Result<bool, Reason> {
    if wish.failed.contains(&candidate.name) {
        return Err(Reason::Failed);
    }
    if let Some(why) = &candidate.broken {
        return Err(Reason::Broken(why.clone()));
    }
    let Some(model) = candidate.model_for(wish) else {
        return Err(match &wish.model {
            Some(model) => Reason::NoModel(model.clone()),
            None => Reason::NoTier(wish.tier.or(candidate.default_tier)),
        });
    };
    if candidate.is_frontier(model) && !guards.frontier.is_open() {
        return Err(Reason::Frontier(model.to_owned()));
    }
    // Somebody who names a worker may know more than we do of its last refusal; the guards hold for them too.
    if let Some(at) = candidate.cooling_until.filter(|at| *at > now && wish.worker.is_none()) {
        return Err(Reason::Cooling(at));
    }
    if candidate.asking {
        return Err(Reason::Asking);
    }
    let billed = candidate.is_exhausted(model, now);
    if billed && !(candidate.bills_past_its_plan() && guards.overage.is_open()) {
        return Err(match candidate.used_up(model, now) {
            Some((window, until)) => Reason::UsedUp(window, until),
            None => Reason::Unknown,
        });
    }
    // Its first run tells, and is stopped where it is billed: so no more than that is risked.
    if candidate.running > 0 && !guards.overage.is_open() && candidate.is_untold(now) {
        return Err(Reason::Untold);
    }
    match candidate.limit {
        Some(limit) if candidate.running >= limit => Err(Reason::Full(limit)),
        _ => Ok(billed),
    }
}

/// Whether the preferred worker would be taken instead of this one if only it had told what is left of its plan:
/// that takes seconds, and whoever answers first is not whom the user prefers.
fn awaits_preferred(taken: Option<&Candidate>, candidates: &[Candidate], why: &[(String, Reason)]) -> bool {
    let is_asked = |name: &str| why.iter().any(|(one, reason)| one == name && *reason == Reason::Asking);
    taken.is_some_and(|taken| {
        let favoured = |one: &&Candidate| one.preferred && one.running <= taken.running;
        !taken.preferred && candidates.iter().filter(favoured).any(|one| is_asked(&one.name))
    })
}

/// The best of those that fit.
fn best(fit: &[(usize, bool)], candidates: &[Candidate]) -> Option<usize> {
    let fit: Vec<(usize, &Candidate)> =
        fit.iter().filter_map(|(at, _)| candidates.get(*at).map(|candidate| (*at, candidate))).collect();
    let least = |preferred: bool| {
        let kind = fit.iter().filter(|(_, candidate)| candidate.preferred == preferred);
        kind.min_by_key(|(_, candidate)| order(candidate)).copied()
    };
    match (least(true), least(false)) {
        // Favoured while it is no busier than the least busy of the others.
        (Some((at, preferred)), Some((_, other))) if preferred.running <= other.running => Some(at),
        (_, Some((at, _))) | (Some((at, _)), None) => Some(at),
        (None, None) => None,
    }
}

/// Least busy first, then whoever is known to answer, then the one that rested longest; the name makes it the same every
/// time.
fn order(candidate: &Candidate) -> (u32, bool, Option<Timestamp>, &str) {
    (candidate.running, candidate.unproven, candidate.last_used, &candidate.name)
}
