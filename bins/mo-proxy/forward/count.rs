//! Tokens of a request to a provider: counted there where it can, else estimated from the bytes. Whether it can is
//! learnt by asking once. Nothing is ever made for a count, and nothing holds one back.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::legs::Journey;
use super::whole;
use crate::answer::estimate;
use crate::route::Leg;
use crate::route::provider;
use crate::transform::Extras;
use crate::upstream::provider::Provider;
use crate::wire::reply::Reply;

/// A client that counts does not want to wait.
const PATIENCE: Duration = Duration::from_secs(10);
/// So long a provider is not asked that could not answer just now.
const PAUSE: Duration = Duration::from_secs(60);

/// What a provider said to being asked.
enum Said {
    /// So many tokens.
    Tokens(u64),
    /// Not now.
    NotNow,
    /// It does not count.
    Never,
}

impl Journey<'_, '_> {
    /// The answer to a request to count.
    pub(super) async fn count(&mut self, leg: &Leg, of: &Arc<provider::Provider>) -> Reply {
        // Where the user limits requests, a count takes none of them away.
        let is_limited = of.pace.per_minute.is_some() || of.pace.at_once.is_some();
        if let Some(door) = self.live.door(of).filter(|door| !is_limited && door.counting().is_due()) {
            self.account.tries(None);
            match timeout(PATIENCE, self.ask_to_count(leg, door)).await.unwrap_or(Said::NotNow) {
                Said::Tokens(tokens) => return Reply::json(200, &json!({"input_tokens": tokens})),
                Said::NotNow => door.counting().rests(PAUSE),
                Said::Never => {
                    tracing::info!(upstream = leg.upstream(), "counts no tokens: they are estimated");
                    door.counting().never();
                }
            }
        }
        let tokens = estimate::tokens(self.bytes);
        Reply::json(200, &json!({"input_tokens": tokens})).with("x-mo-count", "estimate")
    }

    async fn ask_to_count(&self, leg: &Leg, door: &Provider) -> Said {
        let shaped = self.ask.body.as_ref().map(|body| self.gateway.shape(body, leg, Extras::default()));
        let body = shaped.as_ref().map_or(self.bytes, |shaped| shaped.body.as_ref());
        let Ok(outgoing) = door.outgoing(self.head, body.len(), true).await else { return Said::NotNow };
        let Ok(mut sent) = outgoing.send(body, false).await else { return Said::NotNow };
        let Ok(status) = sent.status().await else { return Said::NotNow };
        let (answer, whole) = whole::read(&mut sent, &status).await;
        if whole {
            sent.give_back(status.keep_alive());
        }
        said(status.code(), &answer)
    }
}

/// A provider without this path says so, answers with a page, or with anything but a count. One that does not know
/// the model says nothing of others.
fn said(status: u16, body: &[u8]) -> Said {
    let tokens = || serde_json::from_slice::<Value>(body).ok()?.get("input_tokens")?.as_u64();
    match status {
        200 => tokens().map_or(Said::Never, Said::Tokens),
        404 if memchr::memmem::find(body, b"model").is_some() => Said::NotNow,
        300..=399 | 404 | 405 | 410 | 501 => Said::Never,
        _ => Said::NotNow,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_says_so_never_counts() {
        let word = |status, body: &str| match said(status, body.as_bytes()) {
            Said::Tokens(tokens) => tokens.to_string(),
            Said::NotNow => "not now".to_owned(),
            Said::Never => "never".to_owned(),
        };
        assert_eq!(word(200, "{\"input_tokens\":42}"), "42");
        for (status, body) in
            [(200, "{}"), (200, "<html>"), (404, "no such path"), (405, ""), (501, ""), (301, "")]
        {
            assert_eq!(word(status, body), "never", "{status} {body}");
        }
        for (status, body) in [(404, "unknown model"), (400, ""), (401, ""), (429, ""), (500, ""), (529, "")]
        {
            assert_eq!(word(status, body), "not now", "{status} {body}");
        }
    }
}
