//! Other providers: by name and by role, with their worker's key, and never with the client's login.

use support::{World, wait_until};

use crate::client::request;
use crate::gate::Gate;
use crate::gateway::{Gateway, KEY};
use crate::staff::hire;
use crate::upstream::{EVENTS, Seen, Then, Upstream, chunk, json, start_event, stop_event};

const LOGIN: &str = "sk-ant-oat01-the-login";

fn ok() -> Upstream {
    Upstream::saying(json("200 OK", "", "{\"type\":\"message\"}"))
}

#[test]
fn a_providers_stream_is_asked_for_unpacked_so_that_signs_and_errors_can_be_added() {
    let (anthropic, glm) = (ok(), ok());
    let gateway = Gateway::between(&anthropic, &[("glm", &glm)], "{}");
    for stream in [true, false] {
        for model in ["glm-model", "claude-x"] {
            let token = &gateway.token;
            let fields = format!(
                "Authorization: Bearer {LOGIN}\r\nAccept-Encoding: gzip, br\r\nx-mo-token: {token}\r\n"
            );
            let body = format!("{{\"model\":\"{model}\",\"stream\":{stream},\"messages\":[]}}");
            assert_eq!(gateway.ask(&request("POST", "/v1/messages", &fields, &body)).status, 200);
        }
    }
    let asked = |upstream: &Upstream| -> Vec<String> {
        let seen = upstream.seen();
        seen.iter().map(|seen| seen.field("accept-encoding").unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(asked(&glm), ["identity", "gzip, br"]);
    // What goes to Anthropic goes as it came.
    assert_eq!(asked(&anthropic), ["gzip, br", "gzip, br"]);
}

/// A request for this model, with everything that a provider must not see, and the token.
fn asking(gateway: &Gateway, target: &str, model: &str) -> Vec<u8> {
    let fields = format!(
        "Authorization: Bearer {LOGIN}\r\nx-api-key: sk-ant-api03-other\r\nCookie: session=1\r\n\
         anthropic-beta: oauth-2025-04-20,fine\r\nanthropic-version: 2023-06-01\r\nAccept-Encoding: gzip\r\n\
         X-Claude-Code-Session-Id: 1-2-3\r\nx-mo-token: {}\r\n",
        gateway.token
    );
    request("POST", target, &fields, &format!("{{\"model\":\"{model}\",\"max_tokens\":10,\"messages\":[]}}"))
}

/// Nothing in this request tells who the client is.
#[track_caller]
fn is_anonymous(seen: &Seen) {
    let head = seen.head.to_ascii_lowercase();
    for part in ["sk-ant", "cookie", "beta", "x-claude-code", "x-mo-token"] {
        assert!(!head.contains(part), "{part}: {head}");
    }
}

#[test]
fn each_upstream_gets_its_own_key_and_only_anthropic_the_login() {
    let (anthropic, glm, kimi) = (ok(), ok(), ok());
    let workers = [("glm", &glm), ("kimi", &kimi)];
    let gateway = Gateway::between(&anthropic, &workers, "{\"roles\": {\"explorer\": \"kimi\"}}");
    for model in ["claude-opus-5", "glm-model", "glm,other-model", "mo-explorer", "mo-glm"] {
        assert_eq!(gateway.ask(&asking(&gateway, "/v1/messages", model)).status, 200, "{model}");
    }
    let own = anthropic.only();
    assert_eq!(own.field("authorization"), Some(&*format!("Bearer {LOGIN}")));
    // The gateway's own token ends here.
    assert!(own.field("x-mo-token").is_none() && !own.head.contains(&gateway.token), "{}", own.head);
    assert_eq!((glm.seen().len(), kimi.seen().len()), (3, 1));
    for seen in glm.seen().iter().chain(&kimi.seen()) {
        is_anonymous(seen);
        assert_eq!(seen.field("authorization"), Some(&*format!("Bearer {KEY}")));
        assert_eq!(seen.field("anthropic-version"), Some("2023-06-01"));
    }
    // The role's name never leaves: the provider is asked for its model, and the rest of the body is the client's.
    let body = String::from_utf8(kimi.only().body).unwrap();
    assert!(body.starts_with("{\"model\":\"kimi-model\",\"max_tokens\":"), "{body}");
    let answer = gateway.ask(&asking(&gateway, "/v1/messages", "mo-explorer"));
    assert_eq!(answer.field("x-mo-upstream"), Some("kimi"));
    assert_eq!(answer.field("x-mo-model"), Some("kimi-model"));
}

#[test]
fn a_providers_key_is_used_for_nobody_without_the_token() {
    let (anthropic, glm) = (ok(), ok());
    let gateway = Gateway::between(&anthropic, &[("glm", &glm)], "{}");
    for fields in [
        String::new(),
        format!("Authorization: Bearer {LOGIN}\r\n"),
        format!("x-mo-token: {}\r\n", "0".repeat(64)),
        format!("x-mo-token: {}\r\n", &gateway.token[1..]),
    ] {
        let answer = gateway.ask(&request("POST", "/v1/messages", &fields, "{\"model\":\"glm-model\"}"));
        assert_eq!((answer.status, answer.error().as_str()), (403, "permission_error"), "{fields}");
    }
    assert!(glm.seen().is_empty() && anthropic.seen().is_empty());
}

#[test]
fn a_name_that_nothing_knows_is_told_with_the_nearest() {
    let (anthropic, glm) = (ok(), ok());
    let gateway = Gateway::between(&anthropic, &[("glm", &glm)], "{}");
    let answer = gateway.ask(&asking(&gateway, "/v1/messages", "glm-modell"));
    assert_eq!((answer.status, answer.error().as_str()), (404, "not_found_error"));
    assert!(answer.text().contains("glm-model"), "{}", answer.text());
    assert!(glm.seen().is_empty() && anthropic.seen().is_empty());
}

#[test]
fn a_chain_goes_on_before_the_first_byte_and_says_so() {
    let refusals = [
        json("529 Overloaded", "", "{\"type\":\"error\"}"),
        json("429 Too Many Requests", "retry-after: 1000\r\n", "{\"type\":\"error\"}"),
        json("401 Unauthorized", "", "{\"type\":\"error\"}"),
        b"".to_vec(),
    ];
    for refusal in refusals {
        let anthropic = ok();
        let kimi = ok();
        let glm = Upstream::start(move |_, wire| {
            wire.write_all(&refusal)?;
            Ok(Then::Close)
        });
        let config = "{\"roles\": {\"worker\": {\"to\": \"glm\", \"fallback\": [\"kimi\"]}}}";
        let gateway = Gateway::between(&anthropic, &[("glm", &glm), ("kimi", &kimi)], config);
        let answer = gateway.ask(&asking(&gateway, "/v1/messages", "mo-worker"));
        assert_eq!((answer.status, answer.field("x-mo-upstream")), (200, Some("kimi")));
        assert!(answer.field("x-mo-fallback").unwrap().starts_with("glm: "), "{}", answer.head);
        assert!(String::from_utf8(kimi.only().body).unwrap().contains("\"kimi-model\""));
        assert!(anthropic.seen().is_empty());
    }
}

#[test]
fn the_last_place_of_a_chain_answers_for_itself() {
    let anthropic = ok();
    let refusal = r#"{"type":"error","error":{"type":"overloaded_error","message":"their own words"}}"#;
    let busy = || Upstream::saying(json("529 Overloaded", "retry-after: 900\r\n", refusal));
    let (glm, kimi) = (busy(), busy());
    let config = "{\"roles\": {\"worker\": {\"to\": \"glm\", \"fallback\": [\"kimi\"]}}}";
    let gateway = Gateway::between(&anthropic, &[("glm", &glm), ("kimi", &kimi)], config);
    let answer = gateway.ask(&asking(&gateway, "/v1/messages", "mo-worker"));
    assert_eq!((answer.status, answer.text().as_str()), (529, refusal));
    assert_eq!(answer.field("retry-after"), Some("900"));
}

#[test]
fn a_reload_changes_the_next_request_and_no_stream_that_runs() {
    let gate = Gate::default();
    let scripted = gate.clone();
    let glm = Upstream::start(move |_, wire| {
        wire.write_all((EVENTS.to_owned() + &chunk(&start_event())).as_bytes())?;
        scripted.pass();
        wire.write_all((chunk(&stop_event()) + "0\r\n\r\n").as_bytes())?;
        Ok(Then::Keep)
    });
    let (anthropic, kimi) = (ok(), ok());
    let workers = [("glm", &glm), ("kimi", &kimi)];
    let gateway = Gateway::between(&anthropic, &workers, "{\"roles\": {\"worker\": \"glm\"}}");
    let mut client = gateway.client();
    client.send(&asking(&gateway, "/v1/messages", "mo-worker"));
    client.read_until("message_start");
    gateway.world.write(".claude-workers/.proxy/config.json", "{\"roles\": {\"worker\": \"kimi\"}}");
    gateway.process.signal(1);
    wait_until("the new configuration", || gateway.process.stderr().contains("was read anew"));
    assert_eq!(
        gateway.ask(&asking(&gateway, "/v1/messages", "mo-worker")).field("x-mo-upstream"),
        Some("kimi")
    );
    gate.open();
    let answer = client.answer();
    assert!(answer.whole && answer.text().ends_with(&stop_event()));

    // A bad one changes nothing, and says where it is wrong. Nobody has to ask: the file is watched.
    gateway.world.write(".claude-workers/.proxy/config.json", "{\n\"roles\": {\"worker\": \"nobody\"}}");
    wait_until("the bad configuration to be told", || gateway.process.stderr().contains("stays in force"));
    assert!(gateway.process.stderr().contains("config.json:2"), "{}", gateway.process.stderr());
    assert_eq!(
        gateway.ask(&asking(&gateway, "/v1/messages", "mo-worker")).field("x-mo-upstream"),
        Some("kimi")
    );
}

#[test]
fn a_bad_configuration_is_told_whole_before_anything_is_listened_on() {
    let world = World::new();
    let config = r#"{
"limits": 1,
"rules": [{"model": 5}],
"roles": {"r": "nowhere,m"},
"upstreams": {"own": {"api_key": "sk-secret"}},
"default": "own,m"
}"#;
    world.write(".claude-workers/.proxy/config.json", config);
    let output = world.command(crate::gateway::PROGRAM).args(["serve", "--port", "0"]).run().code(78);
    // Also what only the workers tell; and what follows from a mistake is none.
    for (line, told) in [(2, true), (3, true), (4, true), (5, true), (6, false)] {
        assert_eq!(output.errors().contains(&format!("config.json:{line}: ")), told, "{}", output.errors());
    }
    assert!(!output.errors().contains("secret"));
    assert!(!world.root().join(".proxy/instance.json").exists());
}

#[test]
fn a_name_is_explained_and_nobody_is_asked() {
    let world = World::new();
    hire(&world, "glm", "https://api.z.ai/api/anthropic", "glm-5.2", KEY);
    world.write(".claude-workers/.proxy/config.json", r#"{"roles": {"explorer": "glm,glm-4.7"}}"#);
    let explain = |words: &[&str], code: i32| {
        let output = world.command(crate::gateway::PROGRAM).arg("explain").args(words).run().code(code);
        assert!(!output.text().contains(KEY) && !output.errors().contains(KEY));
        (output.text(), output.errors())
    };
    let (text, _) = explain(&["mo-explorer"], 0);
    for part in ["role `explorer` on line 1", "https://api.z.ai/api/anthropic", "worker `glm`", "metadata"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (text, _) = explain(&["claude-opus-5-5", "--json"], 0);
    let told: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(told["places"][0]["url"], "https://api.anthropic.com");
    assert_eq!(told["places"][0]["changes"], serde_json::json!([]));
    // A role that nothing maps is the worker's; a name that nothing knows is told with the nearest.
    assert!(explain(&["mo-reviewer"], 0).0.contains("`glm` is the first worker"));
    assert!(explain(&["mo-explroer"], 64).1.contains("did you mean `mo-explorer`?"));
}

#[test]
fn a_new_key_is_used_without_a_restart() {
    let (anthropic, glm) = (ok(), ok());
    let gateway = Gateway::between(&anthropic, &[("glm", &glm)], "{}");
    gateway.ask(&asking(&gateway, "/v1/messages", "glm-model"));
    let key = "fedcba9876543210.other_ABCD";
    gateway.world.command(env!("CARGO_BIN_EXE_mo-key")).arg("glm").stdin(key).run().ok();
    wait_until("the new key to be noticed", || gateway.process.stderr().contains("was read anew"));
    gateway.ask(&asking(&gateway, "/v1/messages", "glm-model"));
    assert_eq!(glm.seen()[1].field("authorization"), Some(&*format!("Bearer {key}")));
}

#[test]
fn a_provider_that_thinks_for_minutes_keeps_its_client_by_signs_of_life() {
    for answer in [
        EVENTS.to_owned() + &chunk(&(start_event() + &stop_event())) + "0\r\n\r\n",
        String::from_utf8(json(
            "529 Overloaded",
            "",
            r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#,
        ))
        .unwrap(),
        String::from_utf8(json("500 Internal Server Error", "", "<html>")).unwrap(),
    ] {
        let gate = Gate::default();
        let (scripted, sent) = (gate.clone(), answer.clone());
        let glm = Upstream::start(move |_, wire| {
            scripted.pass();
            wire.write_all(sent.as_bytes())?;
            Ok(Then::Keep)
        });
        let anthropic = ok();
        let gateway = Gateway::between(&anthropic, &[("glm", &glm)], "{\"timeouts\": {\"ping_seconds\": 1}}");
        let token = format!("x-mo-token: {}\r\n", gateway.token);
        let mut client = gateway.client();
        client.send(&request("POST", "/v1/messages", &token, "{\"model\":\"glm-model\",\"stream\":true}"));
        client.read_until("event: ping");
        client.read_until("\r\n\r\n");
        gate.open();
        let heard = client.answer();
        let text = heard.text();
        assert!(heard.status == 200 && heard.whole, "{heard:?}");
        if answer.starts_with("HTTP/1.1 200") {
            assert!(text.ends_with(&(start_event() + &stop_event())), "{text}");
        } else {
            let error = text.split_once("event: error\ndata: ").unwrap().1;
            let error: serde_json::Value = serde_json::from_str(error.trim_end()).unwrap();
            let kind = if answer.contains("529") { "overloaded_error" } else { "api_error" };
            assert_eq!(error["error"]["type"], kind);
        }
    }
}
