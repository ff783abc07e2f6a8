//! One place, asked as often as it is safe, told or allowed, and worth it.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::account::Account;
use crate::config::Config;
use crate::gateway::Gateway;
use crate::limits::refusal::{self, Limit};
use crate::limits::retry::{Failed, Verdict};
use crate::upstream::failure::{Failure, Stage};
use crate::upstream::outgoing::{Outgoing, Sent};
use crate::wire::status_line::Status;

/// What came of asking.
pub type Answered = Result<(Sent, Status), Failure>;

/// A request at one place.
pub struct Tries<'a> {
    /// The gateway.
    pub gateway: &'a Gateway,
    /// The configuration.
    pub config: &'a Config,
    /// The upstream's name.
    pub upstream: &'a str,
    /// Whether another try may be made: not where another place is waiting to be asked.
    pub again: bool,
}

impl Tries<'_> {
    /// Asks until there is an answer for the client.
    pub async fn ask(&self, outgoing: &Outgoing, body: &[u8], account: &mut Account<'_>) -> Answered {
        self.gateway.restraint.paid(self.upstream, &self.config.retrying);
        let mut made = 1;
        account.tries(None);
        loop {
            let answered = self.once(outgoing, body, account).await;
            let Some((failed, why)) = self.failed(&answered).filter(|_| self.again) else { return answered };
            let settings = &self.config.retrying;
            match self.gateway.restraint.decide(self.upstream, settings, made, failed) {
                Verdict::Again(pause) => {
                    tracing::debug!(upstream = self.upstream, why, ?pause, "trying again");
                    drop(answered);
                    sleep(pause).await;
                    account.tries(Some(why));
                    made += 1;
                }
                Verdict::Enough(_) => return answered,
            }
        }
    }

    /// One try; on a fresh connection once more where the one that was lying idle turned out to be dead.
    async fn once(&self, outgoing: &Outgoing, body: &[u8], account: &mut Account<'_>) -> Answered {
        let patience = self.config.timeouts.idle;
        match send(outgoing, body, false, patience).await {
            Err(failure) if failure.stage == Stage::Stale => {
                account.tries(Some("stale connection"));
                send(outgoing, body, true, patience).await
            }
            answered => answered,
        }
    }

    /// How it failed, and in a word.
    fn failed(&self, answered: &Answered) -> Option<(Failed, &'static str)> {
        let status = match answered {
            Err(failure) if failure.stage == Stage::Connect => return Some((Failed::Unreached, "connect")),
            Err(_) => return Some((Failed::Unanswered, "no answer")),
            Ok((_, status)) if status.code() < 400 => return None,
            Ok((_, status)) => status,
        };
        let text = |name: &str| std::str::from_utf8(status.get(name)?).ok();
        let now = self.gateway.clock.now();
        let limit = refusal::of_answer(status.code(), text, b"", now);
        let after = text("retry-after").and_then(|text| refusal::retry_after(text, now));
        let should = text("x-should-retry").and_then(|text| text.trim().parse().ok());
        let quota = matches!(limit, Some(Limit::Quota(_)));
        let why = match status.code() {
            429 => "throttled",
            529 => "overloaded",
            _ => "status",
        };
        Some((Failed::Answered { status: status.code(), after, should, quota }, why))
    }
}

async fn send(outgoing: &Outgoing, body: &[u8], fresh: bool, patience: Duration) -> Answered {
    let mut sent = outgoing.send(body, fresh).await?;
    match timeout(patience, sent.status()).await {
        Ok(status) => status.map(|status| (sent, status)),
        Err(_) => Err(Failure::new(Stage::Silent, format!("{} did not answer in time", sent.place()))),
    }
}
