//! The places of a route, one after the other, until one answers. All before the first byte of an answer: once a
//! client has heard something, nothing is asked again.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::time::Duration;

use super::account::Account;
use super::ask::{Ask, Call};
use super::redirect;
use super::told::Told;
use super::tries::{Answered, Tries};
use crate::config::Pace;
use crate::config::names::ANTHROPIC;
use crate::gateway::Gateway;
use crate::limits::Outcome;
use crate::live::Live;
use crate::restraint::Watched;
use crate::route::{Leg, Route, Way};
use crate::transform::{Extras, Shaped};
use crate::turnstile::Slot;
use crate::upstream::failure::Failure;
use crate::upstream::outgoing::Sent;
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
    pub gateway: &'g Gateway,
    /// The configuration it began under.
    pub live: &'a Live,
    /// Its account.
    pub account: &'a mut Account<'g>,
}

/// Where it ended.
pub enum Arrived<'g> {
    /// An upstream answers.
    Answer(Box<(Sent, Status, Hold<'g>)>, Told),
    /// We answer.
    Own(Reply, Told),
}

/// What a request holds while it runs: its slot at the upstream, and what its breaker waits to hear.
#[derive(Debug, Default)]
pub struct Hold<'g> {
    watched: Option<Watched<'g>>,
    _slot: Option<Slot>,
}

impl Hold<'_> {
    /// This came of it.
    pub fn outcome(&mut self, outcome: Outcome) {
        if let Some(watched) = &mut self.watched {
            watched.outcome(outcome);
        }
    }
}

/// Why a place gave no answer.
enum Missed {
    /// We did not ask; what the client is told where nobody else is asked.
    Held(Reply),
    /// It failed.
    Failed(Failure),
}

impl<'g> Journey<'_, 'g> {
    /// Goes along the route.
    pub async fn go(&mut self, route: &Route) -> Arrived<'g> {
        let mut told = Told::default();
        let legs = self.in_order(route);
        let last = legs.len().saturating_sub(1);
        for (at, leg) in legs.into_iter().enumerate() {
            self.account.at(leg);
            let is_provider = matches!(leg.way, Way::Provider(_));
            told.upstream = is_provider.then(|| leg.upstream().to_owned());
            let asked = self.ask.model.as_deref().unwrap_or_default();
            told.model = (!leg.model.is_empty() && leg.model != asked).then(|| leg.model.clone());
            if let Way::Provider(of) = &leg.way
                && self.ask.call == Call::Count
                && !of.base_url.is_anthropic()
            {
                return Arrived::Own(self.count(leg, of).await, told);
            }
            let why = match self.take(leg, at == last).await {
                Ok((_, status, _)) if at < last && falls(status.code()) => status.code().to_string(),
                Ok((sent, status, _)) if redirect::is(status.code()) => {
                    self.account.redirected();
                    let what = redirect::told(leg.upstream(), sent.place(), &status);
                    return Arrived::Own(Reply::error(502, &what, self.id), told);
                }
                Ok(answer) => return Arrived::Answer(Box::new(answer), told),
                Err(Missed::Held(_)) if at < last => "left alone".to_owned(),
                Err(Missed::Failed(_)) if at < last => "no answer".to_owned(),
                Err(Missed::Held(reply)) => {
                    self.account.unasked();
                    return Arrived::Own(reply, told);
                }
                Err(Missed::Failed(failure)) => {
                    self.account.unanswered(&failure);
                    let what = format!("{}: {failure}", leg.upstream());
                    return Arrived::Own(Reply::error(failure.status(), &what, self.id), told);
                }
            };
            self.account.falls();
            told.trail.push(format!("{}: {why}", leg.upstream()));
        }
        Arrived::Own(Reply::error(500, "the route has no place", self.id), told)
    }

    /// As the route says, but those that do badly behind the others.
    fn in_order<'r>(&self, route: &'r Route) -> Vec<&'r Leg> {
        if route.legs.len() < 2 {
            return route.legs.iter().collect();
        }
        let places = route.legs.iter().map(|leg| (leg.upstream(), leg.model.as_str()));
        let order = self.gateway.restraint.order(places);
        order.into_iter().filter_map(|at| route.legs.get(at)).collect()
    }

    /// Asks at one place, once it lets us.
    async fn take(&mut self, leg: &Leg, is_last: bool) -> Result<(Sent, Status, Hold<'g>), Missed> {
        let mut hold = self.hold(leg).await?;
        let answered = self.answer(leg, is_last).await;
        if let Err(failure) = &answered {
            tracing::warn!(upstream = leg.upstream(), why = %failure, "gives no answer");
        }
        hold.outcome(match &answered {
            Err(_) => Outcome::Failure,
            Ok((_, status)) => Outcome::of_status(status.code()),
        });
        let (sent, status) = answered.map_err(Missed::Failed)?;
        Ok((sent, status, hold))
    }

    /// Waits at the gate and asks the breaker. Counting and everything small is never held back.
    async fn hold(&self, leg: &Leg) -> Result<Hold<'g>, Missed> {
        if self.ask.call != Call::Messages {
            return Ok(Hold::default());
        }
        let upstream = leg.upstream();
        let held = |status, what: &str, after: Duration| {
            let seconds = after.as_secs().max(1).to_string();
            let message = format!("{upstream}: {what}");
            Missed::Held(Reply::error(status, &message, self.id).with("retry-after", seconds))
        };
        let watched = self.gateway.restraint.admit(upstream, &leg.model);
        let watched =
            watched.map_err(|after| held(503, "it failed too often and is left alone for a while", after))?;
        let turnstile = self.gateway.restraint.turnstile(upstream, self.pace(leg));
        let slot = turnstile.enter(self.session()).await;
        let slot = slot.map_err(|after| held(429, "too many requests wait for it here already", after))?;
        Ok(Hold { watched: Some(watched), _slot: Some(slot) })
    }

    fn pace(&self, leg: &Leg) -> Pace {
        match &leg.way {
            Way::Provider(provider) => provider.pace,
            Way::Anthropic => {
                let own = self.live.config.upstreams.get(ANTHROPIC);
                own.and_then(|upstream| upstream.pace).unwrap_or_default()
            }
        }
    }

    /// A number for the client's session: at a gate, sessions take turns.
    fn session(&self) -> u64 {
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        hasher.hash_one(self.head.get("x-claude-code-session-id"))
    }

    async fn answer(&mut self, leg: &Leg, is_last: bool) -> Answered {
        // What the user turned on is for messages; tokens are counted of what came.
        let is_message = self.ask.call == Call::Messages;
        let extras = if is_message { Extras::of(&self.live.config) } else { Extras::default() };
        let shaped = self.ask.body.as_ref().map(|body| self.gateway.shape(body, leg, extras));
        let body = match &shaped {
            Some(Shaped { body, changes }) => {
                self.account.changed(changes);
                body.as_ref()
            }
            None => self.bytes,
        };
        let tries = Tries {
            gateway: self.gateway,
            config: &self.live.config,
            upstream: leg.upstream(),
            again: is_last && self.ask.call == Call::Messages,
        };
        match &leg.way {
            Way::Anthropic => {
                let outgoing = self.gateway.anthropic.outgoing(self.head, body.len());
                tries.ask(&outgoing, body, self.account).await
            }
            Way::Provider(provider) => {
                let door = self.live.door(provider);
                let door = door.ok_or_else(|| Failure::connect("this provider is gone"))?;
                let outgoing = door.outgoing(self.head, body.len(), self.ask.stream).await?;
                let answered = tries.ask(&outgoing, body, self.account).await?;
                if answered.1.code() == 401 {
                    door.forget_key();
                }
                Ok(answered)
            }
        }
    }
}

/// Whether the next place may do better.
fn falls(status: u16) -> bool {
    matches!(status, 401..=404 | 408 | 429 | 500..=599) || redirect::is(status)
}
