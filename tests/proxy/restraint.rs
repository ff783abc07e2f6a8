//! Storms, failures and crowds: what is tried again, what is left alone, who waits and who is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use support::{World, wait_until};

use crate::client::{messages, request};
use crate::gate::Gate;
use crate::gateway::Gateway;
use crate::staff::hire;
use crate::upstream::{EVENTS, Then, Upstream, chunk, json, start_event};

/// How many clients come in a storm.
const CLIENTS: usize = 60;
const BODY: &str = "{\"model\":\"claude-x\"}";

/// Anthropic with this configuration, answering so: the number of the request is given.
fn answering(config: &str, answer: impl Fn(usize) -> Vec<u8> + Send + Sync + 'static) -> (Gateway, Upstream) {
    let count = AtomicUsize::new(0);
    let upstream = Upstream::start(move |_, wire| {
        wire.write_all(&answer(count.fetch_add(1, Ordering::SeqCst)))?;
        Ok(Then::Keep)
    });
    let mut world = World::new();
    world.var("MODEL_ORCHESTRATION_ANTHROPIC", upstream.url());
    world.write(".claude-workers/.proxy/config.json", config);
    (Gateway::start(world), upstream)
}

fn error(status: &str, fields: &str) -> Vec<u8> {
    json(status, fields, "{\"type\":\"error\",\"error\":{\"type\":\"x\",\"message\":\"theirs\"}}")
}

fn ok() -> Vec<u8> {
    json("200 OK", "", "{\"type\":\"message\"}")
}

#[test]
fn an_upstream_with_too_much_to_do_is_asked_again_and_gives_its_answer() {
    let config = "{\"retry\": {\"base_ms\": 1}}";
    let (gateway, upstream) =
        answering(config, |number| if number < 2 { error("529 Overloaded", "") } else { ok() });
    assert_eq!(gateway.ask(&messages(BODY)).status, 200);
    assert_eq!(upstream.seen().len(), 3);
    // The very same request each time.
    let seen = upstream.seen();
    assert!(seen.iter().all(|one| one.head == seen[0].head && one.body == seen[0].body));

    let (gateway, upstream) = answering(config, |number| {
        if number == 0 { error("429 Too Many Requests", "Retry-After: 1\r\n") } else { ok() }
    });
    assert_eq!(gateway.ask(&messages(BODY)).status, 200);
    assert_eq!(upstream.seen().len(), 2);
}

#[test]
fn what_may_have_been_done_or_cannot_help_is_asked_once() {
    for (answer, status) in [
        (error("500 Internal Server Error", ""), 500),
        (error("429 Too Many Requests", ""), 429),
        (
            error(
                "429 Too Many Requests",
                "retry-after: 1\r\nanthropic-ratelimit-unified-status: rejected\r\n",
            ),
            429,
        ),
        (error("529 Overloaded", "x-should-retry: false\r\n"), 529),
        (error("503 Service Unavailable", "retry-after: 900\r\n"), 503),
        (error("400 Bad Request", ""), 400),
    ] {
        let sent = answer.clone();
        let (gateway, upstream) = answering("{}", move |_| sent.clone());
        let answered = gateway.ask(&messages(BODY));
        assert_eq!((answered.status, upstream.seen().len()), (status, 1), "{answered:?}");
        assert!(answered.text().contains("theirs"));
    }
}

#[test]
fn a_storm_is_passed_on_and_never_made_worse() {
    let (gateway, upstream) = answering("{\"retry\": {\"base_ms\": 1}}", |_| error("529 Overloaded", ""));
    for _ in 0..CLIENTS {
        let answer = gateway.ask(&messages(BODY));
        assert_eq!(answer.status, 529);
        assert!(answer.text().contains("theirs"));
    }
    // Tries are paid for by requests; and throttling opens no breaker, so each client was heard.
    let seen = upstream.seen().len();
    assert!((CLIENTS..CLIENTS * 3 / 2).contains(&seen), "{seen} requests for {CLIENTS} clients");
}

#[test]
fn a_model_that_fails_is_left_alone_and_one_request_tries_it_again() {
    let failing = Arc::new(AtomicUsize::new(1));
    let after_failures = |pause: u32| {
        let scripted = Arc::clone(&failing);
        let config = format!(
            "{{\"breaker\": {{\"failures\": 3, \"share\": 0.5, \"window_seconds\": 600, \"open_seconds\": {pause}}}}}"
        );
        let (gateway, upstream) = answering(&config, move |_| {
            if scripted.load(Ordering::SeqCst) == 1 { error("500 Internal Server Error", "") } else { ok() }
        });
        for _ in 0..3 {
            assert_eq!(gateway.ask(&messages(BODY)).status, 500);
        }
        (gateway, upstream)
    };
    // A pause that no test outlasts, and one that each does.
    let (gateway, upstream) = after_failures(600);
    let refused = gateway.ask(&messages(BODY));
    assert_eq!((refused.status, refused.error().as_str()), (503, "api_error"));
    assert!(refused.field("retry-after").is_some());
    assert_eq!(upstream.seen().len(), 3);
    // Another model, a count and a small call are not held back by it.
    assert_eq!(gateway.ask(&messages("{\"model\":\"claude-y\"}")).status, 500);
    let bearer = "authorization: Bearer b\r\n";
    assert_eq!(gateway.ask(&request("GET", "/v1/models", bearer, "")).status, 500);
    let (gateway, _upstream) = after_failures(1);
    failing.store(0, Ordering::SeqCst);
    wait_until("it to be tried again", || gateway.ask(&messages(BODY)).status == 200);
    assert_eq!(gateway.ask(&messages(BODY)).status, 200);
}

#[test]
fn a_stream_that_is_cut_counts_as_a_failure_and_one_that_is_left_does_not() {
    let upstream = Upstream::start(|_, wire| {
        wire.write_all((EVENTS.to_owned() + &chunk(&start_event())).as_bytes())?;
        Ok(Then::Close)
    });
    let mut world = World::new();
    world.var("MODEL_ORCHESTRATION_ANTHROPIC", upstream.url());
    world.write(".claude-workers/.proxy/config.json", "{\"breaker\": {\"failures\": 2}}");
    let gateway = Gateway::start(world);
    for _ in 0..2 {
        assert_eq!(gateway.ask(&messages("{\"model\":\"claude-x\",\"stream\":true}")).status, 200);
    }
    wait_until("the breaker to open", || gateway.ask(&messages(BODY)).status == 503);
}

#[test]
fn a_place_that_is_taken_is_waited_for_and_a_full_queue_is_told() {
    let gate = Gate::default();
    let scripted = gate.clone();
    let glm = Upstream::start(move |_, wire| {
        scripted.pass();
        wire.write_all(&ok())?;
        Ok(Then::Keep)
    });
    let anthropic = Upstream::saying(ok());
    let mut world = World::new();
    world.var("MODEL_ORCHESTRATION_ANTHROPIC", anthropic.url());
    hire(&world, "glm", &glm.url(), "glm-5.2", "0123456789abcdef.half");
    let config = "{\"upstreams\": {\"glm\": {\"limits\": {\"concurrent\": 1, \"queue\": 1}}}}";
    world.write(".claude-workers/.proxy/config.json", config);
    let gateway = Gateway::start(world);
    let token = format!("x-mo-token: {}\r\n", gateway.token);
    let asking = |target: &str| request("POST", target, &token, "{\"model\":\"glm-5.2\",\"messages\":[]}");
    let (mut first, mut second) = (gateway.client(), gateway.client());
    first.send(&asking("/v1/messages"));
    wait_until("the first to run", || glm.seen().len() == 1);
    second.send(&asking("/v1/messages"));
    let queued = || gateway.ask(&request("GET", "/status", &token, "")).json()["queued"].clone();
    wait_until("the second to wait", || queued() == serde_json::json!([["glm", 1]]));
    let third = gateway.ask(&asking("/v1/messages"));
    assert_eq!((third.status, third.error().as_str()), (429, "rate_limit_error"));
    assert_eq!(third.field("retry-after"), Some("1"));
    // Counting waits for nobody, and Anthropic has a gate of its own.
    assert_eq!(gateway.ask(&asking("/v1/messages/count_tokens")).status, 200);
    assert_eq!(gateway.ask(&messages(BODY)).status, 200);
    assert_eq!(glm.seen().len(), 1);
    gate.open();
    assert_eq!((first.answer().status, second.answer().status), (200, 200));
    assert_eq!(glm.seen().len(), 2);
}
