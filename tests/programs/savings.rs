//! What the hooks say about savings, and when: after a dispatch has ended, once, and never a false figure.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use shared::lock::Lock;
use shared::process::start_time;
use support::{Run, World};

const MANAGER: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const USAGE: &str = ".claude-workers/.usage";

fn hook(world: &World, event: &str) -> Run {
    let name = match event {
        "post-tool-use" => "PostToolUse",
        "user-prompt-submit" => "UserPromptSubmit",
        "stop" => "Stop",
        _ => "SessionStart",
    };
    let input = json!({
        "session_id": MANAGER, "transcript_path": "/t.jsonl", "cwd": "/", "hook_event_name": name,
        "source": "startup", "tool_name": "Bash", "tool_input": {"command": "mo-spawn glm -p hi"},
        "tool_response": {"stdout": "\"session_id\":\"other\""},
    });
    // The client writes the session first.
    let input = input.to_string().replacen('{', &format!("{{\"session_id\":\"{MANAGER}\","), 1);
    let input = input.replacen(&format!(",\"session_id\":\"{MANAGER}\""), "", 1);
    world.command(env!("CARGO_BIN_EXE_mo-hook")).arg(event).stdin(input)
}

fn said(world: &World, event: &str) -> Option<String> {
    let output = hook(world, event).run().ok().stderr_is("");
    if output.stdout.is_empty() {
        return None;
    }
    output.json::<Value>()["systemMessage"].as_str().map(str::to_owned)
}

fn row(id: &str, session: &str, model: &str, output: u64) -> String {
    let message = json!({"id": id, "model": model, "stop_reason": "end_turn",
        "usage": {"input_tokens": 0, "output_tokens": output}});
    let row = json!({"type": "assistant", "uuid": id, "timestamp": "2026-12-01T11:00:00.000Z", "cwd": "/w",
        "sessionId": session, "message": message});
    format!("{row}\n")
}

fn worker_session(number: u32) -> String {
    format!("bbbbbbbb-0000-4000-8000-{number:012}")
}

/// A worker's work on disk, and its record.
fn dispatch(world: &World, number: u32, worker: &str, output: u64, more: &Value) {
    let session = worker_session(number);
    world.write(
        format!(".claude-workers/{worker}/projects/-w/{session}.jsonl"),
        row(&format!("w{number}"), &session, "glm-5.2", output),
    );
    let mut record = json!({"version": 1, "id": format!("d-{number}"), "worker": worker, "manager_session": MANAGER,
        "worker_sessions": [session], "status": "done", "started_at": "2026-12-01T10:59:00Z"});
    for (name, value) in more.as_object().unwrap() {
        record[name] = value.clone();
    }
    world.write(format!(".claude-workers/.dispatch/2026-12/d-{number}.json"), record.to_string());
    let link = world.path(format!(".claude-workers/.dispatch/by-session/{MANAGER}/d-{number}"));
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    let _ = std::os::unix::fs::symlink(format!("../../2026-12/d-{number}.json"), link);
}

/// A manager that used 123,000 tokens.
fn world() -> World {
    let world = World::new();
    let own = row("m1", MANAGER, "claude-opus-5-5", 123_000);
    world.write(format!(".claude/projects/-w/{MANAGER}.jsonl"), own);
    world
}

/// A process that lives as long as this test.
fn alive() -> Value {
    let pid = std::process::id();
    json!({"pid": pid, "start_time": start_time(pid)})
}

#[test]
fn a_dispatch_that_has_ended_is_told_once() {
    let world = world();
    assert_eq!(said(&world, "post-tool-use"), None);
    assert!(!world.path(".claude-workers").exists(), "nothing was made for a session without workers");
    dispatch(&world, 1, "glm", 35_000, &json!({}));
    let notice = "model-orchestration: workers handled 22% of this session's tokens (glm 35k vs Claude 123k)";
    assert_eq!(said(&world, "post-tool-use").as_deref(), Some(notice));
    for event in ["post-tool-use", "user-prompt-submit", "stop"] {
        assert_eq!(said(&world, event), None, "{event}");
    }
    dispatch(&world, 2, "kimi", 42_000, &json!({"status": "failed"}));
    assert_eq!(
        said(&world, "post-tool-use").as_deref(),
        Some(
            "model-orchestration: workers handled 39% of this session's tokens (kimi 42k, glm 35k vs Claude 123k)"
        )
    );
    assert_eq!(
        said(&world, "session-start").as_deref(),
        Some("model-orchestration: workers have handled 77k tokens (39% of the total across 1 session)")
    );
}

#[test]
fn a_dispatch_in_the_background_is_told_when_it_ends() {
    for event in ["post-tool-use", "user-prompt-submit", "stop"] {
        let world = world();
        let running = json!({"status": "running", "supervisor": alive()});
        dispatch(&world, 1, "glm", 10, &running);
        for event in ["post-tool-use", "user-prompt-submit", "stop"] {
            assert_eq!(said(&world, event), None, "at its launch, {event}");
        }
        assert!(!world.path(USAGE).exists(), "nothing is counted for it either");
        dispatch(&world, 1, "glm", 35_000, &json!({}));
        let notice = said(&world, event).unwrap();
        assert!(notice.contains("(glm 35k vs Claude 123k)"), "{event}: {notice}");
        assert_eq!(said(&world, event), None);
    }
}

#[test]
fn a_dispatch_whose_processes_vanished_has_ended() {
    let world = world();
    let gone = json!({"status": "running", "pid": 1, "start_time": "long ago",
        "supervisor": {"pid": 1, "start_time": "long ago"}});
    dispatch(&world, 1, "glm", 35_000, &gone);
    assert!(said(&world, "stop").unwrap().contains("glm 35k"));
}

#[test]
fn a_dispatch_without_a_token_is_not_worth_a_word() {
    let world = world();
    dispatch(&world, 1, "glm", 0, &json!({"status": "failed"}));
    assert_eq!(said(&world, "post-tool-use"), None);
    assert_eq!(said(&world, "session-start"), None);
    let told: Vec<PathBuf> =
        world.files().into_iter().filter(|path| path.starts_with(format!("{USAGE}/told"))).collect();
    assert_eq!(told.len(), 1, "it is not looked at again");
}

#[test]
fn switched_off_or_inside_a_worker_nothing_is_said_or_counted() {
    let world = world();
    dispatch(&world, 1, "glm", 35_000, &json!({}));
    for (name, value) in [("MODEL_ORCHESTRATION_SAVINGS", "off"), ("MO_DEPTH", "1")] {
        for event in ["post-tool-use", "user-prompt-submit", "stop"] {
            hook(&world, event).var(name, value).run().ok().stdout_is("").stderr_is("");
        }
    }
    assert!(!world.path(USAGE).exists());
    let start = hook(&world, "session-start").var("MODEL_ORCHESTRATION_SAVINGS", "off").run().ok();
    assert_eq!(start.json::<Value>()["systemMessage"], Value::Null);
}

#[test]
fn a_ledger_that_another_process_holds_is_caught_up_by_the_next_event() {
    let world = world();
    dispatch(&world, 1, "glm", 35_000, &json!({}));
    let held = Lock::try_acquire(&{
        fs::create_dir_all(world.path(USAGE)).unwrap();
        world.path(USAGE).join("lock")
    });
    let held = held.unwrap().unwrap();
    assert_eq!(said(&world, "post-tool-use"), None);
    drop(held);
    assert!(said(&world, "user-prompt-submit").unwrap().contains("glm 35k"));
}

#[test]
fn a_long_history_is_left_to_rebuild_and_the_start_line_says_so() {
    let world = world();
    // More than a hook counts the first time, in several files.
    let filler = format!("{{\"type\":\"user\",\"text\":\"{}\"}}\n", "x".repeat(1 << 20));
    for number in 0..12 {
        world.write(format!(".claude/projects/-w/old-{number}.jsonl"), &filler);
    }
    dispatch(&world, 1, "glm", 35_000, &json!({}));
    let not_counted = "not all counted yet; run `mo-ledger rebuild` once";
    assert!(said(&world, "session-start").unwrap().contains(not_counted));
    assert_eq!(said(&world, "post-tool-use"), None);
    assert!(world.read(format!("{USAGE}/ledger.json")).contains("\"catching_up\": true"));
    assert_eq!(said(&world, "post-tool-use"), None);
    assert!(said(&world, "session-start").unwrap().contains(not_counted));
    world.command(env!("CARGO_BIN_EXE_mo-ledger")).args(["rebuild", "--quiet"]).run().ok();
    assert!(said(&world, "stop").unwrap().contains("glm 35k"));
    assert!(said(&world, "session-start").unwrap().contains("workers have handled 35k tokens"));
}

#[test]
fn of_many_hooks_at_once_one_speaks() {
    let world = world();
    dispatch(&world, 1, "glm", 35_000, &json!({}));
    let running: Vec<_> = (0..8).map(|_| hook(&world, "post-tool-use").spawn()).collect();
    let spoke = running.into_iter().map(|hook| hook.wait().ok()).filter(|output| !output.stdout.is_empty());
    let spoke = spoke.count();
    // All may have found the ledger held; the next event speaks then.
    let later = usize::from(said(&world, "stop").is_some());
    assert_eq!(spoke + later, 1);
}

#[test]
fn a_hostile_name_or_a_broken_record_is_harmless() {
    let world = world();
    dispatch(&world, 1, "glm", 35_000, &json!({}));
    let by_session = format!(".claude-workers/.dispatch/by-session/{MANAGER}");
    world.write(format!("{by_session}/d-broken"), "{");
    world.write(format!("{by_session}/\u{1b}[31m"), "");
    fs::create_dir(world.path(format!("{by_session}/d-folder"))).unwrap();
    assert!(said(&world, "post-tool-use").unwrap().contains("(glm 35k vs Claude 123k)"));
    assert_eq!(said(&world, "post-tool-use"), None);
    for session in ["../../..", "", "a/b", "\u{1b}"] {
        let input = json!({ "session_id": session }).to_string();
        let run = world.command(env!("CARGO_BIN_EXE_mo-hook")).arg("stop").stdin(input).run();
        run.ok().stdout_is("").stderr_is("");
    }
}

/// The command on a terminal of its own; what it writes, and what `keys` are typed.
fn on_a_terminal(world: &World, command: &str) -> Run {
    let script = world.command("script");
    let words = if cfg!(target_os = "linux") {
        ["-qfec", command, "/dev/null"].map(str::to_owned).to_vec()
    } else {
        ["-q", "/dev/null", "/bin/sh", "-c", command].map(str::to_owned).to_vec()
    };
    script.args(words).stdin_held_open()
}

#[test]
fn a_live_table_ends_with_a_key_and_leaves_the_terminal_as_it_was() {
    let ledger = env!("CARGO_BIN_EXE_mo-ledger");
    let command = format!("stty -a > before; '{ledger}' watch --by worker; echo code $?; stty -a > after");
    for key in ["q", "\u{3}"] {
        let world = world();
        let mut running = on_a_terminal(&world, &command).spawn();
        running.wait_for_stdout("q ends");
        assert!(running.stdout().contains("123,000"), "{}", running.stdout());
        // What is written while it runs shows up.
        dispatch(&world, 1, "glm", 35_000, &json!({}));
        running.wait_for_stdout("158,000");
        running.write(key.as_bytes());
        let output = running.wait().ok().stdout_has("code 0");
        let text = output.text();
        let (entered, left) = (text.find("\u{1b}[?1049h").unwrap(), text.rfind("\u{1b}[?1049l").unwrap());
        assert!(entered < left && text.rfind("\u{1b}[?25h") > text.rfind("\u{1b}[?25l"));
        assert_eq!(world.read("before"), world.read("after"));
    }
    let world = world();
    world
        .command(ledger)
        .arg("watch")
        .run()
        .code(64)
        .stderr_has("needs a terminal")
        .stderr_has("mo-ledger report");
}
