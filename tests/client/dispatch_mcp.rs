//! mo-dispatch inside the real Claude Code: the plugin registers it, the model sees its tools and calls them, and what
//! happens to the call and the session happens to the workers.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use support::provider::Request;
use support::{Provider, Running, wait_until};

use crate::accounts::{LOGIN, account, known, several};
use crate::stage::{MODEL, Stage, WORKER_KEY, dist};

/// How Claude Code names the plugin's tools.
const TOOL: &str = "mcp__plugin_model-orchestration_workers__";

impl Stage {
    /// What the tool results of the manager's session said, all of them.
    pub(crate) fn tool_results(&self) -> Vec<String> {
        self.manager.asked().iter().flat_map(Request::results).collect()
    }

    /// One turn of the manager that calls a tool of ours and repeats what it said.
    pub(crate) fn calling(&self, tool: &str, arguments: &Value) -> support::Run {
        // Two clients after each other at least, and more where accounts are asked for their usage.
        self.session(&format!("#mcp {tool} {arguments}\n#report")).patience(Duration::from_secs(240))
    }
}

/// The answer of a tool as it reached the model: the data, whichever form the client chose.
#[track_caller]
pub(crate) fn data(stage: &Stage) -> Value {
    let results = stage.tool_results();
    let parsed = results.iter().rev().find_map(|text| serde_json::from_str::<Value>(text).ok());
    assert!(parsed.is_some(), "no tool result is data: {results:#?}");
    parsed.unwrap_or_default()
}

#[test]
fn the_model_sees_the_dispatch_tools_at_once() {
    let stage = Stage::with_demo();
    // A project's own servers, in a file that no strict reader takes.
    let servers = "{\n  // mine\n  \"mcpServers\": {\"own\": {\"command\": \"true\"},},\n}\n";
    stage.world.write(".mcp.json", servers);
    stage.session("hello").run().ok();
    assert_eq!(stage.world.read(".mcp.json"), servers, "it is the user's");
    let tools: Vec<String> = stage
        .manager
        .asked()
        .iter()
        .flat_map(|request| request.tools().into_iter().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    for tool in [
        "dispatch_task",
        "dispatch_tasks",
        "task_status",
        "task_result",
        "task_cancel",
        "task_message",
        "list_tasks",
    ] {
        assert!(tools.contains(&format!("{TOOL}{tool}")), "{tool} is not in {tools:#?}");
    }
    stage.nothing_is_left();
}

#[test]
fn a_batch_of_eight_over_two_providers_and_an_account_comes_back_in_one_digest() {
    let stage = Stage::with_demo();
    let other = Provider::setup().keys([WORKER_KEY]).models([MODEL]).start();
    stage.worker("kimi", &other, WORKER_KEY);
    let plan = Provider::setup().keys([LOGIN]).start();
    account(&stage, "own", ".claude-own", &plan);
    several(&stage);
    known(&stage, "own", 10.0, "off");
    let tasks: Vec<Value> = (0..8)
        .map(|number| json!({"title": format!("part {number}\u{1b}[2J"), "prompt": format!("#write part{number}.txt x\n#say made part {number}"), "permission_mode": "bypassPermissions"}))
        .collect();
    stage.calling("dispatch_tasks", &json!({"tasks": tasks})).run().ok();
    let said = data(&stage);
    assert_eq!(said["counts"], json!({"done": 8}), "{said:#}");
    let rows = said["tasks"].as_array().expect("tasks");
    for (number, row) in rows.iter().enumerate() {
        assert_eq!(
            (&row["report"], &row["title"]),
            (&json!(format!("made part {number}")), &json!(format!("part {number} [2J")))
        );
        assert!(stage.world.path(format!("part{number}.txt")).exists());
    }
    let by = |name: &str| rows.iter().filter(|row| row["worker"] == name).count();
    assert!([by("demo"), by("kimi"), by("own")].iter().all(|count| (2..=4).contains(count)), "{said:#}");
    // Credited to the session and the very call.
    for record in stage.records() {
        assert!(record["tool_use_id"].as_str().is_some_and(|id| !id.is_empty()), "{record:#}");
        assert!(record["manager_session"].as_str().is_some_and(|id| id.len() == 36), "{record:#}");
    }
    let sent = stage.workers.asked().len() + other.asked().len() + plan.asked().len();
    assert!(sent >= 16, "two turns each: {sent}");
    let keys: BTreeSet<_> = plan.requests().into_iter().filter_map(|request| request.key).collect();
    assert_eq!(keys, BTreeSet::from([LOGIN.to_owned()]), "the account uses its own login");
    let kinds: BTreeSet<_> = stage.records().iter().map(|record| record["kind"].to_string()).collect();
    assert_eq!(kinds.len(), 2, "{kinds:?}");
    stage.nothing_is_left();
}

#[test]
fn a_long_result_of_odd_letters_reaches_the_model_whole() {
    let stage = Stage::with_demo();
    let long: String = "aä€𝄞".repeat(50_000);
    let reply = long.clone();
    stage.workers.on(move |request| {
        request.prompt().0.contains("write much").then(|| support::Answer::say(reply.clone()))
    });
    stage.calling("dispatch_task", &json!({"title": "t", "prompt": "write much"})).run().ok();
    let first = data(&stage);
    assert_eq!(
        (&first["status"], &first["report_chars"]),
        (&json!("done"), &json!(200_000)),
        "{}",
        first["error"]
    );
    let (id, mut text) = (first["id"].clone(), first["report"].as_str().expect("a report").to_owned());
    let mut next = first["report_next_offset"].clone();
    while let Some(offset) = next.as_u64() {
        stage.calling("task_result", &json!({"id": id, "offset": offset})).run().ok();
        let piece = data(&stage);
        text.push_str(piece["report"].as_str().expect("a report"));
        next = piece["report_next_offset"].clone();
    }
    assert!(text == long, "{} characters of {}", text.chars().count(), long.chars().count());
    // And in one piece where that is asked for: the client cuts nothing.
    stage.calling("task_result", &json!({"id": id})).run().ok();
    let whole = data(&stage);
    assert!(whole["report"] == json!(long), "{:?}", whole["report"].as_str().map(str::len));
}

/// A session that is spoken to in frames and stays open.
pub(crate) fn open_session(stage: &Stage, variables: &[(&str, &str)]) -> Running {
    let words = [
        "-p",
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        "--verbose",
        "--permission-mode",
        "bypassPermissions",
    ];
    let session = stage.claude().arg("--plugin-dir").arg(dist()).args(words).stdin_held_open();
    variables.iter().fold(session, |session, (name, value)| session.var(*name, *value)).spawn()
}

pub(crate) fn say(session: &mut Running, prompt: &str) {
    let frame = json!({"type": "user", "message": {"role": "user", "content": prompt}, "parent_tool_use_id": null, "session_id": ""});
    session.write(format!("{frame}\n").as_bytes());
}

fn hanging(stage: &Stage, count: usize) -> String {
    let tasks: Vec<Value> =
        (0..count).map(|number| json!({"title": format!("{number}"), "prompt": "#hang"})).collect();
    let _ = stage;
    format!("#mcp dispatch_tasks {}\n#report", json!({"tasks": tasks}))
}

/// Waits until so many workers have asked their provider.
#[track_caller]
fn at_work(stage: &Stage, count: usize) {
    wait_until("the workers to be at work", || {
        let asked = stage.workers.asked();
        asked.iter().filter(|request| request.prompt().0.contains("#hang")).count() >= count
    });
}

#[test]
fn an_interrupt_ends_the_workers_and_the_session_goes_on() {
    let stage = Stage::with_demo();
    let mut session = open_session(&stage, &[]);
    say(&mut session, &hanging(&stage, 2));
    at_work(&stage, 2);
    session.write(
        b"{\"type\":\"control_request\",\"request_id\":\"r1\",\"request\":{\"subtype\":\"interrupt\"}}\n",
    );
    let ended = || stage.records().iter().filter(|record| record["status"] == "cancelled").count() == 2;
    wait_until("both to be cancelled", ended);
    say(&mut session, "#say still here");
    session.wait_for_stdout("still here");
    session.close_stdin();
    session.wait();
    stage.nothing_is_left();
}

#[test]
fn a_session_that_is_killed_leaves_no_worker() {
    let stage = Stage::with_demo();
    let mut session = open_session(&stage, &[]);
    say(&mut session, &hanging(&stage, 3));
    at_work(&stage, 3);
    session.kill();
    stage.nothing_is_left();
    let records = stage.records();
    assert!(records.iter().all(|record| record["status"] == "cancelled"), "{records:#?}");
}

#[test]
fn a_session_that_is_told_to_end_leaves_no_worker_but_the_detached_one() {
    let stage = Stage::with_demo();
    let mut session = open_session(&stage, &[]);
    let detached = json!({"title": "stays", "prompt": "#hang", "detach": true});
    let prompt = format!("#mcp dispatch_task {detached}\n{}", hanging(&stage, 1));
    say(&mut session, &prompt);
    at_work(&stage, 2);
    session.signal(15);
    session.wait();
    let named =
        |title: &str| stage.records().into_iter().find(|record| record["title"] == title).expect("a record");
    wait_until("the one to end", || named("0")["status"] == "cancelled");
    assert_eq!(named("stays")["status"], "running");
    let id = named("stays")["id"].as_str().expect("an id").to_owned();
    // A later session finds it, and can end it.
    stage.calling("list_tasks", &json!({"state": "open"})).run().ok();
    let rows = data(&stage);
    assert_eq!(
        (&rows["tasks"][0]["id"], &rows["tasks"][0]["state"]),
        (&json!(id), &json!("adopted")),
        "{rows:#}"
    );
    stage.calling("task_cancel", &json!({"id": id})).run().ok();
    assert_eq!(named("stays")["status"], "cancelled");
    stage.nothing_is_left();
}

#[test]
fn a_call_in_the_background_is_delivered_when_it_ends() {
    let stage = Stage::with_demo();
    let mut session = open_session(
        &stage,
        &[("CLAUDE_AUTO_BACKGROUND_TASKS", "1"), ("CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS", "1500")],
    );
    // It ends when the test lets it, and not before, with words that stand in no prompt.
    let slowly = "#bash until [ -e open ]; do sleep 0.1; done; echo delivered $((40 + 2))\n#report";
    let call = json!({"title": "slow", "prompt": slowly, "permission_mode": "bypassPermissions"});
    say(&mut session, &format!("#mcp dispatch_task {call}\n#say meanwhile\n#say heard"));
    session.wait_for_stdout("meanwhile");
    let answered = stage.tool_results().iter().any(|result| result.contains("delivered 42"));
    assert!(!answered, "the call did not go to the background");
    stage.world.write("open", "");
    wait_until("the result to reach the model", || stage.manager_read().contains("delivered 42"));
    session.close_stdin();
    session.wait();
    assert_eq!(stage.record()["status"], "done");
    stage.nothing_is_left();
}
