//! One request, from its head to the end of its answer.

mod account;
mod ask;
mod body;
mod count;
mod early;
mod legs;
mod passed;
mod plan;
mod redirect;
mod relay;
pub mod spares;
mod told;
mod tries;
mod whole;
mod whose;

use std::future::poll_fn;
use std::pin::pin;

use self::account::Account;
use self::ask::Ask;
use self::early::Early;
use self::legs::{Arrived, Journey};
use self::relay::Answering;
use self::told::Told;
use crate::answer;
use crate::gateway::Gateway;
use crate::guard;
use crate::route::Way;
use crate::stage::Stage;
use crate::wire::framing::Framing;
use crate::wire::head::Head;
use crate::wire::line::Line;
use crate::wire::reply::Reply;

/// What becomes of the client's connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum After {
    /// It can serve the next request.
    Keep,
    /// It ends.
    Close,
    /// It ends, and the client may still be sending.
    Linger,
}

/// Answers a request.
pub async fn exchange(line: &mut Line, head: &Head, gateway: &Gateway) -> After {
    let id = gateway.ids.next();
    if let Some(reply) = refuse(head, gateway, &id) {
        return answer_with(line, head, &id, reply.closing()).await;
    }
    let _running = (!answer::is_health(head)).then(|| gateway.life.run());
    let force = gateway.live();
    let body = match body::read(line, head, &id, force.config.max_body.0, gateway.spares.take()).await {
        Ok(body) => body,
        Err(body::Trouble::Refused(reply)) => return answer_with(line, head, &id, reply).await,
        Err(body::Trouble::Gone) => return After::Close,
    };
    if let Some(reply) = answer::own(head, gateway, &force, &id) {
        return answer_with(line, head, &id, reply).await;
    }
    let mut early = Early::new(force.config.timeouts.ping);
    let changes = force.config.markers || force.config.compressing.is_some();
    let mut ask = Ask::read(head, &body, changes);
    let mut account = Account::open(gateway, head, &mut ask, &id);
    let arrived = {
        let route = match plan::legs(head, &ask, gateway, &force, &id) {
            Ok(route) => route,
            Err(reply) => {
                account.refused(reply.status());
                return answer_with(line, head, &id, reply).await;
            }
        };
        account.along(&route);
        // Anthropic gives its own signs of life, and its errors are worth their status.
        let patient = ask.stream
            && !head.is_http10()
            && !matches!(route.legs.first(), Some(leg) if leg.way == Way::Anthropic);
        let mut journey =
            Journey { head, bytes: &body, ask: &ask, id: &id, gateway, live: &force, account: &mut account };
        let mut going = pin!(journey.go(&route));
        loop {
            tokio::select! {
                biased;
                arrived = &mut going => break arrived,
                () = poll_fn(|cx| line.poll_gone(cx)) => return After::Close,
                () = early.due(), if patient => {
                    if early.sign(line, &id).await.is_err() {
                        return After::Close;
                    }
                }
            }
        }
    };
    // From here on nothing is asked again: a stream of minutes need not hold the request.
    drop(ask);
    gateway.spares.give(body);
    match arrived {
        Arrived::Answer(answer, told) => {
            let (mut sent, status, mut hold) = *answer;
            account.answered(&status);
            if early.has_begun() && !(status.code() == 200 && status.is_events()) {
                let error = early::told_by(&mut sent, &status, &id).await;
                account.ended(None);
                return end_early(line, &error).await;
            }
            let begun = early.has_begun();
            let timeouts = &force.config.timeouts;
            let answering = Answering { head, id: &id, told: &told, timeouts, begun };
            let after = relay::relay(line, &answering, &mut account, sent, &status).await;
            hold.outcome(account.outcome());
            after
        }
        Arrived::Own(reply, told) => {
            account.refused(reply.status());
            if early.has_begun() {
                end_early(line, reply.body()).await
            } else {
                answer_with(line, head, &id, tell(reply, &told)).await
            }
        }
    }
}

/// Ends an answer that was begun too early for anything but an error event.
async fn end_early(line: &mut Line, error: &[u8]) -> After {
    if early::end_with(line, error).await.is_ok() { After::Keep } else { After::Close }
}

fn refuse(head: &Head, gateway: &Gateway, id: &str) -> Option<Reply> {
    if let Some(reply) = guard::refuse(head, gateway, id) {
        return Some(reply);
    }
    if gateway.life.stage() != Stage::Serving && !answer::is_health(head) {
        let reply = Reply::error(503, "this gateway is ending; start it again", id);
        return Some(reply.with("retry-after", "1"));
    }
    None
}

/// Adds what the client is told beside the answer.
fn tell(mut reply: Reply, told: &Told) -> Reply {
    for (name, value) in told.fields() {
        reply = reply.with(name, value);
    }
    reply
}

/// Sends an answer of our own.
async fn answer_with(line: &mut Line, head: &Head, id: &str, reply: Reply) -> After {
    let unread = reply.is_closing() && head.framing() != Framing::None;
    let keep = head.keep_alive() && !reply.is_closing();
    if line.send(&reply.bytes(id, head.method() == "HEAD", keep)).await.is_err() {
        return After::Close;
    }
    match (unread, keep) {
        (true, _) => After::Linger,
        (false, true) => After::Keep,
        (false, false) => After::Close,
    }
}
