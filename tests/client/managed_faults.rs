//! Managed mode with a worker that misbehaves: it dies, floods, closes its input, ignores signals, leaves daemons. What
//! the real client cannot be made to do, a script in its place does.

use std::time::Duration;

use serde_json::{Value, json};
use support::provider::Request;
use support::{Run, wait_for, wait_until};

use crate::stage::Stage;

/// The end of a turn, as the client tells it.
const OVER: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"done"}"#;
/// More memory than this nobody needs to look at a flood; a debug build's own needs included.
const MOST_KIB: u64 = 24 << 10;

impl Stage {
    /// A task for a worker whose client is this script.
    fn fake(&self, script: &str, words: &[&str]) -> Run {
        let client = self.world.fake("claude-fake", script);
        self.task("x").var("CLAUDE_CODE_EXECPATH", client).args(words.iter().copied()).arg("--json")
    }
}

#[track_caller]
fn status(run: Run, code: i32) -> Value {
    run.run().code(code).json()
}

#[test]
fn a_worker_that_is_killed_is_told_and_its_work_stays() {
    let stage = Stage::with_demo();
    let running = stage.task("#bash touch made\n#hang").arg("--json").spawn();
    stage
        .workers
        .wait_for("the second request", |one: &Request| one.is_message() && !one.results().is_empty());
    let pid = stage.record()["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).expect("a pid");
    let pid = rustix::process::Pid::from_raw(pid).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it runs");
    let said: Value = running.wait().code(1).json();
    assert_eq!((&said["status"], &said["error"]["kind"]), (&json!("failed"), &json!("exit")), "{said:#}");
    assert!(said["error"]["text"].as_str().is_some_and(|text| text.contains('9')), "{said:#}");
    assert!(stage.world.path("made").exists());
    stage.nothing_is_left();
}

#[test]
fn a_daemon_does_not_outlive_the_task() {
    let stage = Stage::with_demo();
    let prompt = "#bash (setsid sleep 1000 > /dev/null 2>&1 &) ; echo started\n#say done";
    let said: Value = stage.task(prompt).arg("--json").run().ok().json();
    assert_eq!(said["status"], "done");
    stage.nothing_is_left();
    // Unless the task is about one.
    stage.task(prompt).arg("--keep-background").run().ok();
    assert_eq!(stage.world.processes().len(), 1, "{:#?}", stage.world.processes());
}

#[test]
fn a_flood_costs_no_memory() {
    let stage = Stage::with_demo();
    let flood = format!(
        "read task; head -c 50000000 /dev/zero; echo; yes '{{\"type\":\"weather\"}}' | head -c 50000000; \
         head -c 5000000 /dev/zero >&2; touch flooded; while test ! -f go; do sleep 0.05; done; echo; echo '{OVER}'; cat > /dev/null"
    );
    let running = stage.fake(&flood, &[]).spawn();
    wait_until("the flood", || stage.world.path("flooded").exists());
    let text = std::fs::read_to_string(format!("/proc/{}/status", running.id())).expect("its status");
    let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("its peak");
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(peak < MOST_KIB, "{peak} KiB");
    stage.world.write("go", "");
    let said: Value = running.wait().ok().json();
    assert_eq!((&said["status"], &said["summary"]), (&json!("done"), &json!("done")), "{said:#}");
}

#[test]
fn a_flood_is_ended_at_its_limit() {
    let stage = Stage::with_demo();
    let said = status(stage.fake("read task; yes", &["--max-output-bytes", "10MB"]), 75);
    assert_eq!(said["status"], "output-limit", "{said:#}");
    stage.nothing_is_left();
}

#[test]
fn a_worker_that_closes_its_input_harms_nobody() {
    let stage = Stage::with_demo();
    let script = format!("read task; exec < /dev/null; sleep 0.1; echo '{OVER}'; sleep 0.2");
    assert_eq!(status(stage.fake(&script, &[]), 0)["status"], "done");
    // It cannot be sent back in the same process, so another one goes on.
    let script = format!(
        "echo \"$*\" >> calls; read task; exec < /dev/null; sleep 0.1; echo '{OVER}'; while test ! -f over; do sleep 0.05; done"
    );
    let check = "test \"$(wc -l < calls)\" -gt 1 || exit 1; touch over";
    let said = status(stage.fake(&script, &["--check", check, "--timeout", "60s"]), 0);
    assert_eq!(said["status"], "done", "{said:#}");
    let calls = stage.world.read("calls");
    let (first, second) = calls.trim().split_once('\n').expect("two calls");
    assert!(first.starts_with("--session-id ") && second.starts_with("--resume "), "{calls}");
    assert_eq!(first.split(' ').nth(1), second.split(' ').nth(1), "the same session");
}

#[test]
fn a_used_up_quota_is_waited_for_where_that_is_asked_for() {
    let stage = Stage::with_demo();
    let refused = r#"{"type":"assistant","parent_tool_use_id":null,"error":"rate_limit","api_error":"usage_limit_reached","is_api_error_message":true,"api_error_status":429,"api_error_params":{"rate_limit_info":{"resetsAt":RESET}},"message":{"model":"<synthetic>","content":[]}}"#;
    let failed = r#"{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":429,"result":"limit"}"#;
    let refused = refused.replace("RESET", "'$(($(date +%s) + 1))'");
    let script =
        format!("read task; echo '{refused}'; echo '{failed}'; read again; echo '{OVER}'; cat > /dev/null");
    // No time at work passes while it waits.
    let said = status(stage.fake(&script, &["--wait-quota", "--timeout", "5s"]), 0);
    let attempts: Vec<&Value> =
        said["attempts"].as_array().expect("attempts").iter().map(|one| &one["status"]).collect();
    assert_eq!(attempts, [&json!("quota"), &json!("done")], "{said:#}");
    let states: Vec<Value> = stage.events().into_iter().filter(|event| event["kind"] == "state").collect();
    assert!(states.iter().any(|event| event["status"] == "queued"), "{states:#?}");
    // Without the flag it ends, and tells when.
    let stage = Stage::with_demo();
    let said = status(stage.fake(&script, &[]), 69);
    assert!(said["resets_at"].as_str().is_some_and(|at| at.starts_with("20")), "{said:#}");
}

#[test]
fn a_worker_that_ends_at_once_says_why() {
    let stage = Stage::with_demo();
    let said = status(stage.fake("echo 'no such flag' >&2; exit 7", &[]), 1);
    assert_eq!((&said["status"], &said["error"]["kind"]), (&json!("failed"), &json!("exit")), "{said:#}");
    assert!(said["error"]["text"].as_str().is_some_and(|text| text.contains("no such flag")), "{said:#}");
}

#[test]
fn a_worker_that_ignores_signals_is_killed() {
    let stage = Stage::with_demo();
    let script = "trap '' TERM INT HUP; touch up; while :; do sleep 1000; done";
    let started = std::time::Instant::now();
    let said = status(stage.fake(script, &["--timeout", "1s"]), 124);
    assert_eq!(said["status"], "timeout", "{said:#}");
    assert!(started.elapsed() < Duration::from_secs(40), "{:?}", started.elapsed());
    stage.nothing_is_left();
}

#[test]
fn what_it_says_is_never_trusted() {
    let stage = Stage::with_demo();
    let lines = [
        "not json",
        r#"{"type":"assistant","message":null}"#,
        r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"\u001b[2Jrm"}}}"#,
        r#"{"type":"assistant","message":{"id":"m","model":"\u001b]0;x","content":[{"type":"text","text":"\u001b[2Jhi\u202e"}]}}"#,
    ];
    let lines = lines.map(|line| format!("echo '{line}'")).join("; ");
    let script =
        format!("read task; {lines}; read answer; echo \"$answer\" > answer; echo '{OVER}'; cat > /dev/null");
    let output = stage.fake(&script, &[]).run().code(1);
    let said: Value = output.json();
    assert_eq!(said["denials"], json!([{"tool": "Bash", "what": "[2Jrm"}]), "{said:#}");
    assert!(!output.whole().contains('\u{1b}') && !output.whole().contains('\u{202e}'));
    let answer = wait_for("the answer", || serde_json::from_str::<Value>(&stage.world.read("answer")).ok());
    assert_eq!(
        (&answer["response"]["request_id"], &answer["response"]["response"]["behavior"]),
        (&json!("r"), &json!("deny"))
    );
}
