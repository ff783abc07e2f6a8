//! One request, from its head to the end of its answer.

mod body;
mod relay;

use std::future::poll_fn;

use crate::answer;
use crate::gateway::Gateway;
use crate::guard;
use crate::stage::Stage;
use crate::upstream::failure::{Failure, Stage as Came};
use crate::upstream::outgoing::{Outgoing, Sent};
use crate::wire::framing::Framing;
use crate::wire::head::Head;
use crate::wire::line::Line;
use crate::wire::reply::Reply;
use crate::wire::status_line::Status;

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

/// How long an upstream may take to its first byte.
const FIRST_BYTE: std::time::Duration = std::time::Duration::from_secs(600);

/// Answers a request.
pub async fn exchange(line: &mut Line, head: &Head, gateway: &Gateway) -> After {
    let id = gateway.ids.next();
    if let Some(reply) = refuse(head, gateway, &id) {
        return answer_with(line, head, &id, reply.closing()).await;
    }
    let _running = (!answer::is_health(head)).then(|| gateway.life.run());
    let body = match body::read(line, head, &id).await {
        Ok(body) => body,
        Err(body::Trouble::Refused(reply)) => return answer_with(line, head, &id, reply).await,
        Err(body::Trouble::Gone) => return After::Close,
    };
    if let Some(reply) = answer::own(head, gateway, &id) {
        return answer_with(line, head, &id, reply).await;
    }
    let outgoing = gateway.anthropic.outgoing(head, body.len());
    forward(line, head, &id, &outgoing, body).await
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

async fn forward(line: &mut Line, head: &Head, id: &str, outgoing: &Outgoing, body: Vec<u8>) -> After {
    let asked = tokio::select! {
        biased;
        asked = ask(outgoing, &body) => asked,
        () = poll_fn(|cx| line.poll_gone(cx)) => return After::Close,
    };
    // From here on nothing is asked again: a stream of minutes need not hold the request.
    drop(body);
    match asked {
        Ok((sent, status)) => relay::relay(line, head, id, sent, &status).await,
        Err(failure) => {
            let reply = Reply::error(failure.status(), &failure.to_string(), id);
            answer_with(line, head, id, reply).await
        }
    }
}

/// Sends the request and waits for the head of the answer; once more where the connection turned out to be dead.
async fn ask(outgoing: &Outgoing, body: &[u8]) -> Result<(Sent, Status), Failure> {
    let mut fresh = false;
    loop {
        match once(outgoing, body, fresh).await {
            Err(failure) if failure.stage == Came::Stale && !fresh => fresh = true,
            answered => return answered,
        }
    }
}

async fn once(outgoing: &Outgoing, body: &[u8], fresh: bool) -> Result<(Sent, Status), Failure> {
    let mut sent = outgoing.send(body, fresh).await?;
    match tokio::time::timeout(FIRST_BYTE, sent.status()).await {
        Ok(status) => status.map(|status| (sent, status)),
        Err(_) => Err(Failure::new(Came::Silent, format!("{} did not answer in time", sent.place()))),
    }
}
