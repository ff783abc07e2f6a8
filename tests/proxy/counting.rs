//! Tokens are counted where that can be done, estimated elsewhere, and never made for it.

use crate::client::{Answer, request};
use crate::gateway::Gateway;
use crate::upstream::{Then, Upstream, json};

const PATH: &str = "/v1/messages/count_tokens?beta=true";

fn count(gateway: &Gateway, model: &str) -> Answer {
    let fields = format!(
        "authorization: Bearer sk-ant-oat01-x\r\naccept-encoding: gzip, br\r\nx-mo-token: {}\r\n",
        gateway.token
    );
    let body =
        format!("{{\"model\":\"{model}\",\"messages\":[{{\"role\":\"user\",\"content\":\"hello\"}}]}}");
    gateway.ask(&request("POST", PATH, &fields, &body))
}

#[track_caller]
fn is_estimate(answer: &Answer) {
    assert_eq!((answer.status, answer.field("x-mo-count")), (200, Some("estimate")), "{answer:?}");
    assert!(answer.json()["input_tokens"].as_u64().unwrap() > 0);
}

fn saying(status: &'static str, body: &'static str) -> Upstream {
    Upstream::saying(json(status, "", body))
}

#[test]
fn who_can_count_is_asked_and_nothing_is_made_for_it() {
    let (anthropic, glm) =
        (saying("200 OK", "{\"input_tokens\":7}"), saying("200 OK", "{\"input_tokens\":42}"));
    let gateway = Gateway::between(&anthropic, &[("glm", &glm)], "{}");
    for _ in 0..2 {
        let answer = count(&gateway, "glm-model");
        assert_eq!((answer.status, answer.text().as_str()), (200, "{\"input_tokens\":42}"));
        assert_eq!((answer.field("x-mo-count"), answer.field("x-mo-upstream")), (None, Some("glm")));
    }
    assert_eq!((glm.seen().len(), glm.connections()), (2, 1));
    for seen in glm.seen() {
        assert!(seen.head.starts_with(&format!("POST {PATH} ")), "{}", seen.head);
        assert_eq!(seen.field("accept-encoding"), Some("identity"));
        assert!(!seen.head.contains("sk-ant"), "{}", seen.head);
    }
    // Anthropic's own answer is passed on as it came.
    assert_eq!(count(&gateway, "claude-opus-5").text(), "{\"input_tokens\":7}");
    assert!(anthropic.only().head.starts_with(&format!("POST {PATH} ")));
}

#[test]
fn who_cannot_count_is_asked_once() {
    for (status, body) in [
        ("404 Not Found", "<html>no such page</html>"),
        ("405 Method Not Allowed", "{}"),
        ("501 Not Implemented", ""),
        ("200 OK", "{\"type\":\"message\",\"content\":[]}"),
    ] {
        let (anthropic, glm) = (saying("200 OK", "{}"), saying(status, body));
        let gateway = Gateway::between(&anthropic, &[("glm", &glm)], "{}");
        for _ in 0..3 {
            is_estimate(&count(&gateway, "glm-model"));
        }
        assert_eq!(glm.seen().len(), 1, "{status}");
        // A reload forgets nothing that was learnt.
        gateway.world.command(crate::gateway::PROGRAM).arg("reload").run().ok();
        is_estimate(&count(&gateway, "glm-model"));
        assert_eq!(glm.seen().len(), 1, "{status}");
        assert!(anthropic.seen().is_empty());
    }
}

#[test]
fn trouble_at_the_provider_is_no_trouble_for_who_counts() {
    for status in ["429 Too Many Requests", "500 Internal Server Error", "401 Unauthorized"] {
        let (anthropic, glm) = (saying("200 OK", "{}"), saying(status, "{\"type\":\"error\"}"));
        let gateway = Gateway::between(&anthropic, &[("glm", &glm)], "{}");
        for _ in 0..3 {
            is_estimate(&count(&gateway, "glm-model"));
        }
        assert_eq!(glm.seen().len(), 1, "{status}");
    }
    // One that hangs up, and one that never answers.
    let (anthropic, gone) = (saying("200 OK", "{}"), Upstream::start(|_, _| Ok(Then::Close)));
    is_estimate(&count(&Gateway::between(&anthropic, &[("glm", &gone)], "{}"), "glm-model"));
    let silent = Upstream::start(|_, wire| {
        let _ = wire.read(&mut [0]);
        Ok(Then::Close)
    });
    let gateway = Gateway::between(&anthropic, &[("glm", &silent)], "{}");
    for _ in 0..3 {
        is_estimate(&count(&gateway, "glm-model"));
    }
    assert_eq!(silent.seen().len(), 1);
}

#[test]
fn a_count_takes_nothing_from_a_limit_and_waits_for_none() {
    let (anthropic, glm) = (saying("200 OK", "{}"), saying("200 OK", "{\"input_tokens\":42}"));
    let config = "{\"limits\": {\"requests_per_minute\": 1, \"queue\": 0}}";
    let gateway = Gateway::between(&anthropic, &[("glm", &glm)], config);
    for _ in 0..20 {
        is_estimate(&count(&gateway, "glm-model"));
    }
    assert!(glm.seen().is_empty());
}
