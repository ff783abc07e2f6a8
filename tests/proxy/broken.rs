//! Upstreams that break off, never answer, lie, and clients that leave.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use support::wait_until;

use crate::client::messages;
use crate::gate::Gate;
use crate::gateway::Gateway;
use crate::upstream::{EVENTS, Then, Upstream, chunk, delta_event, json, start_event, stop_event};

const STREAM: &str = "{\"model\":\"claude-x\",\"stream\":true}";

/// What a client gets when the upstream sends this and hangs up.
fn cut(sent: impl Into<Vec<u8>>) -> crate::client::Answer {
    let sent = sent.into();
    let upstream = Upstream::start(move |_, wire| {
        wire.write_all(&sent)?;
        Ok(Then::Close)
    });
    Gateway::before(&upstream).ask(&messages(STREAM))
}

#[test]
fn a_cut_stream_ends_in_an_error_event_and_never_looks_finished() {
    let start = start_event();
    let half = &delta_event("half")[..40];
    for (sent, kept) in [
        (chunk(&start), start.clone()),
        (chunk(&start) + &chunk(half), start.clone() + half),
        (chunk(&start) + "ff\r\n" + half, start.clone() + half),
        // A clean end of the transport in the middle of the message.
        (chunk(&start) + "0\r\n\r\n", start.clone()),
    ] {
        let answer = cut(EVENTS.to_owned() + &sent);
        let text = answer.text();
        let rest = text.strip_prefix(&kept).unwrap();
        let event = rest.trim_start().strip_prefix("event: error\ndata: ").unwrap();
        let error: serde_json::Value = serde_json::from_str(event.trim_end()).unwrap();
        assert_eq!(error["error"]["type"], "api_error", "{text}");
        assert!(rest.starts_with("event") || rest.starts_with("\n\nevent"), "{text}");
        assert!(!text.contains("message_stop"));
    }
}

#[test]
fn a_cut_answer_with_a_length_is_cut_for_the_client_too() {
    let answer = cut("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"half\":");
    assert!(!answer.whole);
    assert_eq!(answer.text(), "{\"half\":");
    let answer = cut("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    assert!(!answer.whole);
}

#[test]
fn a_packed_stream_that_is_cut_is_cut_for_the_client_too() {
    let head = EVENTS.replace("\r\n\r\n", "\r\nContent-Encoding: gzip\r\n\r\n");
    let answer = cut(head + "5\r\n\x1f\x08abc\r\n");
    assert!(!answer.whole, "{answer:?}");
}

#[test]
fn an_upstream_that_hangs_up_or_speaks_no_http_is_told_as_such() {
    for sent in
        ["", "HTTP/1.1 200", "SSH-2.0-OpenSSH\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\nx"]
    {
        let answer = cut(sent);
        assert_eq!((answer.status, answer.error().as_str()), (502, "api_error"), "{sent:?}");
    }
    let answer = cut("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    assert_eq!(answer.status, 502);
}

#[test]
fn an_upstream_that_is_not_there_is_told_as_such() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", gone.local_addr().unwrap());
    drop(gone);
    let mut world = support::World::new();
    world.var("MODEL_ORCHESTRATION_ANTHROPIC", url);
    let answer = Gateway::start(world).ask(&messages(STREAM));
    assert_eq!((answer.status, answer.error().as_str()), (502, "api_error"));
}

#[test]
fn what_is_said_behind_the_end_of_a_message_keeps_nobody_waiting() {
    let gate = Gate::default();
    let scripted = gate.clone();
    let upstream = Upstream::start(move |_, wire| {
        wire.write_all((EVENTS.to_owned() + &chunk(&(start_event() + &stop_event()))).as_bytes())?;
        // The connection stays open, and its last chunk never comes.
        scripted.pass();
        Ok(Then::Close)
    });
    let answer = Gateway::before(&upstream).ask(&messages(STREAM));
    gate.open();
    assert!(answer.whole && answer.text().ends_with(&stop_event()));
}

#[test]
fn a_client_that_leaves_ends_the_upstreams_work_at_once() {
    for before_the_head in [true, false] {
        let (ended, waiting) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (scripted, begun) = (Arc::clone(&ended), Arc::clone(&waiting));
        let upstream = Upstream::start(move |_, wire| {
            if !before_the_head {
                wire.write_all((EVENTS.to_owned() + &chunk(&start_event())).as_bytes())?;
            }
            begun.store(true, Ordering::SeqCst);
            // Reads until the gateway hangs up.
            let end = wire.read(&mut [0]);
            scripted.store(matches!(end, Ok(0) | Err(_)), Ordering::SeqCst);
            Ok(Then::Close)
        });
        let gateway = Gateway::before(&upstream);
        let mut client = gateway.client();
        client.send(&messages(STREAM));
        wait_until("the upstream to work", || waiting.load(Ordering::SeqCst));
        if !before_the_head {
            client.read_until("message_start");
        }
        drop(client);
        wait_until("the upstream to be told", || ended.load(Ordering::SeqCst));
    }
}

#[test]
fn a_connection_that_died_while_idle_costs_no_request() {
    let upstream = Upstream::start(|_, wire| {
        wire.write_all(&json("200 OK", "", "{}"))?;
        // Says nothing of its end, as servers do whose patience runs out.
        Ok(Then::Close)
    });
    let gateway = Gateway::before(&upstream);
    let mut client = gateway.client();
    for _ in 0..20 {
        assert_eq!(client.ask(&messages(STREAM)).status, 200);
    }
    assert_eq!(upstream.seen().len(), 20);
}

#[test]
fn an_answer_that_comes_before_the_request_was_read_reaches_the_client() {
    let upstream = Upstream::start_behind(
        |_, _| Ok(Then::Close),
        |mut stream| {
            let mut start = [0; 1000];
            std::io::Read::read_exact(&mut stream, &mut start).ok()?;
            stream
                .write_all(&json("413 Payload Too Large", "Connection: close\r\n", "{\"type\":\"error\"}"))
                .ok()?;
            None
        },
    );
    let big = format!("{{\"model\":\"claude-x\",\"x\":\"{}\"}}", "a".repeat(20 << 20));
    let answer = Gateway::before(&upstream).ask(&messages(&big));
    // The reset may overtake the answer; what may not happen is silence, or a second try.
    assert!([413, 502].contains(&answer.status), "{answer:?}");
    assert_eq!(upstream.connections(), 1);
}

#[test]
fn a_silent_stream_shows_signs_of_life_and_is_given_up_in_the_end() {
    let gate = Gate::default();
    let scripted = gate.clone();
    let upstream = Upstream::start(move |seen, wire| {
        let start = start_event();
        let cut = if seen.body.ends_with(b" ") { start.len() - 1 } else { start.len() };
        wire.write_all((EVENTS.to_owned() + &chunk(&start[..cut])).as_bytes())?;
        scripted.pass();
        Ok(Then::Close)
    });
    let mut world = support::World::new();
    world.var("MODEL_ORCHESTRATION_ANTHROPIC", upstream.url());
    let config = "{\"timeouts\": {\"ping_seconds\": 1, \"idle_seconds\": 8}}";
    world.write(".claude-workers/.proxy/config.json", config);
    let gateway = Gateway::start(world);
    let answer = gateway.ask(&messages(STREAM));
    let text = answer.text();
    let rest = text.strip_prefix(&start_event()).unwrap();
    let pings = rest.matches("event: ping\ndata: {\"type\": \"ping\"}\n\n").count();
    assert!((1..=8).contains(&pings), "{text}");
    assert!(rest.contains("event: error\ndata: ") && rest.contains("fell silent"), "{text}");
    // Inside an event only a comment can stand, and it harms nobody.
    let text = gateway.ask(&messages(&format!("{STREAM} "))).text();
    assert!(text.contains("}\n:\n") && !text.contains("ping") && text.contains("fell silent"), "{text}");
    gate.open();
}
