//! What the gateway knows of its traffic, for who holds the token: figures, costs, the state of things.

use serde_json::{Map, Value, json};

use crate::gateway::Gateway;
use crate::limits::breaker::Seen;
use crate::live::Live;
use crate::observe::metrics;
use crate::stage::Stage;
use crate::wire::reply::Reply;

/// The figures in Prometheus' format.
pub fn metrics(gateway: &Gateway) -> Reply {
    let breakers = gateway.restraint.told().into_iter().map(|(told, _)| {
        let state = match told.breaker {
            Seen::Closed => 0,
            Seen::Open => 1,
            Seen::HalfOpen => 2,
        };
        (told.upstream, told.model, state)
    });
    let live = metrics::Live {
        in_flight: gateway.life.running() as u64,
        queued: gateway.restraint.queued(),
        breakers: breakers.collect(),
        ..metrics::Live::default()
    };
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
    let troubled = gateway
        .restraint
        .told()
        .into_iter()
        .filter(|(told, _)| told.degraded || told.breaker != Seen::Closed);
    let troubled: Vec<Value> = troubled
        .map(|(told, since)| {
            let breaker = match told.breaker {
                Seen::Closed => "closed",
                Seen::Open => "open",
                Seen::HalfOpen => "half-open",
            };
            json!({
                "upstream": told.upstream,
                "model": told.model,
                "breaker": breaker,
                "degraded": told.degraded,
                "for_seconds": since.map(|since| since.as_secs()),
            })
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
            "troubled": troubled,
            "queued": gateway.restraint.queued().into_iter().filter(|(_, count)| *count > 0).collect::<Vec<_>>(),
            "quotas": gateway.observer.quotas(),
            "differences": gateway.observer.differences(),
            "audit": {"lost": gateway.observer.lost(), "trouble": gateway.observer.trouble()},
        }),
    )
}
