//! mo-preset probe: every kind of endpoint, and of none, told apart in words and exit code.

use serde_json::Value;
use support::{Provider, Run, World};

use crate::door::{Door, Manner};
use crate::preset::mo_preset;

fn probe(world: &World, target: &str) -> Run {
    mo_preset(world, &["probe", target])
}

#[test]
fn an_endpoint_that_asks_for_a_key_speaks_messages_and_never_gets_one() {
    let mut world = World::new();
    for name in ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS"] {
        world.var(name, "x-leak: sk-secret");
    }
    let provider = Provider::setup().base_path("/api/anthropic").start();
    probe(&world, &provider.url())
        .run()
        .ok()
        .stdout_has("speaks the Messages API, and asks for a key")
        .stderr_is("");
    assert!(!provider.requests().is_empty());
    for request in provider.requests() {
        assert_eq!(request.key, None);
        assert_eq!((request.header("authorization"), request.header("x-api-key")), (None, None));
        assert!(!format!("{request:?}").contains("sk-secret"));
    }
    assert_eq!(provider.served().len(), 0, "nothing may be generated");
    mo_preset(&world, &["add", "mine", "--base-url", &format!("{}/v1", provider.url())]).run().ok();
    let told: Value = mo_preset(&world, &["probe", "mine", "--json"]).run().ok().stderr_is("").json();
    assert_eq!(told["verdict"], "speaks-messages");
    assert_eq!(
        (&told["wants_key"], &told["status"], &told["exit_code"]),
        (&true.into(), &401.into(), &0.into())
    );
}

#[test]
fn another_api_at_a_known_host_is_told() {
    let world = World::new();
    let provider = Provider::setup().base_path("/api/anthropic").start();
    let host = provider.url().replace("/api/anthropic", "");
    probe(&world, &host)
        .run()
        .code(1)
        .stdout_is("")
        .stderr_has("not this API")
        .stderr_has("web page")
        .stderr_has("hint: ");
    let told: Value = mo_preset(&world, &["probe", &host, "--json"]).run().code(1).json();
    assert_eq!((&told["verdict"], &told["speaks_messages"]), (&"other-api".into(), &false.into()));
    let door =
        Door::answering("404 Not Found", "content-type: application/json\r\n", "{\"error\":\"no route\"}");
    probe(&world, &door.url("http")).run().code(1).stderr_has("nothing at /v1/messages (404)");
    let door = Door::answering("501 Not Implemented", "content-type: text/plain\r\n", "no POST");
    probe(&world, &door.url("http")).run().code(1).stderr_has("not this API");
}

#[test]
fn a_redirect_is_told_and_not_followed() {
    let world = World::new();
    let elsewhere = Provider::start();
    let location = format!("location: {}/login?token=sk-secret\r\n", elsewhere.url());
    let door = Door::answering("302 Found", &location, "");
    probe(&world, &door.url("http"))
        .run()
        .code(1)
        .stderr_has(&format!("sends elsewhere: {}/login", elsewhere.url()))
        .stderr_lacks("sk-secret");
    assert!(elsewhere.requests().is_empty());
}

#[test]
fn a_port_where_nothing_listens_refuses() {
    let world = World::new();
    let closed = {
        let door = Door::open(Manner::HangsUp);
        door.url("http")
    };
    probe(&world, &closed).run().code(69).stderr_has("cannot be reached: connection refused");
}

#[test]
fn tls_trouble_is_told_from_the_rest() {
    let world = World::new();
    for manner in [Manner::HangsUp, Manner::Says(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec())] {
        let door = Door::open(manner);
        probe(&world, &door.url("https")).run().code(74).stderr_has("TLS trouble").stderr_has("http://");
    }
}

#[test]
fn a_server_that_says_nothing_runs_out_of_time() {
    let world = World::new();
    for scheme in ["http", "https"] {
        let door = Door::open(Manner::Silent);
        mo_preset(&world, &["probe", &door.url(scheme), "--timeout", "0.3"])
            .run()
            .code(124)
            .stderr_has("in time");
    }
    let door = Door::open(Manner::Silent);
    let words = ["probe", &door.url("http"), "--json", "--timeout", "0.3"];
    let told: Value = mo_preset(&world, &words).run().code(124).stderr_is("").json();
    assert_eq!(told["verdict"], "timed-out");
}

#[test]
fn what_is_no_http_at_all_is_told() {
    let world = World::new();
    let door = Door::open(Manner::Says(b"SSH-2.0-OpenSSH_9.9\r\n".to_vec()));
    probe(&world, &door.url("http")).run().code(1).stderr_has("not this API");
    let door = Door::open(Manner::HangsUp);
    probe(&world, &door.url("http")).run().code(1).stderr_has("closed the connection");
}

#[test]
fn an_endpoint_that_cannot_serve_now_is_told() {
    let world = World::new();
    for status in [429, 500, 529] {
        let door = Door::answering(
            &format!("{status} Trouble"),
            "content-type: application/json\r\n",
            "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}",
        );
        probe(&world, &door.url("http")).run().code(69).stderr_has(&format!("cannot serve now ({status})"));
    }
}

#[test]
fn a_huge_or_hostile_answer_does_no_harm() {
    let world = World::new();
    let door = Door::answering("200 OK", "content-type: text/plain\r\n", &"x".repeat(3 << 20));
    probe(&world, &door.url("http")).run().code(1).stderr_has("not this API");
    let door = Door::answering("302 Found", "location: \u{1b}]0;owned\u{7}\r\n", "");
    let run = probe(&world, &door.url("http")).run().fails();
    assert!(!run.errors().contains('\u{1b}') && !run.errors().contains('\u{7}'));
}

#[test]
fn ollama_tells_its_version_and_its_models() {
    let world = World::new();
    let ollama = Provider::setup().ollama("0.14.2", ["qwen3-coder:30b", "gpt-oss:20b"]).start();
    probe(&world, &ollama.url())
        .run()
        .ok()
        .stdout_has("it is Ollama 0.14.2")
        .stdout_has("  qwen3-coder:30b\n")
        .stdout_has("  gpt-oss:20b\n");
    let told: Value = mo_preset(&world, &["probe", &ollama.url(), "--json"]).run().ok().json();
    assert_eq!(told["ollama"]["version"], "0.14.2");
    assert_eq!(told["ollama"]["models"].as_array().unwrap().len(), 2);
}

#[test]
fn an_ollama_from_before_the_messages_api_is_told_its_age() {
    let world = World::new();
    let old = Provider::setup().ollama("0.13.5", ["qwen3:8b"]).start();
    probe(&world, &old.url())
        .run()
        .code(1)
        .stderr_has("Ollama 0.13.5")
        .stderr_has("0.14.0")
        .stderr_has("update");
    assert!(old.asked().is_empty(), "an old one need not be asked for a message");
}

#[test]
fn a_wrong_target_is_wrong_use() {
    let world = World::new();
    probe(&world, "nope").run().code(64).stderr_has("there is no preset `nope`");
    probe(&world, "localhost:1").run().code(64).stderr_has("http://");
    mo_preset(&world, &["probe", "zai", "--timeout", "0"]).run().code(64).stderr_has("0.1 to 600");
}
