//! The gate of an upstream, with those who wait at it. Who leaves while waiting leaves the queue; who has gone
//! through counts until it is done.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot::{self, Receiver, Sender};

use crate::config::Pace;
use crate::limits::gate::{Asked, Gate, Ticket};

/// Nobody looks again later than this.
const LONGEST_LOOK: Duration = Duration::from_secs(1);

/// The gate of one upstream.
#[derive(Debug)]
pub struct Turnstile {
    pace: Pace,
    began: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    gate: Gate,
    waiting: HashMap<Ticket, Sender<()>>,
}

/// A request that went through, until it is done.
#[derive(Debug)]
pub struct Slot(Arc<Turnstile>);

/// A request that waits.
struct Waiting<'a> {
    at: &'a Arc<Turnstile>,
    ticket: Ticket,
    called: Receiver<()>,
    through: bool,
}

impl Turnstile {
    /// One with this pace.
    pub fn new(pace: Pace) -> Arc<Self> {
        let state = State { gate: Gate::new(pace), waiting: HashMap::new() };
        Arc::new(Self { pace, began: Instant::now(), state: Mutex::new(state) })
    }

    /// Its pace.
    pub fn pace(&self) -> Pace {
        self.pace
    }

    /// How many wait.
    pub fn queued(&self) -> usize {
        self.lock().gate.queued()
    }

    /// Goes through, at once or when it is this session's turn; or says after how long it is worth asking again.
    pub async fn enter(self: &Arc<Self>, session: u64) -> Result<Slot, Duration> {
        let mut waiting = {
            let mut state = self.lock();
            match state.gate.ask(session, self.began.elapsed()) {
                Asked::Go => return Ok(Slot(Arc::clone(self))),
                Asked::Refused(after) => return Err(after),
                Asked::Wait(ticket) => {
                    let (call, called) = oneshot::channel();
                    state.waiting.insert(ticket, call);
                    Waiting { at: self, ticket, called, through: false }
                }
            }
        };
        loop {
            let look = self.lock().gate.look_again(self.began.elapsed()).unwrap_or(LONGEST_LOOK);
            tokio::select! {
                called = &mut waiting.called => {
                    return match called {
                        Ok(()) => {
                            waiting.through = true;
                            Ok(Slot(Arc::clone(self)))
                        }
                        // It has waited too long.
                        Err(_) => Err(LONGEST_LOOK),
                    };
                }
                () = tokio::time::sleep(look.min(LONGEST_LOOK)) => self.turn(),
            }
        }
    }

    /// Calls those whose turn it is, and sends away those who have waited too long.
    fn turn(&self) {
        let now = self.began.elapsed();
        let mut state = self.lock();
        for ticket in state.gate.overdue(now) {
            state.waiting.remove(&ticket);
        }
        for ticket in state.gate.ready(now) {
            let heard = state.waiting.remove(&ticket).is_some_and(|call| call.send(()).is_ok());
            if !heard {
                state.gate.done();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.lock().gate.done();
        self.0.turn();
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.through {
            return;
        }
        {
            let mut state = self.at.lock();
            state.waiting.remove(&self.ticket);
            state.gate.leave(self.ticket);
            if self.called.try_recv().is_ok() {
                // It was called, and left all the same.
                state.gate.done();
            }
        }
        self.at.turn();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(work: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work);
    }

    #[test]
    fn who_waits_goes_when_another_is_done_and_who_leaves_holds_nobody_up() {
        run(async {
            let turnstile = Turnstile::new(Pace { at_once: Some(1), ..Pace::default() });
            let first = turnstile.enter(1).await.unwrap();
            let mut leaver = Box::pin(turnstile.enter(2));
            let mut second = Box::pin(turnstile.enter(3));
            for waiting in [&mut leaver, &mut second] {
                assert!(tokio::time::timeout(Duration::from_millis(5), waiting).await.is_err());
            }
            assert_eq!(turnstile.queued(), 2);
            drop(leaver);
            drop(first);
            drop(second.await.unwrap());
            assert_eq!((turnstile.queued(), turnstile.lock().gate.running()), (0, 0));
        });
    }

    #[test]
    fn nobody_waits_for_ever() {
        run(async {
            let pace = Pace {
                at_once: Some(1),
                wait: Some(Duration::from_millis(10)),
                queue: Some(1),
                ..Pace::default()
            };
            let turnstile = Turnstile::new(pace);
            let _first = turnstile.enter(1).await.unwrap();
            let waiting = turnstile.enter(1);
            assert!(waiting.await.is_err());
            assert_eq!(turnstile.queued(), 0);
        });
    }
}
