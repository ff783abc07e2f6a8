//! A request on its way: the head that an upstream wrote, bound to the connections of that upstream.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::failure::{Failure, Stage};
use super::pool::Pool;
use crate::wire::line::Line;
use crate::wire::status_line::Status;

/// A used connection that ends this soon after the request was closed before it was read.
const STALE: Duration = Duration::from_millis(250);

/// So many words on the way (100, 103) come before an answer at most.
const MOST_WORDS: u32 = 32;

/// A request that can go to one place only.
pub struct Outgoing {
    pool: Arc<Pool>,
    head: Vec<u8>,
    to_head: bool,
}

impl Outgoing {
    /// Only upstreams write requests.
    pub(super) fn new(pool: Arc<Pool>, head: Vec<u8>, to_head: bool) -> Self {
        Self { pool, head, to_head }
    }

    /// Where it goes, and its head.
    #[cfg(test)]
    pub fn written(&self) -> (&super::origin::Origin, &[u8]) {
        (self.pool.origin(), &self.head)
    }

    /// Sends it with this body; on a fresh connection if asked to.
    pub async fn send(&self, body: &[u8], fresh: bool) -> Result<Sent, Failure> {
        let idle = if fresh { None } else { self.pool.idle().await };
        let (mut line, reused) = match idle {
            Some(line) => (line, true),
            None => (self.pool.fresh().await?, false),
        };
        let written = line.send_two(&self.head, body).await;
        let mut sent = Sent {
            line,
            pool: Arc::clone(&self.pool),
            reused,
            to_head: self.to_head,
            at: Instant::now(),
            whole: true,
        };
        if let Err(error) = written {
            // It may have answered before it had read everything: what it says is worth more than the error.
            sent.whole = false;
            if sent.line.inbox().is_empty() && !matches!(sent.line.fill().await, Ok(1..)) {
                let stage = if reused { Stage::Stale } else { Stage::Sent };
                return Err(Failure::new(stage, format!("{} hung up: {error}", sent.place())));
            }
        }
        Ok(sent)
    }
}

/// A request that was sent, and the connection its answer comes on.
#[derive(Debug)]
pub struct Sent {
    line: Line,
    pool: Arc<Pool>,
    reused: bool,
    to_head: bool,
    at: Instant,
    whole: bool,
}

impl Sent {
    /// The connection.
    pub fn line(&mut self) -> &mut Line {
        &mut self.line
    }

    /// Where it went, for messages.
    pub fn place(&self) -> &str {
        &self.pool.origin().authority
    }

    /// Waits for the head of the answer.
    pub async fn status(&mut self) -> Result<Status, Failure> {
        let (mut seen, mut words) = (0, 0);
        loop {
            match Status::parse(self.line.inbox(), self.to_head, seen) {
                Ok(Some((status, length))) => {
                    self.line.used(length);
                    seen = 0;
                    // Only a word on the way: the answer follows.
                    if status.code() >= 200 {
                        return Ok(status);
                    }
                    if status.code() == 101 {
                        return Err(Failure::new(
                            Stage::Sent,
                            format!("{} changes the protocol", self.place()),
                        ));
                    }
                    words += 1;
                    if words > MOST_WORDS {
                        return Err(Failure::new(
                            Stage::Sent,
                            format!("{} never comes to its answer", self.place()),
                        ));
                    }
                    continue;
                }
                Ok(None) => seen = self.line.inbox().len(),
                Err(_) => {
                    return Err(Failure::new(
                        Stage::Sent,
                        format!("{} does not answer in HTTP", self.place()),
                    ));
                }
            }
            let what = match self.line.fill().await {
                Ok(1..) => continue,
                Ok(_) => format!("{} hung up without an answer", self.place()),
                Err(error) => format!("{} hung up without an answer: {error}", self.place()),
            };
            let untouched = self.line.inbox().is_empty() && self.reused && self.at.elapsed() < STALE;
            return Err(Failure::new(if untouched { Stage::Stale } else { Stage::Sent }, what));
        }
    }

    /// The answer has been read whole: the connection can serve the next request.
    pub fn give_back(self, keep_alive: bool) {
        if keep_alive && self.whole && self.line.inbox().is_empty() {
            let mut line = self.line;
            line.rest();
            self.pool.give(line);
        }
    }
}
