//! What the gateway knows of its traffic, for who holds the token: figures, costs, the state of things.

use serde_json::{Map, Value, json};

use crate::gateway::Gateway;
use crate::live::Live;
use crate::observe::metrics;
use crate::stage::Stage;
use crate::wire::reply::Reply;

/// The figures in Prometheus' format.
pub fn metrics(gateway: &Gateway) -> Reply {
    let live = metrics::Live { in_flight: gateway.life.running() as u64, ..metrics::Live::default() };
    Reply::text(200, "text/plain; version=0.0.4; charset=utf-8", gateway.observer.metrics(live))
}

/// What today cost.
pub fn cost(gateway: &Gateway) -> Reply {
    Reply::json(200, &json!({"version": 1, "today": gateway.observer.today()}))
}

/// What it does at this moment.
pub fn status(gateway: &Gateway, live: &Live) -> Reply {
    let stage = match gateway.life.stage() {
        Stage::Serving => "serving",
        Stage::Draining | Stage::Ending => "draining",
    };
    let pools = [("anthropic", gateway.anthropic.pool())];
    let pools = pools.into_iter().chain(live.doors().map(|(name, door)| (name, door.pool())));
    let upstreams: Map<String, Value> = pools
        .map(|(name, pool)| {
            let place = &pool.origin().authority;
            (name.to_owned(), json!({"address": place, "idle_connections": pool.count()}))
        })
        .collect();
    Reply::json(
        200,
        &json!({
            "version": 1,
            "program": env!("CARGO_PKG_VERSION"),
            "address": gateway.address,
            "pid": std::process::id(),
            "uptime_seconds": gateway.started.elapsed().as_secs(),
            "stage": stage,
            "requests": gateway.life.running(),
            "upstreams": upstreams,
            "quotas": gateway.observer.quotas(),
            "audit": {"lost": gateway.observer.lost(), "trouble": gateway.observer.trouble()},
        }),
    )
}
