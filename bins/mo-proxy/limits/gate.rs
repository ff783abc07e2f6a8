//! How much an upstream is asked: so many a minute, so many at once, and a short queue in which no session can push
//! another aside.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::Moment;
use crate::config::Pace;

/// How many may wait where the configuration says nothing.
const QUEUE: u64 = 64;
/// How long one may wait where it says nothing.
const WAIT: Duration = Duration::from_secs(30);

/// A place in the queue.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Ticket(u64);

/// What is said to a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Asked {
    /// It may go, and counts as running until [`Gate::done`].
    Go,
    /// It has to wait.
    Wait(Ticket),
    /// Too many wait; it is worth asking again after this long.
    Refused(Duration),
}

/// The gate of one upstream.
#[derive(Debug)]
pub struct Gate {
    pace: Pace,
    /// What is left of the minute's requests, and when that was counted.
    left: f64,
    counted: Moment,
    running: u64,
    /// Who waits, in the order in which their turn comes; each with its own requests, oldest first.
    turns: VecDeque<u64>,
    waiting: BTreeMap<u64, VecDeque<(Ticket, Moment)>>,
    next: u64,
}

impl Gate {
    /// An open one.
    pub fn new(pace: Pace) -> Self {
        let left = pace.per_minute.unwrap_or(0) as f64;
        Self {
            pace,
            left,
            counted: Moment::ZERO,
            running: 0,
            turns: VecDeque::new(),
            waiting: BTreeMap::new(),
            next: 0,
        }
    }

    /// How many wait.
    pub fn queued(&self) -> usize {
        self.waiting.values().map(VecDeque::len).sum()
    }

    /// How many run.
    #[cfg(test)]
    pub fn running(&self) -> u64 {
        self.running
    }

    /// A request of this session wants to go.
    pub fn ask(&mut self, session: u64, now: Moment) -> Asked {
        self.refill(now);
        if self.turns.is_empty() && self.is_open() {
            self.go();
            return Asked::Go;
        }
        if self.queued() as u64 >= self.pace.queue.unwrap_or(QUEUE) {
            return Asked::Refused(self.worth_waiting());
        }
        let ticket = Ticket(self.next);
        self.next += 1;
        let own = self.waiting.entry(session).or_default();
        if own.is_empty() {
            self.turns.push_back(session);
        }
        own.push_back((ticket, now));
        Asked::Wait(ticket)
    }

    /// A request that ran has ended.
    pub fn done(&mut self) {
        self.running = self.running.saturating_sub(1);
    }

    /// Those that may go now; they count as running. Sessions take turns.
    pub fn ready(&mut self, now: Moment) -> Vec<Ticket> {
        self.refill(now);
        let mut ready = Vec::new();
        while self.is_open() {
            let Some(session) = self.turns.pop_front() else { break };
            let Some(own) = self.waiting.get_mut(&session) else { continue };
            let first = own.pop_front();
            if own.is_empty() {
                self.waiting.remove(&session);
            } else {
                self.turns.push_back(session);
            }
            if let Some((ticket, _)) = first {
                ready.push(ticket);
                self.go();
            }
        }
        ready
    }

    /// A request that waited has left.
    pub fn leave(&mut self, ticket: Ticket) {
        self.keep(|(waiting, _)| *waiting != ticket);
    }

    /// Those that have waited too long; they wait no more.
    pub fn overdue(&mut self, now: Moment) -> Vec<Ticket> {
        let wait = self.pace.wait.unwrap_or(WAIT);
        let is_over = |since: Moment| now.saturating_sub(since) >= wait;
        let all = self.waiting.values().flatten();
        let mut over: Vec<Ticket> =
            all.filter(|(_, since)| is_over(*since)).map(|(ticket, _)| *ticket).collect();
        over.sort_unstable();
        self.keep(|(_, since)| !is_over(*since));
        over
    }

    /// After how long it is worth looking again, where anybody waits and nothing else happens.
    pub fn look_again(&self, now: Moment) -> Option<Duration> {
        let wait = self.pace.wait.unwrap_or(WAIT);
        let oldest = self.waiting.values().filter_map(VecDeque::front).map(|(_, since)| *since).min()?;
        let over = (oldest + wait).saturating_sub(now);
        Some(if self.has_room() { over.min(self.until_refilled(now)) } else { over })
    }

    /// A word for those that are refused: after how long it is worth asking again.
    fn worth_waiting(&self) -> Duration {
        let rate = self.pace.per_minute.map_or(0.0, |rate| rate as f64 / 60.0);
        let ahead = self.queued() as f64 + 1.0;
        let seconds = if rate > 0.0 { ahead / rate } else { 1.0 };
        Duration::from_secs_f64(seconds.clamp(1.0, 60.0))
    }

    fn keep(&mut self, keep: impl Fn(&(Ticket, Moment)) -> bool) {
        for own in self.waiting.values_mut() {
            own.retain(&keep);
        }
        self.waiting.retain(|_, own| !own.is_empty());
        let waiting = &self.waiting;
        self.turns.retain(|session| waiting.contains_key(session));
    }

    fn has_room(&self) -> bool {
        self.pace.at_once.is_none_or(|most| self.running < most)
    }

    fn is_open(&self) -> bool {
        self.has_room() && (self.pace.per_minute.is_none() || self.left >= 1.0)
    }

    fn go(&mut self) {
        self.running += 1;
        self.left -= 1.0;
    }

    fn until_refilled(&self, now: Moment) -> Duration {
        let Some(rate) = self.pace.per_minute else { return Duration::ZERO };
        let missing = (1.0 - self.left).max(0.0) * 60.0 / rate as f64;
        (self.counted + Duration::from_secs_f64(missing)).saturating_sub(now)
    }

    fn refill(&mut self, now: Moment) {
        let most = self.pace.per_minute.unwrap_or(0) as f64;
        let passed = now.saturating_sub(self.counted).as_secs_f64();
        self.left = (self.left + passed * most / 60.0).min(most);
        self.counted = self.counted.max(now);
    }
}
