//! Requests that two readers could understand differently are refused, and nothing of them goes anywhere.

use crate::gateway::Gateway;
use crate::upstream::{Upstream, json};

#[test]
fn a_request_that_could_be_two_is_none() {
    let upstream = Upstream::saying(json("200 OK", "", "{}"));
    let gateway = Gateway::before(&upstream);
    let inner = "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
    for fields in [
        "Host: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Host: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Host: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n",
        "Host: localhost\r\nContent-Length: 5\r\nContent-Length: 5\r\n",
        "Host: localhost\r\nContent-Length: 5, 5\r\n",
        "Host: localhost\r\nContent-Length: +5\r\n",
        "Host: localhost\r\nContent-Length: 0x5\r\n",
        "Host: localhost\r\nContent-Length: \r\n",
        "Host: localhost\r\nTransfer-Encoding: identity\r\n",
        "Host: localhost\r\nTransfer-Encoding: gzip, chunked\r\n",
        "Host: localhost\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Host: localhost\r\nTransfer-Encoding: \x0bchunked\r\n",
        "Host: localhost\r\nTransfer-Encoding : chunked\r\n",
        "Host: localhost\r\n Content-Length: 5\r\n",
        "Host: localhost\r\nX: a\r\n b\r\n",
        "Host: localhost\r\nX: a\nContent-Length: 5\r\n",
        "Host: localhost\r\nX: a\rContent-Length: 5\r\n",
        "Host: localhost\r\nX\0: a\r\n",
        "Host: localhost\r\nHost: localhost\r\n",
        "X: a\r\n",
    ] {
        let answer = gateway.ask(format!("POST /v1/messages HTTP/1.1\r\n{fields}\r\n{inner}").as_bytes());
        assert!(answer.status == 400, "{}: {answer:?}", fields.escape_debug());
        assert!(answer.head.contains("connection: close"));
    }
    for line in [
        "POST http://evil.example/ HTTP/1.1",
        "CONNECT evil.example:443 HTTP/1.1",
        "GET * HTTP/1.1",
        "GET /a b HTTP/1.1",
        "GET /v1 HTTP/2.0",
        "GET /v1",
    ] {
        let answer = gateway.ask(format!("{line}\r\nHost: localhost\r\n\r\n").as_bytes());
        assert_eq!(answer.status, 400, "{line}");
    }
    assert!(upstream.seen().is_empty(), "{:?}", upstream.seen());
}

#[test]
fn a_malformed_chunk_ends_the_connection() {
    let upstream = Upstream::saying(json("200 OK", "", "{}"));
    let gateway = Gateway::before(&upstream);
    for body in ["5\nhello\r\n0\r\n\r\n", "0x5\r\nhello\r\n0\r\n\r\n", "5\r\nhelloGET / HTTP/1.1\r\n\r\n"] {
        let head = "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer b\r\n\
                    Transfer-Encoding: chunked\r\n\r\n";
        let mut client = gateway.client();
        assert_eq!(client.ask(format!("{head}{body}").as_bytes()).status, 400);
        assert!(client.is_hung_up());
    }
    assert!(upstream.seen().is_empty());
}

#[test]
fn requests_on_one_connection_are_answered_in_their_order() {
    let upstream = Upstream::start(|seen, wire| {
        std::io::Write::write_all(wire, &json("200 OK", "", &format!("{{\"n\":{}}}", seen.body.len())))?;
        Ok(crate::upstream::Then::Keep)
    });
    let gateway = Gateway::before(&upstream);
    let mut client = gateway.client();
    let all: Vec<u8> =
        (1..6).flat_map(|n| crate::client::messages(&format!("{{\"a\":{}}}", "1".repeat(n)))).collect();
    client.send(&all);
    for n in 1..6 {
        assert_eq!(client.answer().json()["n"], n + "{\"a\":}".len());
    }
}
