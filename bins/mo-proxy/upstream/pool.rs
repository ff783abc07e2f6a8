//! Connections to one upstream, kept for the next request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::dialer::Dialer;
use super::failure::Failure;
use super::origin::Origin;
use crate::wire::line::Line;

/// How long a connection may lie idle; most servers give them up after a minute or more.
const IDLE: Duration = Duration::from_secs(55);
/// The most idle connections.
const MOST_IDLE: usize = 256;

/// The connections to one place.
#[derive(Debug)]
pub struct Pool {
    origin: Origin,
    dialer: Arc<Dialer>,
    idle: Mutex<Idle>,
    warmed: Notify,
}

#[derive(Debug, Default)]
struct Idle {
    /// Connections, and since when they lie here.
    lines: Vec<(Line, Instant)>,
    /// Whether one is being opened ahead of need.
    warming: bool,
}

impl Pool {
    /// A pool without connections.
    pub fn new(origin: Origin, dialer: Arc<Dialer>) -> Arc<Self> {
        Arc::new(Self { origin, dialer, idle: Mutex::default(), warmed: Notify::new() })
    }

    /// Where its connections lead.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// An idle connection that still stands, the one used last.
    pub async fn idle(&self) -> Option<Line> {
        loop {
            let warmed = self.warmed.notified();
            let (found, warming) = {
                let mut idle = self.lock();
                (idle.lines.pop(), idle.warming)
            };
            match found {
                Some((mut line, since)) => {
                    if since.elapsed() < IDLE && line.is_quiet() {
                        return Some(line);
                    }
                }
                None if warming => warmed.await,
                None => return None,
            }
        }
    }

    /// A new connection.
    pub async fn fresh(&self) -> Result<Line, Failure> {
        self.dialer.dial(&self.origin).await
    }

    /// Takes a connection back that can be used again.
    pub fn give(&self, line: Line) {
        let mut idle = self.lock();
        if idle.lines.len() < MOST_IDLE {
            idle.lines.push((line, Instant::now()));
        }
    }

    /// Opens a connection ahead of need, when there is none and it takes a while.
    pub fn warm(self: &Arc<Self>) {
        {
            let mut idle = self.lock();
            if !self.origin.https || idle.warming || !idle.lines.is_empty() {
                return;
            }
            idle.warming = true;
        }
        let pool = Arc::clone(self);
        tokio::spawn(async move {
            let opened = pool.fresh().await;
            {
                let mut idle = pool.lock();
                idle.warming = false;
                // Why it failed will be told to who needs one.
                idle.lines.extend(opened.ok().map(|line| (line, Instant::now())));
            }
            pool.warmed.notify_waiters();
        });
    }

    /// Closes what has been idle for too long.
    pub fn sweep(&self) {
        let mut idle = self.lock();
        idle.lines.retain_mut(|(line, since)| since.elapsed() < IDLE && line.is_quiet());
        idle.lines.shrink_to_fit();
    }

    /// How many connections lie idle.
    pub fn count(&self) -> usize {
        self.lock().lines.len()
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
