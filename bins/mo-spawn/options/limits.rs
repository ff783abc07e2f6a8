//! What bounds a run: time, money, tokens, answers, bytes.

use std::time::Duration;

use shared::args::Matches;
use shared::error::Result;
use shared::money::Money;

use super::amount;

/// What bounds a run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Limits {
    /// Time at work.
    pub time: Option<Duration>,
    /// Money, by our price list.
    pub money: Option<Money>,
    /// Fresh tokens.
    pub tokens: Option<u64>,
    /// Answers of the model.
    pub turns: Option<u32>,
    /// Bytes that Claude Code prints.
    pub output: Option<u64>,
}

impl Limits {
    /// What the command line says of it.
    pub fn of(matches: &Matches) -> Result<Self> {
        let count = |flag: &str| matches.value(flag).map(|typed| amount::count(flag, typed)).transpose();
        Ok(Self {
            time: matches.value("timeout").map(|typed| amount::time("timeout", typed)).transpose()?,
            money: matches
                .value("budget-usd")
                .map(|typed| amount::dollars("budget-usd", typed))
                .transpose()?,
            tokens: count("budget-tokens")?,
            turns: matches
                .value("max-turns")
                .map(|typed| amount::number("max-turns", typed, 100_000))
                .transpose()?,
            output: count("max-output-bytes")?,
        })
    }
}
