//! Who may ask for what: web pages and other users get nothing.

use crate::client::request;
use crate::gateway::Gateway;
use crate::upstream::{Upstream, json};

#[test]
fn a_web_page_gets_nothing() {
    let upstream = Upstream::saying(json("200 OK", "", "{}"));
    let gateway = Gateway::before(&upstream);
    let port = gateway.address.rsplit_once(':').unwrap().1;
    let with = |host: &str, fields: &str, kind: &str| {
        let bytes = format!(
            "POST /v1/messages HTTP/1.1\r\nHost: {host}\r\n{fields}Content-Type: {kind}\r\nContent-Length: 2\r\n\r\n{{}}"
        );
        gateway.ask(bytes.as_bytes())
    };
    let json = "application/json";
    // A name that was bound anew to this machine.
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1.evil.example", "10.0.0.1"] {
        let answer = with(host, "", json);
        assert_eq!((answer.status, answer.error().as_str()), (421, "invalid_request_error"), "{host}");
    }
    for origin in ["http://evil.example", "null", "http://localhost:9", "https://127.0.0.1"] {
        let answer = with("localhost", &format!("Origin: {origin}\r\n"), json);
        assert_eq!((answer.status, answer.error().as_str()), (403, "permission_error"), "{origin}");
    }
    // What a form can send.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        assert_eq!(with("localhost", "", kind).status, 415, "{kind}");
    }
    assert!(upstream.seen().is_empty());
    let own = format!("Origin: http://{}\r\n", gateway.address);
    assert_eq!(with("localhost", &own, "application/json; charset=utf-8").status, 200);
}

#[test]
fn what_is_written_oddly_or_twice_opens_no_door_to_a_web_page() {
    let upstream = Upstream::saying(json("200 OK", "", "{}"));
    let gateway = Gateway::before(&upstream);
    let own = format!("Host: {0}\r\nOrigin: http://{0}\r\n", gateway.address);
    let with = |fields: &[u8], kind: &str| {
        let rest = format!("Content-Type: {kind}\r\nContent-Length: 20\r\n\r\n{{\"model\":\"claude-x\"}}");
        gateway.ask(&[b"POST /v1/messages HTTP/1.1\r\n", fields, rest.as_bytes()].concat()).status
    };
    let json = "application/json";
    assert_eq!(with(b"Host: evil\xff.example\r\n", json), 421);
    assert_eq!(with(b"Host: localhost\xff\r\n", json), 421);
    assert_eq!(with(b"Host: evil@127.0.0.1\r\n", json), 421);
    for origins in ["Origin: http://evil.example\r\n", "Origin: \r\n", "ORIGIN: null\r\n"] {
        assert_eq!(with(format!("{own}{origins}").as_bytes(), json), 403, "{origins}");
    }
    for site in ["cross-site", "same-site", "Same-Origin", "", "none\r\nSec-Fetch-Site: cross-site"] {
        assert_eq!(
            with(format!("Host: localhost\r\nSec-Fetch-Site: {site}\r\n").as_bytes(), json),
            403,
            "{site}"
        );
    }
    // What a browser sends along by itself does not make a form a client's request.
    for credential in ["Cookie: a=b", "Authorization: Basic YTpi", "Authorization: Negotiate x"] {
        let fields = format!("Host: localhost\r\n{credential}\r\n");
        assert_eq!(with(fields.as_bytes(), "text/plain"), 415, "{credential}");
        assert_eq!(with((fields + "Content-Type: application/json\r\n").as_bytes(), "text/plain"), 415);
    }
    assert!(upstream.seen().is_empty(), "{:?}", upstream.seen());
    for fields in [
        "Sec-Fetch-Site: same-origin\r\n",
        "Sec-Fetch-Site: none\r\n",
        "Sec-Fetch-Mode: cors\r\n",
        "Cookie: a=b\r\n",
    ] {
        assert_eq!(with(format!("{own}{fields}").as_bytes(), json), 200, "{fields}");
    }
    assert_eq!(with(b"Host: localhost\r\nAuthorization: Bearer b\r\n", "text/plain"), 200);
}

#[test]
fn an_instance_proves_that_it_holds_the_token_and_gives_nothing_of_it_away() {
    let upstream = Upstream::saying(json("200 OK", "", "{}"));
    let gateway = Gateway::before(&upstream);
    let proof =
        |challenge: &str| gateway.get(&format!("/mo/proof?challenge={challenge}")).json()["proof"].clone();
    let first = proof("0123456789abcdef0123");
    assert_eq!(first.as_str().unwrap().len(), 64);
    assert_eq!(first, proof("0123456789abcdef0123"));
    assert_ne!(first, proof("0123456789abcdef0124"));
    assert!(!gateway.token.contains(first.as_str().unwrap()));
    for bad in ["", "?challenge=", "?challenge=short", "?challenge=0123456789abcdef%0a12345"] {
        assert_eq!(gateway.get(&format!("/mo/proof{bad}")).status, 400, "{bad}");
    }
    assert!(upstream.seen().is_empty());
}

#[test]
fn its_files_are_for_their_owner_alone() {
    let upstream = Upstream::saying(json("200 OK", "", "{}"));
    let gateway = Gateway::before(&upstream);
    for (file, mode) in [("", 0o700), ("token", 0o600), ("instance.json", 0o600)] {
        assert_eq!(gateway.world.mode(format!(".claude-workers/.proxy/{file}")), mode, "{file}");
    }
    assert_eq!(gateway.token.len(), 64);
    let answer = gateway.ask(&request("GET", "/health", "", ""));
    assert!(answer.status == 200 && !answer.text().contains(&gateway.token));
}

#[test]
fn internals_are_shown_to_who_holds_the_token() {
    let upstream = Upstream::saying(json("200 OK", "", "{}"));
    let gateway = Gateway::before(&upstream);
    for fields in ["", "x-mo-token: \r\n", "x-mo-token: guess\r\n", "authorization: Bearer sk-ant-x\r\n"] {
        let answer = gateway.ask(&request("GET", "/status", fields, ""));
        assert_eq!((answer.status, answer.error().as_str()), (403, "permission_error"), "{fields}");
    }
    let token = format!("x-mo-token: {}\r\n", gateway.token);
    assert_eq!(gateway.ask(&request("GET", "/status", &token.repeat(2), "")).status, 403);
    let status = gateway.ask(&request("GET", "/status", &token, "")).json();
    assert_eq!((&status["stage"], &status["address"]), (&"serving".into(), &gateway.address.clone().into()));
}
