//! The provider's own account of what it served, to hold a ledger's totals against.

use std::iter::Sum;
use std::ops::Add;

use serde::Serialize;

/// Tokens of one message, or a sum of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Input that was neither read from nor written to the cache.
    pub input: u64,
    /// Input written to the cache.
    pub cache_creation: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Output.
    pub output: u64,
}

impl Usage {
    /// What a message costs anew: everything but cache reads.
    pub fn fresh(&self) -> u64 {
        self.input + self.cache_creation + self.output
    }

    /// Figures that differ from message to message, so that one counted twice or left out shows in every sum.
    pub(super) fn of_message(number: u64) -> Self {
        Self {
            input: 3 + number % 7,
            cache_creation: 100 + 3 * number,
            cache_read: 1000 + 11 * number,
            output: 40 + number,
        }
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input: self.input + other.input,
            cache_creation: self.cache_creation + other.cache_creation,
            cache_read: self.cache_read + other.cache_read,
            output: self.output + other.output,
        }
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self::default(), Add::add)
    }
}

/// One message that was served.
#[derive(Debug, Clone, Serialize)]
pub struct Served {
    /// The message's id.
    pub id: String,
    /// The model that was asked for.
    pub model: String,
    /// Its tokens. Of a message cut in the middle: as much as the client was told.
    pub usage: Usage,
    /// The key it was asked with.
    #[serde(skip)]
    pub key: String,
    /// The client's session.
    pub session: Option<String>,
    /// The client's subagent.
    pub agent: Option<String>,
    /// Whether it was sent to its end.
    pub complete: bool,
}
