//! Sizes and times: large bodies work, larger ones are refused in words, slow clients hold nobody up.

use crate::client::{messages, request};
use crate::gateway::Gateway;
use crate::upstream::{Then, Upstream, json};

const MIB: usize = 1 << 20;

#[test]
fn a_body_of_64_mib_arrives_whole_and_a_larger_one_is_refused_in_anthropics_words() {
    let upstream = Upstream::saying(json("200 OK", "", "{}"));
    let gateway = Gateway::before(&upstream);
    let frame = "{\"model\":\"claude-x\",\"x\":\"\"}".len();
    let body = format!("{{\"model\":\"claude-x\",\"x\":\"{}\"}}", "a".repeat(64 * MIB - frame));
    assert_eq!(gateway.ask(&messages(&body)).status, 200);
    assert!(upstream.only().body == body.as_bytes());

    // The whole of a larger one is sent, as clients do that read no answer before they have.
    let larger = messages(&(body.clone() + "  "));
    let answer = gateway.ask(&larger);
    assert_eq!((answer.status, answer.error().as_str()), (413, "request_too_large"));
    let mut client = gateway.client();
    client.send(b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer b\r\ntransfer-encoding: chunked\r\n\r\n");
    let chunk = format!("{:x}\r\n{}\r\n", 4 * MIB, "a".repeat(4 * MIB));
    for _ in 0..17 {
        client.send(chunk.as_bytes());
    }
    let answer = client.answer();
    assert_eq!((answer.status, answer.error().as_str()), (413, "request_too_large"));
    assert_eq!(upstream.seen().len(), 1);
}

#[test]
fn a_client_that_asks_first_is_answered_before_it_sends() {
    let upstream = Upstream::saying(json("200 OK", "", "{}"));
    let gateway = Gateway::before(&upstream);
    let mut client = gateway.client();
    client.send(b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer b\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n");
    assert_eq!(client.head().status, 100);
    assert_eq!(client.ask(b"{}").status, 200);
    assert_eq!(upstream.only().field("expect"), None);
    let mut client = gateway.client();
    client.send(b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer b\r\nexpect: 100-continue\r\ncontent-length: 99999999999\r\n\r\n");
    assert_eq!(client.answer().status, 413);
}

#[test]
fn a_head_that_is_too_long_is_refused() {
    let upstream = Upstream::saying(json("200 OK", "", "{}"));
    let gateway = Gateway::before(&upstream);
    let long = format!("x: {}\r\n", "a".repeat(70 << 10));
    assert_eq!(gateway.ask(&request("GET", "/v1/models", &long, "")).status, 431);
    let many = "x: y\r\n".repeat(200);
    assert_eq!(gateway.ask(&request("GET", "/v1/models", &many, "")).status, 431);
    assert!(upstream.seen().is_empty());
}

#[test]
fn empty_lines_before_a_request_end_soon() {
    let upstream = Upstream::saying(json("200 OK", "", "{}"));
    let gateway = Gateway::before(&upstream);
    let asking = messages("{\"model\":\"claude-x\"}");
    assert_eq!(gateway.ask(&[b"\r\n\r\n", &asking[..]].concat()).status, 200);
    // Without a request behind them, too: nobody has to wait for the time to be up.
    for lines in [3, 1_000] {
        let answer = gateway.ask("\r\n".repeat(lines).as_bytes());
        assert_eq!((answer.status, answer.error().as_str()), (400, "invalid_request_error"), "{lines}");
    }
    assert_eq!(upstream.seen().len(), 1);
}

#[test]
fn an_upstream_that_never_comes_to_its_answer_is_told_as_such() {
    let upstream = Upstream::start(|_, wire| {
        // In pieces, and far more than any upstream says on the way.
        while wire.write_all(&b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n".repeat(8)).is_ok() {}
        Ok(Then::Close)
    });
    let gateway = Gateway::before(&upstream);
    let answer = gateway.ask(&messages("{\"model\":\"claude-x\"}"));
    assert_eq!((answer.status, answer.error().as_str()), (502, "api_error"));
    assert!(answer.text().contains("never comes to its answer"), "{}", answer.text());
}

#[test]
fn clients_that_send_byte_by_byte_hold_nobody_up() {
    let upstream = Upstream::saying(json("200 OK", "", "{}"));
    let gateway = Gateway::before(&upstream);
    let mut slow: Vec<_> = (0..200).map(|_| gateway.client()).collect();
    for client in &mut slow {
        client.send(b"POST /v1/messages HTTP/1.1\r\nhos");
    }
    assert_eq!(gateway.ask(&messages("{}")).status, 200);
    // Each is told when its time is up.
    let answer = slow[0].answer();
    assert_eq!((answer.status, answer.error().as_str()), (408, "invalid_request_error"));
}
