//! What holds requests back: the gate of each upstream, breakers, and the budget of tries. The machines that decide
//! are in `limits`; here they are shared, and fed with the time and with chance.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::config::{Breaking, Pace, Retrying};
use crate::limits::Outcome;
use crate::limits::board::{Board, Told};
use crate::limits::breaker::Pass;
use crate::limits::health::Turn;
use crate::limits::retry::{self, Budget, Failed, Verdict};
use crate::turnstile::Turnstile;

/// What holds requests back.
#[derive(Debug)]
pub struct Restraint {
    began: Instant,
    board: Mutex<Board>,
    budgets: Mutex<HashMap<String, Budget>>,
    turnstiles: Mutex<HashMap<String, Arc<Turnstile>>>,
}

/// A request that a breaker let through; what comes of it is told once.
#[derive(Debug)]
pub struct Watched<'a> {
    restraint: &'a Restraint,
    pass: Option<Pass>,
    upstream: String,
    model: String,
    outcome: Outcome,
}

impl Restraint {
    /// Nothing has happened yet.
    pub fn new(breaking: Breaking) -> Self {
        Self {
            began: Instant::now(),
            board: Mutex::new(Board::new(breaking)),
            budgets: Mutex::default(),
            turnstiles: Mutex::default(),
        }
    }

    /// The gate of this upstream. A new pace makes a new gate; who went through the old one is forgotten there.
    pub fn turnstile(&self, upstream: &str, pace: Pace) -> Arc<Turnstile> {
        let mut turnstiles = lock(&self.turnstiles);
        match turnstiles.get(upstream) {
            Some(turnstile) if turnstile.pace() == pace => Arc::clone(turnstile),
            _ => {
                let turnstile = Turnstile::new(pace);
                turnstiles.insert(upstream.to_owned(), Arc::clone(&turnstile));
                turnstile
            }
        }
    }

    /// How many wait at each gate.
    pub fn queued(&self) -> Vec<(String, u64)> {
        let turnstiles = lock(&self.turnstiles);
        turnstiles.iter().map(|(name, turnstile)| (name.clone(), turnstile.queued() as u64)).collect()
    }

    /// Asks the breaker of this model, or says after how long it is worth asking again.
    pub fn admit(&self, upstream: &str, model: &str) -> Result<Watched<'_>, Duration> {
        let pass = lock(&self.board).admit(upstream, model, self.began.elapsed())?;
        Ok(Watched {
            restraint: self,
            pass: Some(pass),
            upstream: upstream.to_owned(),
            model: model.to_owned(),
            outcome: Outcome::Abandoned,
        })
    }

    /// The order in which to ask these places.
    pub fn order<'a>(&self, places: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<usize> {
        lock(&self.board).order(places, self.began.elapsed())
    }

    /// All models that were asked, and since how long ago each is left alone.
    pub fn told(&self) -> Vec<(Told, Option<Duration>)> {
        let now = self.began.elapsed();
        let told = lock(&self.board).told(now).into_iter();
        told.map(|told| (told.clone(), told.since.map(|since| now.saturating_sub(since)))).collect()
    }

    /// A client's request has come for this upstream: it pays for a part of a try.
    pub fn paid(&self, upstream: &str, settings: &Retrying) {
        let mut budgets = lock(&self.budgets);
        match budgets.get_mut(upstream) {
            Some(budget) => budget.paid(settings),
            None => budgets.entry(upstream.to_owned()).or_default().paid(settings),
        }
    }

    /// What to do after so many tries at this upstream.
    pub fn decide(&self, upstream: &str, settings: &Retrying, made: u32, failed: Failed) -> Verdict {
        let mut budgets = lock(&self.budgets);
        let budget = budgets.entry(upstream.to_owned()).or_default();
        retry::decide(settings, budget, made, failed, chance())
    }
}

impl Watched<'_> {
    /// This came of it.
    pub fn outcome(&mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        let Some(pass) = self.pass.take() else { return };
        let now = self.restraint.began.elapsed();
        let turn = lock(&self.restraint.board).ended(pass, &self.upstream, &self.model, self.outcome, now);
        let (upstream, model) = (&self.upstream, &self.model);
        match turn {
            Some(Turn::Degraded) => tracing::warn!(upstream, model, "does worse than usual"),
            Some(Turn::Recovered(after)) => {
                tracing::info!(upstream, model, seconds = after.as_secs(), "does well again");
            }
            None => {}
        }
    }
}

/// A number from 0 to 1 that nobody can foresee.
fn chance() -> f64 {
    (RandomState::new().hash_one(()) >> 11) as f64 / (1_u64 << 53) as f64
}

/// A lock whose holder panicked still guards whole sums.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_spread_between_0_and_1() {
        let drawn: Vec<f64> = (0..1000).map(|_| chance()).collect();
        assert!(drawn.iter().all(|one| (0.0..1.0).contains(one)));
        assert!(drawn.iter().any(|one| *one < 0.1) && drawn.iter().any(|one| *one > 0.9));
    }

    #[test]
    fn a_request_nobody_told_of_is_no_failure() {
        let restraint = Restraint::new(Breaking { failures: 1, ..Breaking::default() });
        drop(restraint.admit("u", "m").unwrap());
        let mut failed = restraint.admit("u", "m").unwrap();
        failed.outcome(Outcome::Failure);
        drop(failed);
        assert!(restraint.admit("u", "m").is_err() && restraint.admit("u", "other").is_ok());
    }
}
