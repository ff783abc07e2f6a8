//! A breaker: an upstream's model that fails too often is left alone for a while, then one request tries it.

use std::time::Duration;

use super::{Moment, Outcome};
use crate::config::Breaking;

/// The window is counted in so many parts, of which the oldest is forgotten as a new one begins.
const PARTS: u64 = 12;
/// A pause grows, with each try that failed, to this many times the first one.
const GROWS_TO: u32 = 8;

/// A breaker.
#[derive(Clone, Debug)]
pub struct Breaker {
    settings: Breaking,
    parts: [Part; PARTS as usize],
    state: State,
    /// Rises with every change of state: what was admitted before it says nothing of what came after.
    era: u64,
    since: Option<Moment>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Part {
    number: u64,
    all: u32,
    failed: u32,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Closed,
    Open {
        until: Moment,
        failed: u32,
    },
    /// One request tries it, since then.
    Trying {
        since: Moment,
        failed: u32,
    },
}

/// What others see of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Seen {
    /// Everything goes.
    Closed,
    /// Nothing goes.
    Open,
    /// One may try.
    HalfOpen,
}

/// A request that was let through. It is given back once, with what came of it.
#[derive(Debug)]
#[must_use = "a request that was let through is given back with its outcome"]
pub struct Pass {
    era: u64,
    tries: bool,
}

impl Breaker {
    /// A closed one.
    pub fn new(settings: Breaking) -> Self {
        Self { settings, parts: [Part::default(); PARTS as usize], state: State::Closed, era: 0, since: None }
    }

    /// Lets a request through, or says after how long it is worth asking again.
    pub fn admit(&mut self, now: Moment) -> Result<Pass, Duration> {
        match self.state {
            State::Closed => Ok(Pass { era: self.era, tries: false }),
            State::Open { until, .. } if now < until => Err(until.saturating_sub(now)),
            // A try that nobody ends is given up after a pause.
            State::Trying { since, .. } if now < since + self.settings.open => {
                Err((since + self.settings.open).saturating_sub(now))
            }
            State::Open { failed, .. } | State::Trying { failed, .. } => {
                self.era += 1;
                self.state = State::Trying { since: now, failed };
                Ok(Pass { era: self.era, tries: true })
            }
        }
    }

    /// Takes a request back.
    #[expect(clippy::needless_pass_by_value, reason = "a pass is given back once")]
    pub fn ended(&mut self, pass: Pass, outcome: Outcome, now: Moment) {
        let Pass { era, tries } = pass;
        if era != self.era {
            return;
        }
        match (tries, outcome) {
            (false, Outcome::Success | Outcome::Failure) => self.count(outcome == Outcome::Failure, now),
            (true, Outcome::Success) => {
                self.era += 1;
                self.parts = [Part::default(); PARTS as usize];
                self.state = State::Closed;
                self.since = None;
            }
            (true, Outcome::Failure) => self.open(now),
            // Nothing was learnt: the next one tries.
            (true, Outcome::Throttled | Outcome::Abandoned) => {
                let failed = self.failed_tries();
                self.state = State::Open { until: now, failed };
            }
            (false, Outcome::Throttled | Outcome::Abandoned) => {}
        }
    }

    fn failed_tries(&self) -> u32 {
        match self.state {
            State::Closed => 0,
            State::Open { failed, .. } | State::Trying { failed, .. } => failed,
        }
    }

    fn open(&mut self, now: Moment) {
        let failed = self.failed_tries();
        let times = 2_u32.saturating_pow(failed).min(GROWS_TO);
        self.era += 1;
        self.since.get_or_insert(now);
        self.state =
            State::Open { until: now + self.settings.open * times, failed: failed.saturating_add(1) };
    }

    fn count(&mut self, failed: bool, now: Moment) {
        let number = self.number(now);
        if let Some(part) = self.parts.get_mut((number % PARTS) as usize) {
            if part.number != number {
                *part = Part { number, all: 0, failed: 0 };
            }
            part.all += 1;
            part.failed += u32::from(failed);
        }
        let (all, failures) = self.counted(now);
        let share = f64::from(failures) / f64::from(all.max(1));
        if failed && failures >= self.settings.failures && share >= self.settings.share {
            self.open(now);
        }
    }

    fn number(&self, now: Moment) -> u64 {
        let part = (self.settings.window.as_millis() as u64 / PARTS).max(1);
        now.as_millis() as u64 / part
    }

    /// Requests and failures within the window.
    fn counted(&self, now: Moment) -> (u32, u32) {
        let newest = self.number(now);
        let live = self.parts.iter().filter(|part| part.number + PARTS > newest);
        live.fold((0, 0), |(all, failed), part| (all + part.all, failed + part.failed))
    }

    /// What others see.
    pub fn seen(&self, now: Moment) -> Seen {
        match self.state {
            State::Closed => Seen::Closed,
            State::Open { until, .. } if now < until => Seen::Open,
            State::Open { .. } | State::Trying { .. } => Seen::HalfOpen,
        }
    }

    /// Since when it is not closed.
    pub fn since(&self) -> Option<Moment> {
        self.since
    }
}
