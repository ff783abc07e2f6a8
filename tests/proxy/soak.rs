//! Traffic of every kind for a while: what the gateway holds afterwards is what it held before.

use std::thread;
use std::time::{Duration, Instant};

use support::wait_until;

use crate::client::{messages, request};
use crate::gateway::Gateway;
use crate::upstream::{EVENTS, Then, Upstream, chunk, delta_event, json, start_event, stop_event};

/// How long, and how long in `make soak`, which sets this variable.
const SOAK: (&str, u64, u64) = ("MO_SOAK", 4, 600);
const CLIENTS: usize = 8;

fn upstream() -> Upstream {
    Upstream::start(|seen, wire| {
        let stream = EVENTS.to_owned() + &chunk(&(start_event() + &delta_event("x")));
        match seen.body.len() % 5 {
            0 => {
                let usage = "{\"type\":\"message\",\"usage\":{\"input_tokens\":1}}";
                wire.write_all(&json("200 OK", "", usage))?;
            }
            1 => wire.write_all((stream + &chunk(&stop_event()) + "0\r\n\r\n").as_bytes())?,
            2 => {
                wire.write_all(stream.as_bytes())?;
                return Ok(Then::Close);
            }
            3 => {
                let error = "{\"type\":\"error\"}";
                wire.write_all(&json("529 Overloaded", "x-should-retry: false\r\n", error))?;
            }
            _ => wire.write_all(&json("200 OK", "connection: close\r\n", &"y".repeat(100_000)))?,
        }
        Ok(if seen.body.len() % 5 == 4 { Then::Close } else { Then::Keep })
    })
}

/// One client's traffic until then: how many requests it made.
fn traffic(address: &str, number: usize, until: Instant) -> usize {
    let mut count = 0;
    while Instant::now() < until {
        let mut client = crate::client::Client::connect(address);
        for _ in 0..20 {
            count += 1;
            let size = (number + count) * 7919 % 60_000;
            let body = format!("{{\"model\":\"claude-x\",\"stream\":true,\"pad\":\"{}\"}}", "p".repeat(size));
            client.send(&messages(&body));
            if count % 11 == 0 {
                // Leaves without listening.
                break;
            }
            let answer = client.answer();
            if answer.field("connection") == Some("close")
                || !answer.whole
                || answer.text().contains("event: error")
            {
                break;
            }
        }
    }
    count
}

/// KiB of memory and the number of files that the gateway holds.
fn held(gateway: &Gateway) -> (u64, usize) {
    let process = format!("/proc/{}", gateway.process.id());
    let status = std::fs::read_to_string(format!("{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let memory = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    (memory, std::fs::read_dir(format!("{process}/fd")).unwrap().count())
}

#[test]
#[cfg(target_os = "linux")]
fn soak_of_mixed_traffic_leaves_memory_and_files_as_they_were() {
    #[expect(clippy::disallowed_methods, reason = "a long run is asked for by the environment")]
    let seconds = if std::env::var_os(SOAK.0).is_some() { SOAK.2 } else { SOAK.1 };
    let upstream = upstream();
    let mut world = support::World::new();
    world.var("MODEL_ORCHESTRATION_ANTHROPIC", upstream.url());
    // Failures are part of this traffic: no breaker may end it.
    world.write(".claude-workers/.proxy/config.json", "{\"breaker\": {\"failures\": 10000, \"share\": 1.0}}");
    let gateway = Gateway::start(world);
    let run = |time: Duration| {
        let until = Instant::now() + time;
        thread::scope(|scope| {
            let address = gateway.address.as_str();
            let clients: Vec<_> =
                (0..CLIENTS).map(|number| scope.spawn(move || traffic(address, number, until))).collect();
            clients.into_iter().map(|client| client.join().unwrap()).sum::<usize>()
        })
    };
    run(Duration::from_secs(seconds / 4));
    let before = held(&gateway);
    let count = run(Duration::from_secs(seconds - seconds / 4));
    assert!(count > 100, "only {count} requests");
    wait_until("its files to be closed", || held(&gateway).1 <= before.1 + 16);
    let after = held(&gateway);
    assert!(
        after.0 <= before.0 + (12 << 10),
        "{} KiB became {} KiB over {count} requests",
        before.0,
        after.0
    );
    let token = format!("x-mo-token: {}\r\n", gateway.token);
    let status = gateway.ask(&request("GET", "/status", &token, "")).json();
    assert_eq!(status["requests"], 1, "{status}");
}
