//! Which model was really at work: what an agent names, what the client asked for, what the upstream answered as.

use serde_json::Value;
use support::{World, wait_for, wait_until};

use crate::client::{Client, request};
use crate::gateway::{Gateway, PROGRAM};
use crate::staff::hire;
use crate::upstream::{Upstream, json};

fn answering_as(model: &str) -> Upstream {
    let usage = "{\"input_tokens\":1,\"output_tokens\":1}";
    let body = format!("{{\"id\":\"m\",\"type\":\"message\",\"model\":\"{model}\",\"usage\":{usage}}}");
    Upstream::saying(json("200 OK", "", &body))
}

/// The lines of the audit, once there are so many.
fn audit(world: &World, count: usize) -> Vec<Value> {
    wait_for("the audit to be written", || {
        let shown = world.command(PROGRAM).args(["audit", "--json"]).run().ok();
        let lines: Vec<Value> =
            shown.text().lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        (lines.len() >= count).then_some(lines)
    })
}

fn asking(token: &str, agent: &str, body: &str) -> Vec<u8> {
    let fields = format!(
        "authorization: Bearer sk-ant-oat01-x\r\nx-mo-token: {token}\r\nx-claude-code-session-id: s-1\r\n{agent}"
    );
    request("POST", "/v1/messages", &fields, body)
}

#[test]
fn an_upstream_that_answers_as_another_model_is_told() {
    let (anthropic, glm) = (answering_as("claude-x-20260101"), answering_as("glm-4.7-flash"));
    let mut world = World::new();
    world.var("MODEL_ORCHESTRATION_ANTHROPIC", anthropic.url());
    hire(&world, "glm", &glm.url(), "glm-5.2", "0123456789abcdef.half_XYZW");
    let gateway = Gateway::start(world);
    for (model, answers_as) in
        [("claude-x", "claude-x-20260101"), ("glm-5.2", "glm-4.7-flash"), ("mo-glm", "glm-4.7-flash")]
    {
        let asked = asking(&gateway.token, "", &format!("{{\"model\":\"{model}\",\"messages\":[]}}"));
        let answer = gateway.ask(&asked);
        // The name that the upstream gave itself is never rewritten.
        assert_eq!((answer.status, &answer.json()["model"]), (200, &answers_as.into()));
        let told = (model == "mo-glm").then_some("glm-5.2");
        assert_eq!(answer.field("x-mo-model"), told, "{}", answer.head);
    }
    let lines = audit(&gateway.world, 3);
    // A date behind the name makes no other model.
    assert_eq!(
        (&lines[0]["model_sent"], &lines[0]["model_used"]),
        (&Value::Null, &"claude-x-20260101".into())
    );
    for line in &lines[1..] {
        assert_eq!(
            (&line["model_sent"], &line["model_used"]),
            (&"glm-5.2".into(), &"glm-4.7-flash".into()),
            "{line}"
        );
    }
    let said = "glm was asked for glm-5.2 and answered as glm-4.7-flash, 2 times";
    gateway.world.command(PROGRAM).arg("status").run().ok().stdout_has(said);
    gateway.world.command(PROGRAM).arg("cost").run().ok().stderr_has(said);
    let metrics =
        gateway.ask(&request("GET", "/metrics", &format!("x-mo-token: {}\r\n", gateway.token), "")).text();
    assert!(metrics.contains("mo_proxy_other_model_total{upstream=\"glm\",by=\"upstream\"} 2"), "{metrics}");
    gateway.process.signal(15);
    let said = gateway.process.wait().ok().errors();
    assert_eq!(said.matches("answered as glm-4.7-flash").count(), 1, "{said}");
}

#[test]
fn a_client_that_ignores_what_an_agent_names_is_told() {
    let anthropic = answering_as("claude-x");
    let mut world = World::new();
    world.var("MODEL_ORCHESTRATION_ANTHROPIC", anthropic.url());
    world.fake("claude", "echo ran");
    world.write(".claude-workers/.proxy/config.json", "{\"listen\": \"127.0.0.1:0\"}");
    world.write(".claude/agents/own.md", "---\nname: own\nmodel: sonnet\n---\nYou are my own.\n");
    world.write("p/.git/HEAD", "");
    world.write(
        "p/.claude/agents/finder.md",
        "---\nname: finder\nmodel: mo-explorer\n---\n\nYou \"find\".\nQuickly.\n",
    );
    world.write("p/sub/x", "");
    world
        .command(PROGRAM)
        .args(["exec", "--", "claude"])
        .cwd(world.path("p/sub"))
        .run()
        .ok()
        .stdout_is("ran\n");
    let instance: Value =
        serde_json::from_str(&world.read(".claude-workers/.proxy/instance.json")).expect("an instance");
    let token = world.read(".claude-workers/.proxy/token");
    let mut client = Client::connect(instance["address"].as_str().expect("an address"));
    let agent = "x-claude-code-agent-id: a-1\r\n";
    let body = |model: &str, prompt: &str| {
        let system = serde_json::json!([{"type": "text", "text": "billing"},
            {"type": "text", "text": format!("{prompt}\n\nMessages from the agent that launched you …")}]);
        format!("{{\"model\":\"{model}\",\"system\":{system},\"messages\":[]}}")
    };
    for (agent, model, prompt) in [
        (agent, "claude-opus-5-5", "You \"find\".\nQuickly."),
        (agent, "claude-opus-5-5", "You are my own."),
        (agent, "claude-sonnet-5", "You are my own."),
        (agent, "claude-opus-5-5", "You are somebody else's."),
        ("", "claude-opus-5-5", "You \"find\".\nQuickly."),
    ] {
        assert_eq!(client.ask(&asking(&token, agent, &body(model, prompt))).status, 200);
    }
    let lines = audit(&world, 5);
    let told: Vec<_> =
        lines.iter().map(|line| (line["agent"].as_str(), line["model_named"].as_str())).collect();
    assert_eq!(
        told,
        [
            (Some("finder"), Some("mo-explorer")),
            (Some("own"), Some("sonnet")),
            (Some("own"), None),
            (None, None),
            (None, None)
        ]
    );
    let of_finder = world.command(PROGRAM).args(["audit", "export", "--format", "csv", "--agent", "finder"]);
    of_finder.run().ok().stdout_has(",finder,mo-explorer,claude-opus-5-5\n");
    let status = world.command(PROGRAM).arg("status").run().ok();
    status.stdout_has("agent finder names mo-explorer; the client asked for claude-opus-5-5, once");
    let log = world.read(".claude-workers/.log/mo-proxy.log");
    assert_eq!(log.matches("agent own names sonnet").count(), 1, "{log}");
    world.command(PROGRAM).args(["stop", "--now"]).run().ok();
    wait_until("the gateway to be gone", || !world.root().join(".proxy/instance.json").exists());
}
