//! Telling the client that a call goes on: at least every 15 seconds, because it gives up on a silent one without a
//! word, and when something has changed, but not more than once a second.

use std::time::Duration;

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use tokio::time::Instant;

/// The longest silence.
pub const LONGEST: Duration = Duration::from_secs(15);
/// The shortest pause between two words.
const SHORTEST: Duration = Duration::from_secs(1);

/// The way to the client during one call.
#[derive(Debug)]
pub struct Reporter {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    count: f64,
    last: Option<(Instant, String)>,
}

impl Reporter {
    /// For a call with this token; without one the client wants to hear nothing.
    pub fn new(peer: Peer<RoleServer>, token: Option<ProgressToken>) -> Self {
        Self { peer, token, count: 0.0, last: None }
    }

    /// When the next word is due, where nothing changes.
    pub fn due(&self) -> Instant {
        self.last.as_ref().map_or_else(Instant::now, |(at, _)| *at + LONGEST)
    }

    /// When what has changed may be told.
    pub fn free(&self) -> Instant {
        self.last.as_ref().map_or_else(Instant::now, |(at, _)| *at + SHORTEST)
    }

    /// Tells how things stand: what is new when it may, what is old when it must.
    pub async fn tell(&mut self, message: String) {
        let Some(token) = &self.token else { return };
        let now = Instant::now();
        if let Some((at, said)) = &self.last {
            let wait = if *said == message { LONGEST } else { SHORTEST };
            if now < *at + wait {
                return;
            }
        }
        self.count += 1.0;
        let param = ProgressNotificationParam::new(token.clone(), self.count).with_message(message.clone());
        // A client that has gone is noticed elsewhere.
        let _ = self.peer.notify_progress(param).await;
        self.last = Some((now, message));
    }
}
