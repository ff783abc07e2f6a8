//! What the gateway answers by itself: its health, its proof, and the small calls that a client starts with.

pub mod estimate;
mod figures;

use serde_json::json;

use crate::gateway::Gateway;
use crate::guard;
use crate::live::Live;
use crate::stage::Stage;
use crate::wire::head::Head;
use crate::wire::reply::Reply;

/// The longest challenge.
const LONGEST_CHALLENGE: usize = 256;

/// Our own answer to this request, if it is for us.
pub fn own(head: &Head, gateway: &Gateway, live: &Live, id: &str) -> Option<Reply> {
    let reads = matches!(head.method(), "GET" | "HEAD");
    match head.path() {
        "/health" | "/livez" if reads => Some(health(gateway)),
        "/readyz" if reads => Some(ready(gateway)),
        "/status" | "/metrics" | "/cost" if reads => Some(internal(head, gateway, live, id)),
        "/mo/proof" if reads => Some(proof(head, gateway, id)),
        "/" if reads => Some(Reply::json(200, &json!({"service": "mo-proxy"}))),
        "/api/hello" if reads => Some(Reply::json(200, &json!({"message": "hello"}))),
        path if path.starts_with("/mo/") => Some(Reply::error(404, "there is no such path", id)),
        _ => None,
    }
}

/// What only who holds the token may see.
fn internal(head: &Head, gateway: &Gateway, live: &Live, id: &str) -> Reply {
    if let Some(refusal) = guard::refuse_without_token(head, gateway, id) {
        return refusal;
    }
    match head.path() {
        "/metrics" => figures::metrics(gateway),
        "/cost" => figures::cost(gateway),
        _ => figures::status(gateway, live),
    }
}

/// Whether a gateway that drains still answers this.
pub fn is_health(head: &Head) -> bool {
    matches!(head.path(), "/health" | "/livez" | "/readyz" | "/mo/proof")
}

fn health(gateway: &Gateway) -> Reply {
    let uptime = gateway.started.elapsed().as_secs();
    Reply::json(200, &json!({"status": "ok", "version": env!("CARGO_PKG_VERSION"), "uptime_seconds": uptime}))
}

fn ready(gateway: &Gateway) -> Reply {
    match gateway.life.stage() {
        Stage::Serving => Reply::json(200, &json!({"status": "ready"})),
        Stage::Draining | Stage::Ending => {
            let running = gateway.life.running();
            Reply::json(503, &json!({"status": "draining", "requests": running}))
        }
    }
}

/// Proves that we hold the token, to somebody who holds it too.
fn proof(head: &Head, gateway: &Gateway, id: &str) -> Reply {
    let challenge = head.query().strip_prefix("challenge=").unwrap_or_default();
    let fits = (16..=LONGEST_CHALLENGE).contains(&challenge.len())
        && challenge.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !fits {
        return Reply::error(400, "ask with ?challenge= and 16 to 256 letters and digits", id);
    }
    Reply::json(200, &json!({"proof": gateway.token.proof(&gateway.address, challenge)}))
}
