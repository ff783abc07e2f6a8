//! Whose model a request asks for: what names another than Anthropic's never reaches Anthropic, however it is written,
//! and what cannot be told reaches nobody. What Claude Code does say to Anthropic still goes as it came.

use support::World;

use crate::client::request;
use crate::gateway::Gateway;
use crate::staff::hire;
use crate::upstream::{Upstream, json};

const KEY: &str = "0123456789abcdef.half_XYZW";

/// A gateway, with a worker `glm` whose model is `glm-5`, and what it stands in front of.
fn gateway() -> (Gateway, Upstream, Upstream) {
    let ok = || Upstream::saying(json("200 OK", "", "{\"type\":\"message\"}"));
    let (anthropic, glm) = (ok(), ok());
    let mut world = World::new();
    world.var("MODEL_ORCHESTRATION_ANTHROPIC", anthropic.url());
    hire(&world, "glm", &glm.url(), "glm-5", KEY);
    (Gateway::start(world), anthropic, glm)
}

/// A request of this method with this body, with a login and the token.
fn asking(gateway: &Gateway, method: &str, target: &str, fields: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "{method} {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sk-ant-oat01-the-login\r\n\
         x-mo-token: {}\r\nContent-Type: application/json\r\n{fields}Content-Length: {}\r\n\r\n",
        gateway.token,
        body.len()
    );
    [head.as_bytes(), body].concat()
}

const SECRET: &str = "\"messages\":[{\"role\":\"user\",\"content\":\"SECRET\"}]";

#[test]
fn a_body_of_which_it_cannot_be_told_whose_model_it_asks_for_goes_to_nobody() {
    let (gateway, anthropic, glm) = gateway();
    let whole = format!("{{\"model\":\"glm-5\",{SECRET}}}");
    let claude = format!("{{\"model\":\"claude-x\",{SECRET}}}");
    let packed = [&[0x1f, 0x8b, 8, 0][..], whole.as_bytes()].concat();
    let bodies: Vec<(&str, &str, Vec<u8>)> = vec![
        ("a byte order mark", "", format!("\u{feff}{whole}").into_bytes()),
        ("a byte order mark before a claude", "", format!("\u{feff}{claude}").into_bytes()),
        ("a comma too many", "", format!("{{\"model\":\"glm-5\",{SECRET},}}").into_bytes()),
        ("a comment", "", format!("/**/{whole}").into_bytes()),
        ("a second object", "", format!("{whole}{claude}").into_bytes()),
        ("a list", "", format!("[{whole}]").into_bytes()),
        (
            "no UTF-8",
            "",
            [whole.as_bytes()[..40].to_vec(), vec![0xff], whole.as_bytes()[40..].to_vec()].concat(),
        ),
        ("UTF-16", "", whole.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("gzip", "Content-Encoding: gzip\r\n", packed),
        ("what says it is packed", "Content-Encoding: br\r\n", claude.clone().into_bytes()),
        (
            "one of two codings",
            "content-encoding: identity\r\nCONTENT-ENCODING: zstd\r\n",
            claude.clone().into_bytes(),
        ),
        (
            "two, the second ours",
            "",
            format!("{{\"model\":\"claude-x\",\"model\":\"glm-5\",{SECRET}}}").into_bytes(),
        ),
        (
            "two, the first ours",
            "",
            format!("{{\"model\":\"glm-5\",\"model\":\"claude-x\",{SECRET}}}").into_bytes(),
        ),
        (
            "two, not first",
            "",
            format!("{{{SECRET},\"model\":\"claude-x\",\"model\":\"glm-5\"}}").into_bytes(),
        ),
        (
            "two far apart",
            "",
            format!("{{\"model\":\"claude-x\",{SECRET},\"model\" : \"glm-5\"}}").into_bytes(),
        ),
        (
            "two, escaped",
            "",
            format!("{{\"model\":\"claude-x\",{SECRET},\"mod\\u0065l\":\"glm-5\"}}").into_bytes(),
        ),
        (
            "two, escaped otherwise",
            "",
            format!("{{\"model\":\"claude-x\",{SECRET},\"\\u006D\\u006Fdel\":\"glm-5\"}}").into_bytes(),
        ),
        (
            "two, and no JSON",
            "",
            format!("{{\"model\":\"claude-x\",{SECRET},\"model\":\"glm-5\",}}").into_bytes(),
        ),
        ("a list of models", "", format!("{{\"model\":[\"glm-5\"],{SECRET}}}").into_bytes()),
        ("an object", "", format!("{{\"model\":{{\"id\":\"glm-5\"}},{SECRET}}}").into_bytes()),
        ("null", "", format!("{{\"model\":null,{SECRET}}}").into_bytes()),
        ("nothing", "", format!("{{\"model\":\"\",{SECRET}}}").into_bytes()),
    ];
    for (what, fields, body) in &bodies {
        for target in ["/v1/messages", "/v1/messages?beta=true", "/v1/messages/count_tokens", "/v1/messages/"]
        {
            let answer = gateway.ask(&asking(&gateway, "POST", target, fields, body));
            assert_eq!(
                (answer.status, answer.error().as_str()),
                (400, "invalid_request_error"),
                "{what}: {answer:?}"
            );
            assert!(answer.text().contains("sent to nobody") && !answer.text().contains("SECRET"), "{what}");
        }
    }
    assert!(anthropic.seen().is_empty() && glm.seen().is_empty(), "{:?}", anthropic.seen());
}

#[test]
fn a_model_of_somebody_else_is_asked_for_at_no_path_of_anthropics() {
    let (gateway, anthropic, glm) = gateway();
    let whole = format!("{{\"model\":\"glm-5\",{SECRET}}}");
    let broken = format!("\u{feff}{whole}");
    let batch = format!(
        "{{\"requests\":[{{\"custom_id\":\"a\",\"params\":{{\"model\":\"claude-x\"}}}},{{\"params\":{whole}}}]}}"
    );
    let twice = format!("{{\"model\":\"claude-x\",\"model\":\"glm-5\",{SECRET}}}");
    for (method, target, body) in [
        ("POST", "/v1/messages/", &whole),
        ("POST", "/v1//messages?x", &whole),
        ("POST", "/v1/./messages", &whole),
        ("POST", "/V1/Messages", &whole),
        ("POST", "/v1/%6dessages", &whole),
        ("POST", "/v1/messages;a=b", &whole),
        ("POST", "/v1/messages/batches", &whole),
        ("POST", "/v1/messages/batches", &batch),
        ("PUT", "/v1/messages", &whole),
        ("PATCH", "/v1/messages", &whole),
        ("GET", "/v1/messages", &whole),
        ("post", "/v1/messages", &whole),
        ("POST", "/v1/complete", &whole),
        ("POST", "/v1/chat/completions", &whole),
        ("POST", "/v1/responses", &broken),
        ("POST", "/v1/else", &whole),
        ("POST", "/v1/else", &broken),
        ("POST", "/v1/else", &twice),
        ("POST", "/", &whole),
    ] {
        let answer = gateway.ask(&asking(&gateway, method, target, "", body.as_bytes()));
        assert_eq!(
            (answer.status, answer.error().as_str()),
            (400, "invalid_request_error"),
            "{method} {target} {body}"
        );
        assert!(answer.text().contains("sent to nobody"), "{}", answer.text());
    }
    assert!(anthropic.seen().is_empty() && glm.seen().is_empty(), "{:?}", anthropic.seen());
}

#[test]
fn what_names_nobody_elses_model_goes_to_anthropic_as_it_came() {
    let (gateway, anthropic, glm) = gateway();
    let gzip = [0x1f, 0x8b, 8, 0, 0xff, b'"', b'm', b'o', b'd', b'e', b'l', b'"'];
    let cases: [(&str, &str, &str, &[u8]); 17] = [
        // No model, and nothing at all: Anthropic's to refuse.
        ("POST", "/v1/messages", "", b"{\"messages\":[]}"),
        ("POST", "/v1/messages", "", b""),
        // Another member twice, half a surrogate pair, and a broken end behind one of its models.
        ("POST", "/v1/messages", "", b"{\"model\":\"claude-x\",\"a\":1,\"a\":2,\"s\":\"\\ud83d\"}"),
        ("POST", "/v1/messages", "", b"{\"model\":\"claude-x\",\"messages\":[}"),
        ("POST", "/v1/messages", "", b"{\"model\":\"claude-x\",\"s\":\"\xff\"}"),
        // Deeper down, a model is a word like others: a tool's schema, an agent's call, a text.
        (
            "POST",
            "/v1/messages",
            "",
            b"{\"model\":\"claude-x\",\"tools\":[{\"input_schema\":{\"properties\":{\"model\":{}}}}]}",
        ),
        (
            "POST",
            "/v1/messages",
            "",
            b"{\"model\":\"claude-x\",\"messages\":[{\"input\":{\"model\":\"glm-5\"}}]}",
        ),
        (
            "POST",
            "/v1/messages",
            "",
            b"{\"model\":\"claude-x\",\"messages\":[\"{\\\"model\\\":\\\"glm-5\\\"} \\u006d\"]}",
        ),
        (
            "POST",
            "/v1/messages",
            "Content-Encoding: identity\r\n",
            b"{ \"max_tokens\":1, \"mod\\u0065l\":\"Claude-x\" }\n",
        ),
        // Anthropic's other paths.
        ("POST", "/v1/messages/", "", b"{\"model\":\"claude-x\"}"),
        ("POST", "/v1/messages/batches", "", b"{\"requests\":[{\"params\":{\"model\":\"claude-x\"}}]}"),
        ("PUT", "/v1/messages", "", b"{\"model\":\"claude-x\"}"),
        ("POST", "/api/event_logging/v2/batch", "", b"{\"events\":[{\"model\":\"glm-5\"}]}"),
        ("POST", "/api/event_logging/v2/batch", "Content-Encoding: gzip\r\n", &gzip),
        ("POST", "/v1/files", "", b"--x\r\n\r\n{\"model\":\"glm-5\"}\r\n--x--"),
        ("POST", "/v1/mcp/x", "", b"[{\"jsonrpc\":\"2.0\"}]"),
        ("POST", "/v1/sessions", "", b"{\"model\":{\"id\":\"claude-x\"}}"),
    ];
    for (method, target, fields, body) in cases {
        let answer = gateway.ask(&asking(&gateway, method, target, fields, body));
        assert_eq!(answer.status, 200, "{method} {target} {}: {answer:?}", body.escape_ascii());
    }
    let seen: Vec<Vec<u8>> = anthropic.seen().into_iter().map(|seen| seen.body).collect();
    assert_eq!(seen, cases.map(|(_, _, _, body)| body.to_vec()));
    assert!(glm.seen().is_empty());
    // And a provider's model still comes to its provider.
    let token = format!("x-mo-token: {}\r\n", gateway.token);
    let body = format!("{{\"model\":\"glm-5\",{SECRET}}}");
    assert_eq!(gateway.ask(&request("POST", "/v1/messages", &token, &body)).status, 200);
    assert_eq!((glm.seen().len(), anthropic.seen().len()), (1, cases.len()));
}
