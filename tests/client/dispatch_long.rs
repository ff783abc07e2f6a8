//! A task that says nothing for long, through the real Claude Code on both sides: its call lives, and its result arrives.

use std::time::Duration;

use serde_json::{Value, json};

use crate::dispatch_mcp::data;
use crate::stage::Stage;

/// How long, in seconds, and how long in `make soak`, which sets the first variable; the second says otherwise.
const SILENCE: (&str, &str, u64, u64) = ("MO_SOAK", "MO_SILENT_SECONDS", 45, 7_200);

#[expect(clippy::disallowed_methods, reason = "these are for the test, not for a program of ours")]
fn silence() -> u64 {
    let (soak, seconds, short, long) = SILENCE;
    let usual = if std::env::var_os(soak).is_some() { long } else { short };
    let said = std::env::var_os(seconds).map(|said| said.to_string_lossy().parse());
    said.unwrap_or(Ok(usual)).expect("MO_SILENT_SECONDS is a number")
}

#[test]
fn progress_keeps_a_silent_call_alive_past_the_clients_idle_limit_soak() {
    let seconds = silence();
    let stage = Stage::with_demo();
    // One command that long is more than Claude Code lets a worker wait for, unless its settings say so.
    let milliseconds = (seconds + 600) * 1_000;
    let file = ".claude-workers/demo/settings.json";
    let mut settings: Value = serde_json::from_str(&stage.world.read(file)).expect("JSON");
    settings["env"]["BASH_MAX_TIMEOUT_MS"] = json!(milliseconds.to_string());
    stage.world.write(file, settings.to_string());
    let command = format!("for second in $(seq {seconds}); do sleep 1; done; echo over > over");
    let silent = json!({"command": command, "description": "work in silence", "timeout": milliseconds});
    let task = json!({
        "title": "slow",
        "prompt": format!("#tool Bash {silent}\n#say late"),
        "permission_mode": "bypassPermissions",
        "timeout_minutes": (seconds / 60 + 10).min(480),
    });
    // The client looks every 30 seconds, and gives a call up that said nothing for 25; a word comes every 15.
    let run = stage.calling("dispatch_task", &task).var("CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT", "25000");
    run.patience(Duration::from_secs(seconds + 600)).run().ok();
    let said = data(&stage);
    let told = (&said["status"], &said["report"], said["seconds"].as_u64() >= Some(seconds));
    assert_eq!(told, (&json!("done"), &json!("late"), true), "{:#?}", stage.tool_results());
    assert!(stage.world.path("over").exists(), "the command ran to its end");
    stage.nothing_is_left();
}
