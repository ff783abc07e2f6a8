//! Whether a request is tried again: only where that is safe, only when it is told or allowed, never for long, and
//! never so often that the tries become the load.

use std::time::Duration;

use crate::config::Retrying;

/// Tries are allowed from the start, before any request has paid for them.
const AT_FIRST: f64 = 5.0;
/// So many can be saved up.
const SAVED: f64 = 20.0;

/// Tries beyond the first, paid for by all requests.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    left: f64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { left: AT_FIRST }
    }
}

impl Budget {
    /// A client's request has come.
    pub fn paid(&mut self, settings: &Retrying) {
        self.left = (self.left + settings.budget).min(SAVED);
    }

    fn take(&mut self) -> bool {
        let has = self.left >= 1.0;
        if has {
            self.left -= 1.0;
        }
        has
    }
}

/// How a try failed, before the client heard anything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Failed {
    /// Nothing was sent: no connection came about.
    Unreached,
    /// It was sent, and no answer came: the work may be done and paid for, so it is not asked for again.
    Unanswered,
    /// It was answered so.
    Answered {
        /// The status.
        status: u16,
        /// `Retry-After`.
        after: Option<Duration>,
        /// `x-should-retry`.
        should: Option<bool>,
        /// A plan is used up: another try cannot help.
        quota: bool,
    },
}

/// What to do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// Try again after this pause.
    Again(Duration),
    /// Give the client what there is, and why.
    Enough(&'static str),
}

/// Decides after `made` tries; `chance` is a number from 0 to 1 that nobody can foresee.
pub fn decide(settings: &Retrying, budget: &mut Budget, made: u32, failed: Failed, chance: f64) -> Verdict {
    if made > settings.tries {
        return Verdict::Enough("it was tried often enough");
    }
    let told = match failed {
        Failed::Unreached => None,
        Failed::Unanswered => return Verdict::Enough("it may have been done already"),
        Failed::Answered { quota: true, .. } => return Verdict::Enough("the plan is used up"),
        Failed::Answered { should: Some(false), .. } => return Verdict::Enough("the upstream asks not to"),
        Failed::Answered { status, after, should, .. } => {
            let told = after.filter(|_| matches!(status, 429 | 503 | 529));
            if told.is_none() && should != Some(true) && !settings.statuses.contains(&status) {
                return Verdict::Enough("this status is not tried again");
            }
            told
        }
    };
    let pause = match told {
        Some(after) if after > settings.longest => {
            return Verdict::Enough("the upstream asks for a longer pause");
        }
        // Not all at once: those who were sent away together come back one by one.
        Some(after) => after + settings.base.mul_f64(chance.clamp(0.0, 1.0)),
        None => {
            let doubled = settings.base.saturating_mul(2_u32.saturating_pow(made.saturating_sub(1)));
            doubled.min(settings.longest).mul_f64(chance.clamp(0.0, 1.0))
        }
    };
    if budget.take() {
        Verdict::Again(pause)
    } else {
        Verdict::Enough("too many requests are tried again already")
    }
}
