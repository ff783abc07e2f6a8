//! Many streams at once, and much data to a slow reader: nobody waits for the others, and memory stays small.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::wait_until;

use crate::client::messages;
use crate::gate::Gate;
use crate::gateway::Gateway;
use crate::upstream::{EVENTS, Then, Upstream, chunk, delta_event, json, start_event, stop_event};

const STREAM: &str = "{\"model\":\"claude-x\",\"stream\":true}";
const MANY: usize = 1_000;

/// MiB of memory that the gateway holds, or has held at most.
fn memory(gateway: &Gateway, field: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", gateway.process.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}

/// As many files as the system lets us have open: each stream takes two of ours.
fn many_files() {
    let most = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn a_thousand_slow_streams_run_side_by_side() {
    many_files();
    let gate = Gate::default();
    let scripted = gate.clone();
    let upstream = Upstream::start(move |seen, wire| {
        if !seen.body.ends_with(b"true}") {
            wire.write_all(&json("200 OK", "", "{}"))?;
            return Ok(Then::Keep);
        }
        wire.write_all((EVENTS.to_owned() + &chunk(&start_event())).as_bytes())?;
        scripted.pass();
        wire.write_all((chunk(&delta_event("late")) + &chunk(&stop_event()) + "0\r\n\r\n").as_bytes())?;
        Ok(Then::Keep)
    });
    let gateway = Gateway::before(&upstream);
    let mut clients: Vec<_> = (0..MANY).map(|_| gateway.client()).collect();
    for client in &mut clients {
        client.send(&messages(STREAM));
    }
    for client in &mut clients {
        client.read_until("message_start");
    }
    // All of them run, and another request is answered at once.
    assert_eq!(gateway.ask(&messages("{\"model\":\"claude-x\"}")).status, 200);
    let held = memory(&gateway, "VmRSS:");
    assert!(held < 100.0, "{held} MiB");
    gate.open();
    for client in &mut clients {
        let answer = client.answer();
        assert!(answer.whole && answer.text().ends_with(&stop_event()));
    }
    let token = format!("x-mo-token: {}\r\n", gateway.token);
    let status = gateway.ask(&crate::client::request("GET", "/status", &token, "")).json();
    assert_eq!(status["requests"], 1, "only this one: {status}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_slow_reader_holds_the_upstream_up_and_not_the_memory() {
    const PIECES: usize = 4_096;
    let (piece, gate) = ("x".repeat(64 << 10), Gate::default());
    let scripted = gate.clone();
    let upstream = Upstream::start(move |_, wire| {
        write!(wire, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", PIECES * piece.len())?;
        for number in 0..PIECES {
            if number == 16 {
                scripted.open();
            }
            wire.write_all(piece.as_bytes())?;
        }
        Ok(Then::Keep)
    });
    let gateway = Gateway::before(&upstream);
    let mut client = gateway.client();
    client.send(&messages(STREAM));
    gate.pass();
    // The client has read nothing, and reads now.
    let answer = client.answer();
    assert!(answer.whole && answer.body.len() == PIECES << 16);
    let most = memory(&gateway, "VmHWM:");
    assert!(most < 48.0, "{most} MiB for an answer of 256 MiB");
}

#[test]
#[cfg(target_os = "linux")]
fn nothing_is_left_open_behind_many_requests() {
    let upstream = Upstream::start(|seen, wire| {
        match seen.body.len() % 3 {
            0 => wire.write_all(&json("200 OK", "", "{}"))?,
            1 => wire.write_all((EVENTS.to_owned() + &chunk(&start_event())).as_bytes())?,
            _ => wire.write_all(&json("529 Overloaded", "connection: close\r\n", "{}"))?,
        }
        Ok(if seen.body.len() % 3 == 0 { Then::Keep } else { Then::Close })
    });
    let gateway = Gateway::before(&upstream);
    let open = || std::fs::read_dir(format!("/proc/{}/fd", gateway.process.id())).unwrap().count();
    let round = |count: usize| {
        for number in 0..count {
            let body = format!("{{\"model\":\"claude-x\"}}{}", " ".repeat(number % 7));
            let mut client = gateway.client();
            client.send(&messages(&body));
            // Every fourth leaves without listening.
            if number % 4 != 3 {
                client.answer();
            }
        }
    };
    round(50);
    let before = open();
    round(400);
    wait_until("its connections to be closed", || open() <= before + 4);
}
