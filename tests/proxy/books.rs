//! What the gateway knows of its traffic: a line of audit for each request, however it ended, costs and figures.

use serde_json::Value;
use support::{World, wait_for};

use crate::client::request;
use crate::gateway::Gateway;
use crate::staff::hire;
use crate::upstream::{EVENTS, Then, Upstream, chunk, delta_event, json, start_event, stop_event};

const KEY: &str = "0123456789abcdef.half_XYZW";

/// The lines of the audit, once there are so many.
fn lines(gateway: &Gateway, count: usize) -> Vec<Value> {
    let folder = gateway.world.root().join(".proxy/audit");
    wait_for("the audit to be written", || {
        let files = std::fs::read_dir(&folder).ok()?;
        let text: String =
            files.flatten().filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect();
        let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let lines: Vec<Value> = lines.into_iter().filter(|line| line["request_id"].is_string()).collect();
        (lines.len() >= count).then_some(lines)
    })
}

fn asking(gateway: &Gateway, model: &str) -> Vec<u8> {
    let fields = format!(
        "authorization: Bearer sk-ant-oat01-the-login\r\nx-mo-token: {}\r\n\
         x-claude-code-session-id: s-1\r\nx-claude-code-agent-id: a-1\r\n",
        gateway.token
    );
    let body = format!(
        "{{\"model\":\"{model}\",\"max_tokens\":10,\"stream\":true,\"messages\":[{{\"role\":\"user\",\"content\":\"secret words\"}}]}}"
    );
    request("POST", "/v1/messages", &fields, &body)
}

fn streaming(tokens: u64) -> Upstream {
    let usage = format!("{{\"type\":\"message_delta\",\"usage\":{{\"output_tokens\":{tokens}}}}}");
    let delta = format!("event: message_delta\ndata: {usage}\n\n");
    // Its price is known.
    let start = start_event().replace("claude-x", "claude-opus-4-8");
    let events = start + &delta_event("hello") + &delta + &stop_event();
    Upstream::saying(EVENTS.to_owned() + &chunk(&events) + "0\r\n\r\n")
}

fn gateway(anthropic: &Upstream, glm: &Upstream, config: &str) -> Gateway {
    let mut world = World::new();
    world.var("MODEL_ORCHESTRATION_ANTHROPIC", anthropic.url());
    hire(&world, "glm", &glm.url(), "glm-5.2", KEY);
    world.write(".claude-workers/.proxy/config.json", config);
    Gateway::start(world)
}

#[test]
fn each_request_leaves_a_line_that_holds_no_content_and_no_key() {
    let (anthropic, glm) = (streaming(42), streaming(42));
    let gateway = gateway(&anthropic, &glm, "{\"roles\": {\"worker\": \"glm\"}}");
    for model in ["claude-x", "mo-worker", "nobody-knows-it"] {
        gateway.ask(&asking(&gateway, model));
    }
    let lines = lines(&gateway, 3);
    let line = |model: &str| lines.iter().find(|line| line["model_asked"] == model).unwrap().clone();
    let (own, role, unknown) = (line("claude-x"), line("mo-worker"), line("nobody-knows-it"));
    for line in [&own, &role] {
        assert_eq!((line["status"].as_u64(), line["error"].as_str()), (Some(200), None), "{line}");
        assert_eq!((&line["session_id"], &line["agent_id"]), (&"s-1".into(), &"a-1".into()));
        assert_eq!(
            (line["usage"]["input"].as_u64(), line["usage"]["output"].as_u64()),
            (Some(5), Some(42)),
            "{line}"
        );
        assert_eq!(line["message_id"], "msg_1");
    }
    assert_eq!((&own["provider"], &own["worker"]), (&"anthropic".into(), &Value::Null));
    assert_eq!(own["transforms"], serde_json::json!([]));
    assert_eq!(
        (&role["provider"], &role["worker"], &role["role"]),
        (&"glm".into(), &"glm".into(), &"worker".into())
    );
    assert_eq!(unknown["status"], 404);
    let folder = gateway.world.root().join(".proxy/audit");
    for file in std::fs::read_dir(folder).unwrap().flatten() {
        let relative = file.path().strip_prefix(gateway.world.home()).unwrap().to_owned();
        assert_eq!(gateway.world.mode(&relative), 0o600);
        let text = gateway.world.read(&relative);
        for part in ["secret words", "hello", "the-login", KEY, &gateway.token] {
            assert!(!text.contains(part), "{part}");
        }
    }
}

#[test]
fn a_request_that_ends_badly_leaves_its_line_too() {
    let anthropic = Upstream::start(|seen, wire| {
        if seen.body.ends_with(b"cut\"}") {
            wire.write_all((EVENTS.to_owned() + &chunk(&start_event())).as_bytes())?;
            return Ok(Then::Close);
        }
        // Never answers; reads until it is hung up on.
        let _ = wire.read(&mut [0]);
        Ok(Then::Close)
    });
    let gateway = Gateway::before(&anthropic);
    let body = |word: &str| format!("{{\"model\":\"claude-x\",\"stream\":true,\"word\":\"{word}\"}}");
    gateway.ask(&crate::client::messages(&body("cut")));
    let mut client = gateway.client();
    client.send(&crate::client::messages(&body("left")));
    support::wait_until("the upstream to be asked", || anthropic.seen().len() == 2);
    drop(client);
    let lines = lines(&gateway, 2);
    let line = |error: &str| lines.iter().find(|line| line["error"] == error).unwrap().clone();
    assert_eq!(line("cut")["status"], 200);
    assert_eq!(line("cut")["usage"]["input"], 5);
    assert_eq!(line("left")["status"], 499);
    // Neither counts as running any more: the one that runs is the question itself.
    let token = format!("x-mo-token: {}\r\n", gateway.token);
    support::wait_until("both to be over", || {
        gateway.ask(&request("GET", "/status", &token, "")).json()["requests"] == 1
    });
}

#[test]
fn figures_and_costs_are_there_for_who_holds_the_token() {
    let (anthropic, glm) = (streaming(42), streaming(42));
    let gateway = gateway(&anthropic, &glm, "{}");
    gateway.ask(&asking(&gateway, "claude-opus-4-8"));
    gateway.ask(&asking(&gateway, "glm-5.2"));
    lines(&gateway, 2);
    let token = format!("x-mo-token: {}\r\n", gateway.token);
    let get = |path: &str| gateway.ask(&request("GET", path, &token, ""));
    let metrics = get("/metrics");
    assert!(metrics.field("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    let text = metrics.text();
    assert!(text.contains("upstream=\"glm\"") && text.contains("upstream=\"anthropic\""), "{text}");
    let total = get("/cost").json()["today"]["total"].clone();
    assert_eq!(total["requests"], 2);
    // The worker's key is billed, the subscription's use is worth something.
    let usd = |name: &str| total[name].as_f64().unwrap();
    assert!(usd("billed_usd") > 0.0 && usd("worth_usd") > 0.0, "{total}");
    for path in ["/metrics", "/cost"] {
        assert_eq!(gateway.get(path).status, 403, "{path}");
    }
}

#[test]
fn what_was_spent_today_outlives_the_gateway() {
    let (anthropic, glm) = (streaming(42), streaming(42));
    let gateway = gateway(&anthropic, &glm, "{}");
    gateway.ask(&asking(&gateway, "glm-5.2"));
    lines(&gateway, 1);
    let Gateway { world, process, .. } = gateway;
    process.signal(15);
    process.wait().ok();
    let gateway = Gateway::start(world);
    let token = format!("x-mo-token: {}\r\n", gateway.token);
    let total = gateway.ask(&request("GET", "/cost", &token, "")).json()["today"]["total"].clone();
    assert_eq!(total["requests"], 1, "{total}");
    assert!(total["billed_usd"].as_f64().unwrap() > 0.0, "{total}");
}

#[test]
fn at_the_daily_limit_what_is_billed_is_refused_in_words() {
    let (anthropic, glm) = (streaming(9_000_000), streaming(9_000_000));
    let config = "{\"daily_limit\": {\"usd\": 1, \"then\": \"refuse\"}}";
    let gateway = gateway(&anthropic, &glm, config);
    assert_eq!(gateway.ask(&asking(&gateway, "glm-5.2")).status, 200);
    lines(&gateway, 1);
    support::wait_until("the limit to be noticed", || {
        let answer = gateway.ask(&asking(&gateway, "glm-5.2"));
        answer.status == 402 && answer.error() == "billing_error"
    });
    // A subscription is not billed by use.
    assert_eq!(gateway.ask(&asking(&gateway, "claude-x")).status, 200);
}

#[test]
fn what_a_plan_has_left_is_read_from_the_answers() {
    let fields = "anthropic-ratelimit-unified-status: allowed_warning\r\n\
                  anthropic-ratelimit-unified-5h-utilization: 0.81\r\n";
    let upstream = Upstream::saying(json("200 OK", fields, "{}"));
    let gateway = Gateway::before(&upstream);
    gateway.ask(&crate::client::messages("{\"model\":\"claude-x\"}"));
    lines(&gateway, 1);
    let token = format!("x-mo-token: {}\r\n", gateway.token);
    let status = gateway.ask(&request("GET", "/status", &token, "")).json();
    assert_eq!(status["quotas"]["anthropic"]["windows"]["5h"]["utilization"], 0.81, "{status}");
}

#[test]
fn killed_in_the_middle_of_a_stream_the_audit_still_holds_together() {
    let upstream = Upstream::start(|seen, wire| {
        if seen.body.ends_with(b"wait\"}") {
            wire.write_all((EVENTS.to_owned() + &chunk(&start_event())).as_bytes())?;
            let _ = wire.read(&mut [0]);
            return Ok(Then::Close);
        }
        wire.write_all(&json("200 OK", "", "{\"type\":\"message\"}"))?;
        Ok(Then::Keep)
    });
    let mut gateway = Gateway::before(&upstream);
    for round in 1..4 {
        for _ in 0..20 {
            gateway.ask(&crate::client::messages("{\"model\":\"claude-x\"}"));
        }
        let mut client = gateway.client();
        client.send(&crate::client::messages("{\"model\":\"claude-x\",\"a\":\"wait\"}"));
        client.read_until("message_start");
        lines(&gateway, round);
        let Gateway { world, process, .. } = gateway;
        process.kill();
        // Its announcement was left behind: the next one announces itself anew.
        std::fs::remove_file(world.root().join(".proxy/instance.json")).unwrap();
        gateway = Gateway::start(world);
        gateway.world.command(crate::gateway::PROGRAM).args(["audit", "verify"]).run().ok();
    }
}
