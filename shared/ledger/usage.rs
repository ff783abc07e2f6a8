//! Token counts: what one message used, and sums of them. Prices and shares are left to the reports.

use serde::{Deserialize, Serialize};
use std::ops::{AddAssign, SubAssign};

/// The tokens of one message, or the sum over several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Prompt tokens that came from no cache.
    pub input: u64,
    /// Tokens the model wrote.
    pub output: u64,
    /// Prompt tokens written to the cache (the flat field of the row; it holds the one-hour part too).
    pub cache_creation: u64,
    /// The part of `cache_creation` kept for one hour; only prices care.
    pub cache_creation_1h: u64,
    /// Prompt tokens read from the cache; kept apart from fresh tokens.
    pub cache_read: u64,
}

impl Usage {
    /// Tokens that had to be worked on: input, cache writes and output.
    pub const fn fresh(&self) -> u64 {
        self.input.wrapping_add(self.cache_creation).wrapping_add(self.output)
    }

    /// The size of the prompt, which decides the price tier of some models.
    pub const fn prompt(&self) -> u64 {
        self.input.wrapping_add(self.cache_creation).wrapping_add(self.cache_read)
    }
}

// Sums wrap: one message is held below a trillion tokens when it is read, so a sum can only wrap after
// sixteen million such messages, and wrapping keeps "take away, then add" exact in any order.
impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.wrapping_add(other.input);
        self.output = self.output.wrapping_add(other.output);
        self.cache_creation = self.cache_creation.wrapping_add(other.cache_creation);
        self.cache_creation_1h = self.cache_creation_1h.wrapping_add(other.cache_creation_1h);
        self.cache_read = self.cache_read.wrapping_add(other.cache_read);
    }
}

impl SubAssign for Usage {
    fn sub_assign(&mut self, other: Self) {
        self.input = self.input.wrapping_sub(other.input);
        self.output = self.output.wrapping_sub(other.output);
        self.cache_creation = self.cache_creation.wrapping_sub(other.cache_creation);
        self.cache_creation_1h = self.cache_creation_1h.wrapping_sub(other.cache_creation_1h);
        self.cache_read = self.cache_read.wrapping_sub(other.cache_read);
    }
}

/// A number of messages and what they used together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Total {
    /// How many messages.
    pub messages: u64,
    /// Their tokens.
    #[serde(flatten)]
    pub usage: Usage,
}

impl Total {
    /// One message more.
    pub fn add(&mut self, usage: Usage) {
        self.messages = self.messages.wrapping_add(1);
        self.usage += usage;
    }

    /// One message less.
    pub fn remove(&mut self, usage: Usage) {
        self.messages = self.messages.wrapping_sub(1);
        self.usage -= usage;
    }

    /// Nothing was counted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl AddAssign for Total {
    fn add_assign(&mut self, other: Self) {
        self.messages = self.messages.wrapping_add(other.messages);
        self.usage += other.usage;
    }
}

impl SubAssign for Total {
    fn sub_assign(&mut self, other: Self) {
        self.messages = self.messages.wrapping_sub(other.messages);
        self.usage -= other.usage;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_leaves_cache_reads_out_and_counts_cache_writes_once() {
        let usage =
            Usage { input: 4, output: 321, cache_creation: 1200, cache_creation_1h: 600, cache_read: 15000 };
        assert_eq!((usage.fresh(), usage.prompt()), (1525, 16204));
    }

    #[test]
    fn what_was_added_can_be_taken_away_again() {
        let usage = Usage { input: 1, output: 2, cache_creation: 3, cache_creation_1h: 1, cache_read: 4 };
        let mut total = Total::default();
        total.remove(usage);
        total.add(usage);
        assert!(total.is_empty());
    }
}
