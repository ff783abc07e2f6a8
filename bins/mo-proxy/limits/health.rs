//! Whether a model does worse than usual: a score that failures raise, and that successes and time wear off.

use std::time::Duration;

use super::{Moment, Outcome};

/// In this time half of the score wears off.
const HALF: Duration = Duration::from_secs(60);
/// Three failures shortly one after the other.
const BAD: f64 = 2.5;
/// Below this it is well again: lower than [`BAD`], so that it does not go to and fro.
const WELL: f64 = 1.0;

/// A model's health.
#[derive(Clone, Copy, Debug, Default)]
pub struct Health {
    score: f64,
    at: Moment,
    since: Option<Moment>,
}

/// A turn for the worse or the better.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Turn {
    /// It does worse from now on.
    Degraded,
    /// It does well again, after this long.
    Recovered(Duration),
}

impl Health {
    fn score(&self, now: Moment) -> f64 {
        let halves = now.saturating_sub(self.at).as_secs_f64() / HALF.as_secs_f64();
        self.score * 0.5_f64.powf(halves)
    }

    /// Takes an outcome into account, and tells a turn.
    pub fn note(&mut self, outcome: Outcome, now: Moment) -> Option<Turn> {
        let score = self.score(now);
        self.score = match outcome {
            Outcome::Failure => score + 1.0,
            Outcome::Success => score / 2.0,
            Outcome::Throttled | Outcome::Abandoned => score,
        };
        self.at = now;
        match self.since {
            None if self.score >= BAD => {
                self.since = Some(now);
                Some(Turn::Degraded)
            }
            Some(since) if self.score < WELL => {
                self.since = None;
                Some(Turn::Recovered(now.saturating_sub(since)))
            }
            _ => None,
        }
    }

    /// Whether it does worse than usual. What nobody asks any more recovers by time alone.
    pub fn is_degraded(&self, now: Moment) -> bool {
        self.since.is_some() && self.score(now) >= WELL
    }
}
