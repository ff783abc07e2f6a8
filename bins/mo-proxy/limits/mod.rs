//! How much is asked of an upstream, when it is left alone, and when a request is tried again.
//! Everything here only decides: the time and the dice are handed in, waiting and asking are the caller's.

pub mod board;
pub mod breaker;
pub mod gate;
pub mod health;
pub mod refusal;
pub mod retry;
#[cfg(test)]
mod tests;

use std::time::Duration;

/// A time, counted from the gateway's start.
pub type Moment = Duration;

/// What came of a client's request at an upstream. There is one of it, however often it was tried.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// The upstream did its work: also a refusal of a request that deserves one.
    Success,
    /// It failed: no connection, no answer, a broken answer, a status of 500 and above.
    Failure,
    /// It had too much to do, or our plan is used up: 429, 529, or the same inside a stream. Says nothing of its health.
    Throttled,
    /// The client left before anything could be told.
    Abandoned,
}

impl Outcome {
    /// What a status says.
    pub fn of_status(status: u16) -> Self {
        match status {
            429 | 529 | 402 => Self::Throttled,
            500.. => Self::Failure,
            _ => Self::Success,
        }
    }
}
