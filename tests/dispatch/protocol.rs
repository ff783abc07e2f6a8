//! The protocol itself: the handshake as Claude Code does it, the list of tools, and whatever a client may do wrong.

use serde_json::{Value, json};
use support::{World, wait_for, wait_until};

use crate::client::Client;

#[test]
fn a_client_that_asks_for_discovery_falls_back_to_the_handshake() {
    let world = World::new();
    let mut client = Client::start(&world);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let refused = client.ask("server/discover", json!({"_meta": meta}));
    assert!(refused["error"]["code"].is_i64() && refused.get("result").is_none(), "{refused}");
    let refused = client.ask("server/discover", json!({}));
    assert!(refused["error"]["code"].is_i64(), "{refused}");
    let greeting = client.greet();
    assert_eq!(greeting["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(greeting["result"]["serverInfo"]["name"], "mo-dispatch");
    assert!(greeting["result"]["capabilities"]["tools"].is_object(), "{greeting}");
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    client.leave().ok();
}

#[test]
fn the_tools_are_listed_with_their_limits() {
    let world = World::new();
    let mut client = Client::ready(&world);
    let listed = client.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().expect("a name")).collect();
    assert_eq!(
        names,
        [
            "dispatch_task",
            "dispatch_tasks",
            "list_tasks",
            "list_workers",
            "orchestrator_briefing",
            "task_cancel",
            "task_message",
            "task_messages",
            "task_result",
            "task_status",
        ]
    );
    let many = &tools[1];
    assert_eq!(many["_meta"]["anthropic/alwaysLoad"], true);
    assert!(many["_meta"]["anthropic/maxResultSizeChars"].as_u64() > Some(200_000));
    assert_eq!(many["inputSchema"]["properties"]["tasks"]["maxItems"], 32);
    client.leave().ok();
}

#[test]
fn what_is_no_message_is_answered_and_the_next_one_works() {
    let world = World::new();
    let mut client = Client::start(&world);
    client.raw(
        "\n\nnot json\n[1]\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n\u{1}\n{}\n",
    );
    client.greet();
    client.raw("{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"tools/call\",\"params\":\"x\"}\n");
    client.raw(&format!("{}\n", "x".repeat(17 << 20)));
    client.raw("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/never/heard/of\"}\n");
    assert!(client.ask("tools/list", json!({}))["result"]["tools"].is_array());
    let codes = || -> Vec<i64> {
        let errors = client.said().into_iter().filter(|message| message.get("error").is_some());
        errors.filter_map(|message| message["error"]["code"].as_i64()).collect()
    };
    wait_until("an answer to each", || codes().len() >= 6);
    let codes = codes();
    assert_eq!(codes.iter().filter(|code| **code == -32700).count(), 2, "{codes:?}");
    assert!(client.answered(77).is_some(), "a request that is not understood is answered by its number");
    assert!(codes.iter().all(|code| [-32700, -32600, -32602].contains(code)), "{codes:?}");
    client.leave().ok();
}

#[test]
fn unknown_tools_and_methods_are_errors_and_wrong_arguments_are_told_to_the_model() {
    let world = World::new();
    let mut client = Client::ready(&world);
    assert_eq!(client.ask("no/such/method", json!({}))["error"]["code"], -32601);
    let unknown = client.ask("tools/call", json!({"name": "dispatch\u{1b}[2J", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602);
    assert!(!unknown.to_string().contains("\\u001b"), "{unknown}");
    for (tool, arguments, said) in [
        ("dispatch_task", json!({}), "title: is missing"),
        ("dispatch_task", Value::Null, "prompt: is missing"),
        ("dispatch_tasks", json!({"tasks": [null]}), "tasks[0]: must be an object"),
        (
            "dispatch_tasks",
            json!({"tasks": [{"title": "t", "prompt": "p", "x": 1}]}),
            "tasks[0].x: there is no such",
        ),
        (
            "dispatch_task",
            json!({"title": "t", "prompt": "p", "after": ["d-nothing"]}),
            "there is no task `d-nothing`",
        ),
        ("dispatch_task", json!({"title": "t", "prompt": "p", "after": ["#1"]}), "waits for itself"),
        ("dispatch_task", json!({"title": "t", "prompt": "p", "after": ["#2"]}), "there is no task #2"),
        ("task_status", json!({"id": "d-00000000000000000000000000"}), "there is no task"),
        ("task_cancel", json!({}), "give the id of a task, or `all`"),
    ] {
        let params = json!({"name": tool, "arguments": arguments});
        let id = client.send("tools/call", &params);
        let result = client.result(id);
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
        let text = result["content"][0]["text"].as_str().expect("a text");
        assert!(text.contains(said), "{tool} {arguments}: {text}");
        assert!(result["structuredContent"]["error"].as_str().expect("the same").contains(said));
    }
    client.leave().ok();
}

#[test]
fn without_a_worker_a_task_ends_at_once_and_says_what_to_do() {
    let world = World::new();
    let mut client = Client::ready(&world);
    let result = client.call("dispatch_task", json!({"title": "t", "prompt": "p"}));
    assert_eq!(result["isError"], true);
    assert_eq!(result["structuredContent"]["status"], "failed");
    assert!(result["content"][0]["text"].as_str().expect("a text").contains("mo-worker create"), "{result}");
    let named = client.call("dispatch_task", json!({"title": "t", "prompt": "p", "worker": "glm"}));
    assert!(named["content"][0]["text"].as_str().expect("a text").contains("no worker `glm`"), "{named}");
    // It is on record, as everything that was asked for.
    let tasks = client.data("list_tasks", json!({}));
    assert_eq!(tasks["tasks"].as_array().expect("tasks").len(), 2, "{tasks}");
    assert!(client.data("list_workers", json!({}))["workers"].as_array().expect("workers").is_empty());
    client.leave().ok();
}

#[test]
fn a_worker_gives_no_work_away() {
    let world = World::new();
    let run = world.command(env!("CARGO_BIN_EXE_mo-dispatch")).var("MO_DEPTH", "1");
    let mut client = Client::of(run);
    client.greet();
    let refused = client.call("dispatch_task", json!({"title": "t", "prompt": "p"}));
    assert!(
        refused["content"][0]["text"].as_str().expect("a text").contains("is a worker itself"),
        "{refused}"
    );
    client.leave().ok();
}

#[test]
fn a_client_that_reads_nothing_does_not_stop_the_end() {
    let world = World::new();
    let run = world.command(env!("CARGO_BIN_EXE_mo-dispatch")).stdout_closed();
    let mut client = Client::of(run);
    client.send("ping", &json!({}));
    wait_for("the server to go", || (!client.server.is_alive()).then_some(()));
}

#[test]
fn a_signal_ends_it() {
    for signal in [2, 15, 1] {
        let world = World::new();
        let client = Client::ready(&world);
        client.server.signal(signal);
        client.server.wait().ok();
    }
}
