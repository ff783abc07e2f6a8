//! What goes to Anthropic is what came from the client, and the other way round: byte for byte.

use crate::client::messages;
use crate::gateway::Gateway;
use crate::upstream::{EVENTS, Then, Upstream, chunk, delta_event, json, start_event, stop_event};

#[test]
fn a_request_arrives_as_it_was_sent_but_for_what_belongs_to_its_connection() {
    let upstream = Upstream::saying(json("200 OK", "request-id: req_1\r\n", "{}"));
    let gateway = Gateway::before(&upstream);
    // Numbers above 2^53, members twice, odd white space, half a surrogate pair: nothing is made anew.
    let body = "{ \"model\":\"claude-x\", \"a\":12345678901234567890, \"1\":1, \"0\":0,\"a\":2, \"s\":\"\\ud83d\" }\n";
    let sent = format!(
        "POST /v1/messages?beta=true&x=%2F HTTP/1.1\r\nX-Stainless-OS: Linux\r\nhOsT: localhost:1\r\n\
         AUTHORIZATION: Bearer sk-ant-oat01-the-login\r\nanthropic-beta: a,b\r\nanthropic-beta: c\r\n\
         Content-Type: application/json\r\nConnection: keep-alive, X-Only-Here\r\nX-Only-Here: 1\r\n\
         Keep-Alive: timeout=5\r\nTE: trailers\r\nx-mo-token: {}\r\nCookie: c=1\r\n\
         Accept-Encoding: gzip, br\r\nContent-Length: {}\r\nZ: last\r\n\r\n{body}",
        gateway.token,
        body.len()
    );
    let answer = gateway.ask(sent.as_bytes());
    assert_eq!((answer.status, answer.text().as_str()), (200, "{}"));
    assert_eq!(answer.field("request-id"), Some("req_1"));
    assert!(answer.field("x-mo-request-id").is_some_and(|id| id.starts_with("mo-")));
    let seen = upstream.only();
    let expected = format!(
        "POST /v1/messages?beta=true&x=%2F HTTP/1.1\r\nX-Stainless-OS: Linux\r\nhOsT: 127.0.0.1:{}\r\n\
         AUTHORIZATION: Bearer sk-ant-oat01-the-login\r\nanthropic-beta: a,b\r\nanthropic-beta: c\r\n\
         Content-Type: application/json\r\nCookie: c=1\r\n\
         Accept-Encoding: gzip, br\r\nContent-Length: {}\r\nZ: last\r\n\r\n",
        upstream.port,
        body.len()
    );
    assert_eq!(seen.head, expected);
    assert_eq!(seen.body, body.as_bytes());
}

#[test]
fn a_chunked_request_arrives_with_a_length_and_nothing_else_is_added() {
    let upstream = Upstream::saying(json("200 OK", "", "{}"));
    let gateway = Gateway::before(&upstream);
    let sent = "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer b\r\n\
                Transfer-Encoding: chunked\r\n\r\n3\r\n{\"m\r\n4;x=y\r\n\":1}\r\n0\r\nTrailer: no\r\n\r\n";
    assert_eq!(gateway.ask(sent.as_bytes()).status, 200);
    let seen = upstream.only();
    assert_eq!(seen.body, b"{\"m\":1}");
    assert!(seen.head.ends_with("Authorization: Bearer b\r\nContent-Length: 7\r\n\r\n"), "{}", seen.head);
}

#[test]
fn a_get_and_a_head_get_no_body() {
    let upstream = Upstream::start(|seen, wire| {
        let answer = json("200 OK", "", "{}");
        let head = seen.head.starts_with("HEAD");
        wire.write_all(if head { &answer[..answer.len() - 2] } else { &answer })?;
        Ok(Then::Keep)
    });
    let gateway = Gateway::before(&upstream);
    let mut client = gateway.client();
    let bearer = "authorization: Bearer b\r\n";
    assert_eq!(client.ask(&crate::client::request("GET", "/v1/models?limit=1", bearer, "")).text(), "{}");
    client.send(&crate::client::request("HEAD", "/v1/models", bearer, ""));
    // The answer to a HEAD tells a length and has no body: what follows is the next answer.
    assert_eq!(client.head().field("content-length"), Some("2"));
    assert_eq!(client.ask(&crate::client::request("GET", "/v1/models", bearer, "")).text(), "{}");
    for seen in upstream.seen() {
        assert_eq!((seen.field("content-length"), seen.body.len()), (None, 0));
    }
}

#[test]
fn an_answer_arrives_as_it_was_sent_whatever_it_says() {
    for (status, fields, body) in [
        (
            "529 Overloaded",
            "Retry-After: 7\r\nx-should-retry: false\r\n",
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        ),
        (
            "429 Too Many Requests",
            "anthropic-ratelimit-unified-status: rejected\r\nretry-after: 3600\r\n",
            r#"{"type":"error"}"#,
        ),
        ("400 Bad Request", "Set-Cookie: a=1\r\nset-cookie: b=2\r\n", "<html>no JSON</html>"),
        ("500 Internal Server Error", "", ""),
    ] {
        let upstream = Upstream::saying(json(status, fields, body));
        let gateway = Gateway::before(&upstream);
        let answer = gateway.ask(&messages("{\"model\":\"claude-x\"}"));
        assert_eq!(answer.text(), body);
        let head = answer.head.split_once("x-mo-request-id").unwrap().0.to_owned();
        let sent = String::from_utf8(json(status, fields, body)).unwrap();
        assert_eq!(head.trim_end(), sent.split_once("\r\n\r\n").unwrap().0);
    }
}

#[test]
fn a_stream_arrives_byte_for_byte_and_its_connection_is_used_again() {
    let text = "ü€😀 event: message_stop";
    let whole = [start_event(), delta_event(text), stop_event()].concat();
    let sent = whole.clone();
    let upstream = Upstream::start(move |_, wire| {
        wire.write_all(EVENTS.as_bytes())?;
        // Chunks that split letters of several bytes.
        for piece in sent.as_bytes().chunks(7) {
            wire.write_all(format!("{:X};e=1\r\n", piece.len()).as_bytes())?;
            wire.write_all(piece)?;
            wire.write_all(b"\r\n")?;
        }
        wire.write_all(b"0\r\n\r\n")?;
        Ok(Then::Keep)
    });
    let gateway = Gateway::before(&upstream);
    let mut client = gateway.client();
    for _ in 0..3 {
        let answer = client.ask(&messages("{\"model\":\"claude-x\",\"stream\":true}"));
        assert!(answer.whole);
        assert_eq!(answer.text(), whole);
    }
    assert_eq!(upstream.connections(), 1);
}

#[test]
fn every_event_is_passed_on_when_it_comes() {
    let gate = crate::gate::Gate::default();
    let scripted = gate.clone();
    let upstream = Upstream::start(move |_, wire| {
        wire.write_all(EVENTS.as_bytes())?;
        wire.write_all(chunk(&start_event()).as_bytes())?;
        scripted.pass();
        wire.write_all(chunk(&stop_event()).as_bytes())?;
        wire.write_all(b"0\r\n\r\n")?;
        Ok(Then::Keep)
    });
    let gateway = Gateway::before(&upstream);
    let mut client = gateway.client();
    client.send(&messages("{\"model\":\"claude-x\",\"stream\":true}"));
    client.read_until("message_start\ndata: {");
    gate.open();
    assert!(client.answer().text().ends_with(&stop_event()));
}

#[test]
fn requests_that_come_in_one_piece_are_answered_one_by_one() {
    let upstream = Upstream::saying(json("200 OK", "", "{}"));
    let gateway = Gateway::before(&upstream);
    // Larger than what is read at once, so that a body's end and the next head come in one read.
    let bodies: Vec<String> = (0..4)
        .map(|number| format!("{{\"model\":\"claude-x\",\"n\":{number},\"a\":\"{}\"}}", "a".repeat(40_000)))
        .collect();
    let mut client = gateway.client();
    client.send(&bodies.iter().flat_map(|body| messages(body)).collect::<Vec<u8>>());
    for _ in &bodies {
        assert_eq!(client.answer().status, 200);
    }
    let seen: Vec<String> =
        upstream.seen().into_iter().map(|seen| String::from_utf8(seen.body).unwrap()).collect();
    assert_eq!(seen, bodies);
}
