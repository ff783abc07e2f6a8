//! An upstream that sends the client elsewhere: the client is never told to go, whoever says so, and nothing of a
//! provider's answer but what it reads reaches it.

use support::wait_for;

use crate::client::{Answer, request};
use crate::gate::Gate;
use crate::gateway::Gateway;
use crate::upstream::{Then, Upstream, json};

fn asking(gateway: &Gateway, method: &str, target: &str, model: &str) -> Vec<u8> {
    let fields = format!("Authorization: Bearer sk-ant-oat01-the-login\r\nx-mo-token: {}\r\n", gateway.token);
    request(method, target, &fields, &format!("{{\"model\":\"{model}\",\"stream\":true,\"messages\":[]}}"))
}

/// It is an error in Anthropic's shape that names who redirects and where to, and nothing that a client could follow.
#[track_caller]
fn goes_nowhere(answer: &Answer, upstream: &str) {
    assert_eq!((answer.status, answer.error().as_str()), (502, "api_error"), "{answer:?}");
    let text = answer.text();
    for part in [upstream, "redirects", "http://evil.example:8443"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for part in ["stolen", "secret", "location", "refresh", "set-cookie"] {
        assert!(!format!("{}{text}", answer.head).to_lowercase().contains(part), "{part}: {answer:?}");
    }
}

#[test]
fn no_upstream_sends_the_client_elsewhere() {
    let redirecting = || {
        Upstream::start(|seen, wire| {
            // The status is asked for by the query.
            let status = seen.head.split(['=', ' ']).nth(2).unwrap_or_default().to_owned();
            let fields = "Location: http://user:secret@evil.example:8443/stolen?k=secret\r\n\
                          Refresh: 0; url=http://evil.example/stolen\r\nSet-Cookie: a=1\r\n";
            let whole = json(&format!("{status} Elsewhere"), fields, "{}");
            let has_body = status != "304" && !seen.head.starts_with("HEAD");
            wire.write_all(if has_body { &whole } else { &whole[..whole.len() - 2] })?;
            Ok(Then::Keep)
        })
    };
    let (anthropic, glm) = (redirecting(), redirecting());
    let gateway = Gateway::between(&anthropic, &[("glm", &glm)], "{}");
    let statuses = [300, 301, 302, 303, 304, 305, 306, 307, 308, 399];
    for status in statuses {
        let target = format!("/v1/messages?status={status}");
        goes_nowhere(&gateway.ask(&asking(&gateway, "POST", &target, "glm-model")), "glm");
        goes_nowhere(&gateway.ask(&asking(&gateway, "POST", &target, "claude-x")), "anthropic");
        goes_nowhere(&gateway.get(&format!("/v1/models?status={status}")), "anthropic");
    }
    let count = gateway.ask(&asking(&gateway, "POST", "/v1/messages/count_tokens?status=307", "glm-model"));
    assert_eq!((count.status, count.field("x-mo-count")), (200, Some("estimate")), "{count:?}");
    assert_eq!(anthropic.seen().len(), 2 * statuses.len());
    // What to do about it is told, and it stands in the books as what it is.
    let answer = gateway.ask(&asking(&gateway, "POST", "/v1/messages?status=307", "glm-model"));
    assert!(answer.text().contains("base_url"), "{}", answer.text());
    let folder = gateway.world.root().join(".proxy/audit");
    let lines = wait_for("the audit to be written", || {
        let files = std::fs::read_dir(&folder).ok()?;
        let text: String =
            files.flatten().filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect();
        let lines = text.lines().filter(|line| line.contains("\"error\":\"redirect\"")).count();
        (lines == 3 * statuses.len() + 1).then_some(text)
    });
    assert!(lines.contains("\"status\":502") && !lines.contains("\"status\":307"), "{lines}");
}

#[test]
fn a_stream_that_was_begun_ends_in_an_error_where_the_provider_then_redirects() {
    let gate = Gate::default();
    let scripted = gate.clone();
    let glm = Upstream::start(move |_, wire| {
        scripted.pass();
        wire.write_all(&json("307 Elsewhere", "Location: http://evil.example:8443/stolen\r\n", "{}"))?;
        Ok(Then::Keep)
    });
    let anthropic = Upstream::saying(json("200 OK", "", "{}"));
    let gateway = Gateway::between(&anthropic, &[("glm", &glm)], "{\"timeouts\": {\"ping_seconds\": 1}}");
    let mut client = gateway.client();
    client.send(&asking(&gateway, "POST", "/v1/messages", "glm-model"));
    client.read_until("event: ping");
    gate.open();
    let heard = client.answer();
    let text = heard.text();
    assert!(heard.whole && text.contains("event: error") && text.contains("redirects"), "{text}");
    assert!(!text.contains("stolen"), "{text}");
}

#[test]
fn the_next_place_of_a_chain_stands_in_for_one_that_redirects() {
    let anthropic = Upstream::saying(json("200 OK", "", "{}"));
    let glm = Upstream::saying(json("308 Moved", "Location: http://evil.example/\r\n", "{}"));
    let kimi = Upstream::saying(json("200 OK", "", "{\"type\":\"message\"}"));
    let config = "{\"roles\": {\"worker\": {\"to\": \"glm\", \"fallback\": [\"kimi\"]}}}";
    let gateway = Gateway::between(&anthropic, &[("glm", &glm), ("kimi", &kimi)], config);
    let answer = gateway.ask(&asking(&gateway, "POST", "/v1/messages", "mo-worker"));
    assert_eq!((answer.status, answer.field("x-mo-upstream")), (200, Some("kimi")));
    assert_eq!(answer.field("x-mo-fallback"), Some("glm: 308"));
}

#[test]
fn of_the_head_of_a_providers_answer_only_what_the_client_reads_reaches_it() {
    let fields = "Request-Id: req_1\r\nretry-after: 7\r\nx-should-retry: false\r\nX-RateLimit-Limit: 5\r\n\
                  anthropic-ratelimit-requests-limit: 5\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\n\
                  Location: http://evil.example/\r\nRefresh: 0; url=http://evil.example/\r\n\
                  Content-Location: /x\r\nAlt-Svc: h3=\":443\"\r\nWWW-Authenticate: Basic\r\nLink: </x>\r\n\
                  X-Mo-Upstream: anthropic\r\nx-mo-model: claude-x\r\nx-mo-request-id: forged\r\n\
                  Clear-Site-Data: \"*\"\r\nX-Own: 1\r\n";
    for status in ["200 OK", "201 Created", "401 Unauthorized", "529 Overloaded"] {
        let answering = || Upstream::saying(json(status, fields, "{\"type\":\"message\"}"));
        let (anthropic, glm) = (answering(), answering());
        let gateway = Gateway::between(&anthropic, &[("glm", &glm)], "{\"retry\": {\"tries\": 0}}");
        let answer = gateway.ask(&asking(&gateway, "POST", "/v1/messages", "glm-model"));
        assert_eq!(answer.text(), "{\"type\":\"message\"}");
        let names: Vec<String> = answer
            .head
            .lines()
            .skip(1)
            .filter_map(|line| Some(line.split_once(':')?.0.to_ascii_lowercase()))
            .collect();
        let expected = [
            "content-type",
            "request-id",
            "retry-after",
            "x-should-retry",
            "x-ratelimit-limit",
            "anthropic-ratelimit-requests-limit",
            "content-length",
            "x-mo-request-id",
            "x-mo-upstream",
        ];
        assert_eq!(names, expected, "{}", answer.head);
        assert_eq!(answer.field("x-mo-upstream"), Some("glm"));
        assert_ne!(answer.field("x-mo-request-id"), Some("forged"));
        // What Anthropic says goes as it came.
        let answer = gateway.ask(&asking(&gateway, "POST", "/v1/messages", "claude-x"));
        assert!(answer.head.contains(fields), "{}", answer.head);
    }
}
