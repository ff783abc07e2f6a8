//! How it ends: readiness first, health stays, streams finish, a second signal cuts.

use support::wait_until;

use crate::client::messages;
use crate::gate::Gate;
use crate::gateway::Gateway;
use crate::upstream::{EVENTS, Then, Upstream, chunk, start_event, stop_event};

const STREAM: &str = "{\"model\":\"claude-x\",\"stream\":true}";

fn held(gate: &Gate) -> Upstream {
    let gate = gate.clone();
    Upstream::start(move |_, wire| {
        wire.write_all((EVENTS.to_owned() + &chunk(&start_event())).as_bytes())?;
        gate.pass();
        wire.write_all((chunk(&stop_event()) + "0\r\n\r\n").as_bytes())?;
        Ok(Then::Keep)
    })
}

#[test]
fn streams_finish_while_readiness_is_gone_and_health_stays() {
    let gate = Gate::default();
    let upstream = held(&gate);
    let mut gateway = Gateway::before(&upstream);
    let mut client = gateway.client();
    client.send(&messages(STREAM));
    client.read_until("message_start");
    gateway.process.signal(15);
    wait_until("readiness to go", || gateway.get("/readyz").status == 503);
    assert_eq!(gateway.get("/health").status, 200);
    let answer = gateway.ask(&messages(STREAM));
    assert_eq!((answer.status, answer.field("retry-after")), (503, Some("1")));
    assert!(gateway.process.is_alive());
    gate.open();
    let answer = client.answer();
    assert!(answer.whole && answer.text().ends_with(&stop_event()));
    gateway.process.wait().ok();
    assert!(!gateway.world.root().join(".proxy/instance.json").exists());
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let gate = Gate::default();
    let upstream = held(&gate);
    let gateway = Gateway::before(&upstream);
    let mut client = gateway.client();
    client.send(&messages(STREAM));
    client.read_until("message_start");
    gateway.process.signal(2);
    wait_until("readiness to go", || gateway.get("/readyz").status == 503);
    gateway.process.signal(15);
    gateway.process.wait().ok();
    assert!(!client.answer().whole);
    gate.open();
}
