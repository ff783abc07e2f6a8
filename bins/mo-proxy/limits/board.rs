//! All upstreams' models at a glance: which place of a chain to ask first, and which to leave alone.

use std::collections::HashMap;
use std::time::Duration;

use super::breaker::{Breaker, Pass, Seen};
use super::health::{Health, Turn};
use super::{Moment, Outcome};
use crate::config::Breaking;

/// So many are remembered. Names of models come from clients, so there is an end to it.
const MOST: usize = 512;

/// What is known of all of them.
#[derive(Debug)]
pub struct Board {
    settings: Breaking,
    entries: HashMap<(String, String), Entry>,
}

#[derive(Debug)]
struct Entry {
    breaker: Breaker,
    health: Health,
    used: Moment,
}

/// One upstream's model, as it is told.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Told {
    /// The upstream.
    pub upstream: String,
    /// The model.
    pub model: String,
    /// Its breaker.
    pub breaker: Seen,
    /// Since when its breaker is not closed.
    pub since: Option<Moment>,
    /// Whether it does worse than usual.
    pub degraded: bool,
}

impl Board {
    /// An empty one.
    pub fn new(settings: Breaking) -> Self {
        Self { settings, entries: HashMap::new() }
    }

    fn entry(&mut self, upstream: &str, model: &str, now: Moment) -> &mut Entry {
        let key = (upstream.to_owned(), model.to_owned());
        if self.entries.len() >= MOST && !self.entries.contains_key(&key) {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
            oldest.map(|oldest| self.entries.remove(&oldest));
        }
        let settings = self.settings;
        let new = || Entry { breaker: Breaker::new(settings), health: Health::default(), used: now };
        let entry = self.entries.entry(key).or_insert_with(new);
        entry.used = now;
        entry
    }

    /// Lets a request through, or says after how long it is worth asking again.
    pub fn admit(&mut self, upstream: &str, model: &str, now: Moment) -> Result<Pass, Duration> {
        self.entry(upstream, model, now).breaker.admit(now)
    }

    /// Takes a request back, and tells if the model took a turn.
    pub fn ended(
        &mut self,
        pass: Pass,
        upstream: &str,
        model: &str,
        outcome: Outcome,
        now: Moment,
    ) -> Option<Turn> {
        let entry = self.entry(upstream, model, now);
        entry.breaker.ended(pass, outcome, now);
        entry.health.note(outcome, now)
    }

    /// The order in which to ask: as they are given, but those that do worse after those that do well, and those
    /// that are left alone last.
    pub fn order<'a>(&self, places: impl Iterator<Item = (&'a str, &'a str)>, now: Moment) -> Vec<usize> {
        let mut order: Vec<(u8, usize)> = places
            .enumerate()
            .map(|(at, (upstream, model))| {
                let rank = match self.entries.get(&(upstream.to_owned(), model.to_owned())) {
                    Some(entry) if entry.breaker.seen(now) == Seen::Open => 2,
                    Some(entry) if entry.health.is_degraded(now) => 1,
                    _ => 0,
                };
                (rank, at)
            })
            .collect();
        order.sort_unstable();
        order.into_iter().map(|(_, at)| at).collect()
    }

    /// All that were asked, by name.
    pub fn told(&self, now: Moment) -> Vec<Told> {
        let mut told: Vec<Told> = self
            .entries
            .iter()
            .map(|((upstream, model), entry)| Told {
                upstream: upstream.clone(),
                model: model.clone(),
                breaker: entry.breaker.seen(now),
                since: entry.breaker.since(),
                degraded: entry.health.is_degraded(now),
            })
            .collect();
        told.sort_by(|one, other| (&one.upstream, &one.model).cmp(&(&other.upstream, &other.model)));
        told
    }
}
