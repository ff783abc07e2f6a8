//! Where a gateway stands between start and end, and how many requests hold it there.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Notify, watch};

/// A stage of its life.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stage {
    /// Takes requests.
    Serving,
    /// Ends what runs, and takes nothing new.
    Draining,
    /// Ends now.
    Ending,
}

/// The stage, and the requests that run.
#[derive(Debug)]
pub struct Life {
    stage: watch::Sender<Stage>,
    running: AtomicUsize,
    idle: Notify,
}

impl Default for Life {
    fn default() -> Self {
        Self { stage: watch::channel(Stage::Serving).0, running: AtomicUsize::new(0), idle: Notify::new() }
    }
}

/// One request that runs.
#[derive(Debug)]
pub struct Running<'a>(&'a Life);

impl Life {
    /// The stage now.
    pub fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    /// To be told of changes.
    pub fn watch(&self) -> watch::Receiver<Stage> {
        self.stage.subscribe()
    }

    /// Goes on to this stage.
    pub fn enter(&self, stage: Stage) {
        self.stage.send_replace(stage);
    }

    /// Counts a request until it is dropped.
    pub fn run(&self) -> Running<'_> {
        self.running.fetch_add(1, Ordering::Relaxed);
        Running(self)
    }

    /// How many requests run.
    pub fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// Waits until none runs.
    pub async fn idle(&self) {
        loop {
            let told = self.idle.notified();
            if self.running() == 0 {
                return;
            }
            told.await;
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if self.0.running.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}
