//! The places of a route, one after the other, until one answers. All before the first byte of an answer: once a
//! client has heard something, nothing is asked again.

use std::time::Duration;

use tokio::time::timeout;

use super::account::Account;
use super::ask::{Ask, Call};
use crate::answer::estimate;
use crate::gateway::Gateway;
use crate::live::Live;
use crate::route::{Leg, Route, Way};
use crate::transform::Shaped;
use crate::upstream::failure::{Failure, Stage};
use crate::upstream::outgoing::{Outgoing, Sent};
use crate::wire::head::Head;
use crate::wire::reply::Reply;
use crate::wire::status_line::Status;

/// A request on its way.
pub struct Journey<'a, 'g> {
    /// Its head.
    pub head: &'a Head,
    /// Its body.
    pub bytes: &'a [u8],
    /// What it asks for.
    pub ask: &'a Ask<'a>,
    /// Its id.
    pub id: &'a str,
    /// The gateway.
    pub gateway: &'a Gateway,
    /// The configuration it began under.
    pub live: &'a Live,
    /// Its account.
    pub account: &'a mut Account<'g>,
}

/// Where it ended.
pub enum Arrived {
    /// An upstream answers.
    Answer(Box<(Sent, Status)>, Told),
    /// We answer.
    Own(Reply, Told),
}

/// What a client is told beside the answer.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// The upstream that answered, where it is not Anthropic.
    pub upstream: Option<String>,
    /// The model that was asked there, where it is another than the client named.
    pub model: Option<String>,
    /// The places that failed before, and how.
    pub trail: Vec<String>,
}

impl Told {
    /// As fields of an answer. Names of models come from a client or a file: what cannot stand in a field is left out.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, String)> {
        let trail = (!self.trail.is_empty()).then(|| self.trail.join(", "));
        let fields = [
            ("x-mo-upstream", self.upstream.clone()),
            ("x-mo-model", self.model.clone()),
            ("x-mo-fallback", trail),
        ];
        fields.into_iter().filter_map(|(name, value)| {
            let value: String = value?.chars().filter(|letter| matches!(letter, ' '..='~')).collect();
            Some((name, value))
        })
    }
}

impl Journey<'_, '_> {
    /// Goes along the route.
    pub async fn go(&mut self, route: &Route) -> Arrived {
        let mut told = Told::default();
        let mut legs = route.legs.iter().peekable();
        while let Some(leg) = legs.next() {
            let is_last = legs.peek().is_none();
            let is_provider = matches!(leg.way, Way::Provider(_));
            told.upstream = is_provider.then(|| leg.upstream().to_owned());
            let asked = self.ask.model.as_deref().unwrap_or_default();
            told.model = (!leg.model.is_empty() && leg.model != asked).then(|| leg.model.clone());
            if is_provider && self.ask.call == Call::Count && !counts(leg) {
                let count = serde_json::json!({"input_tokens": estimate::tokens(self.bytes)});
                return Arrived::Own(Reply::json(200, &count), told);
            }
            self.account.at(leg);
            match self.take(leg).await {
                Ok((_, status)) if !is_last && falls(status.code()) => {
                    self.account.falls();
                    told.trail.push(format!("{}: {}", leg.upstream(), status.code()));
                }
                Ok(answer) => return Arrived::Answer(Box::new(answer), told),
                Err(_) if !is_last => {
                    self.account.falls();
                    told.trail.push(format!("{}: no answer", leg.upstream()));
                }
                Err(failure) => {
                    let what = format!("{}: {failure}", leg.upstream());
                    return Arrived::Own(Reply::error(failure.status(), &what, self.id), told);
                }
            }
        }
        Arrived::Own(Reply::error(500, "the route has no place", self.id), told)
    }

    /// Asks at one place.
    async fn take(&mut self, leg: &Leg) -> Result<(Sent, Status), Failure> {
        let shaped = self.ask.body.as_ref().map(|body| self.gateway.shape(body, leg));
        let body = match &shaped {
            Some(Shaped { body, changes }) => {
                self.account.changed(changes);
                body.as_ref()
            }
            None => self.bytes,
        };
        match &leg.way {
            Way::Anthropic => {
                let outgoing = self.gateway.anthropic.outgoing(self.head, body.len());
                self.send(&outgoing, body).await
            }
            Way::Provider(provider) => {
                let door = self.live.door(provider);
                let door = door.ok_or_else(|| Failure::connect("this provider is gone"))?;
                let outgoing = door.outgoing(self.head, body.len()).await?;
                let answered = self.send(&outgoing, body).await?;
                if answered.1.code() == 401 {
                    door.forget_key();
                }
                Ok(answered)
            }
        }
    }

    /// Sends the request and waits for the head of the answer; once more where the connection turned out to be dead.
    async fn send(&mut self, outgoing: &Outgoing, body: &[u8]) -> Result<(Sent, Status), Failure> {
        self.account.tries(None);
        let patience = self.live.config.timeouts.idle;
        match once(outgoing, body, false, patience).await {
            Err(failure) if failure.stage == Stage::Stale => {
                self.account.tries(Some("stale"));
                once(outgoing, body, true, patience).await
            }
            answered => answered,
        }
    }
}

async fn once(
    outgoing: &Outgoing,
    body: &[u8],
    fresh: bool,
    patience: Duration,
) -> Result<(Sent, Status), Failure> {
    let mut sent = outgoing.send(body, fresh).await?;
    match timeout(patience, sent.status()).await {
        Ok(status) => status.map(|status| (sent, status)),
        Err(_) => Err(Failure::new(Stage::Silent, format!("{} did not answer in time", sent.place()))),
    }
}

/// Whether the next place may do better.
fn falls(status: u16) -> bool {
    matches!(status, 401..=404 | 408 | 429 | 500..=599)
}

/// Whether this provider counts tokens itself.
fn counts(leg: &Leg) -> bool {
    match &leg.way {
        Way::Anthropic => true,
        Way::Provider(provider) => {
            provider.base_url.is_anthropic() || provider.keeps.iter().any(|kept| kept == "count_tokens")
        }
    }
}
