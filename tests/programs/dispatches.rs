//! mo-spawn's sub-commands over dispatches that were started before, with a Claude Code that is only a script.

use serde_json::Value;
use support::wait_for;
use support::{Run, World};

use crate::identity::make;

fn spawn(world: &World, words: &[&str]) -> Run {
    // Records are made and read at the true time: processes are compared by theirs.
    world
        .command(env!("CARGO_BIN_EXE_mo-spawn"))
        .args(words.iter().copied())
        .without("MODEL_ORCHESTRATION_NOW")
}

/// A world whose worker `w` runs this script.
fn world(script: &str) -> World {
    let world = World::new();
    make(&world, "w", true);
    world.fake("claude", script);
    world
}

fn listed(world: &World) -> Vec<Value> {
    let list: Value = spawn(world, &["ps", "--json", "--all"]).run().ok().json();
    list["dispatches"].as_array().unwrap().clone()
}

/// The id of the only dispatch, as soon as its Claude Code runs.
fn running(world: &World) -> String {
    wait_for("a dispatch with a process", || {
        let list = listed(world);
        let first = list.first().filter(|record| record["pid"].is_u64())?;
        Some(first["id"].as_str().unwrap().to_owned())
    })
}

#[test]
fn what_runs_is_listed_stopped_and_waited_for() {
    let world = world("echo started; sleep 1000 & wait");
    let mut run = spawn(&world, &["--title", "a \u{1b}[31mred\u{202e} title", "w", "-p", "x"]).spawn();
    run.wait_for_stdout("started");
    let id = running(&world);
    spawn(&world, &["ps"])
        .run()
        .ok()
        .stdout_has("running")
        .stdout_has("a [31mred title")
        .stdout_lacks("\u{1b}");
    spawn(&world, &["wait", "--timeout", "0", &id]).run().code(124);
    let waiting = spawn(&world, &["wait", &id]).spawn();
    // The beginning of an id is enough.
    spawn(&world, &["stop", &id[..20]]).run().ok().stdout_is(&format!("{id} cancelled\n"));
    run.wait().code(143);
    waiting.wait().code(130).stdout_is(&format!("{id} cancelled\n"));
    assert!(world.processes().is_empty(), "{:?}", world.processes());
    // What has ended is told again, and stays as it is.
    spawn(&world, &["stop", &id]).run().ok().stdout_is(&format!("{id} cancelled\n"));
    spawn(&world, &["ps"]).run().ok().stdout_has("cancelled");
}

#[test]
fn a_number_that_was_given_again_is_never_signalled() {
    let world = world("true");
    spawn(&world, &["w", "-p", "x"]).run().ok();
    let bystander = world.command("/bin/sleep").arg("1000").spawn();
    let file = world.files().into_iter().find(|path| path.to_string_lossy().contains(".dispatch/2")).unwrap();
    let mut record: Value = serde_json::from_slice(&world.bytes(&file)).unwrap();
    record["status"] = "running".into();
    record["pid"] = bystander.id().into();
    record["supervisor"] = serde_json::json!({"pid": bystander.id(), "start_time": "1"});
    record["start_time"] = "1".into();
    world.write(&file, record.to_string());
    let id = record["id"].as_str().unwrap();
    spawn(&world, &["stop", id]).run().ok().stdout_is(&format!("{id} lost\n"));
    assert!(support::run::is_running(bystander.id()));
}

#[test]
fn logs_show_a_transcript_and_follow_it_to_the_end() {
    let row = |who: &str, block: &str| {
        format!(r#"{{"type":"{who}","timestamp":"2026-02-03T04:05:06Z","message":{{"content":[{block}]}}}}"#)
    };
    let first = row("assistant", r#"{"type":"text","text":"reading the parser"}"#);
    let last = row("assistant", r#"{"type":"tool_use","name":"Bash","input":{"command":"make test"}}"#);
    let script = format!(
        "d=\"$CLAUDE_CONFIG_DIR/projects/-x\"; mkdir -p \"$d\"; echo '{first}' > \"$d/$2.jsonl\"; echo started; read -r go; echo '{last}' >> \"$d/$2.jsonl\""
    );
    let world = world(&script);
    let mut run = spawn(&world, &["w", "-p", "x"]).stdin_held_open().spawn();
    run.wait_for_stdout("started");
    let id = running(&world);
    spawn(&world, &["logs", &id])
        .run()
        .ok()
        .stdout_has("worker    reading the parser")
        .stdout_lacks("make test");
    let mut follow = spawn(&world, &["logs", "-f", &id]).spawn();
    follow.wait_for_stdout("reading the parser");
    run.write(b"go\n");
    run.wait().ok();
    follow.wait().ok().stdout_has("Bash      make test");
    spawn(&world, &["logs", "--lines", "1", &id]).run().ok().stdout_lacks("reading").stdout_has("make test");
}

#[test]
fn what_is_no_dispatch_is_told_with_what_to_do() {
    let world = world("true");
    spawn(&world, &["ps"]).run().ok().stderr_has("nothing runs");
    spawn(&world, &["ps", "--clear"]).run().ok().stderr_has("forgot 0 dispatches");
    for command in ["logs", "stop", "wait"] {
        spawn(&world, &[command, "d-00000000000000000000000000"]).run().code(1).stderr_has("ps --all");
        spawn(&world, &[command, "../../x"]).run().code(64);
        spawn(&world, &[command]).run().code(64).stderr_has("ID is missing");
    }
    spawn(&world, &["w", "-p", "x"]).run().ok();
    let id = listed(&world)[0]["id"].as_str().unwrap().to_owned();
    spawn(&world, &["tell", &id, "hello"]).run().code(1).stderr_has("has ended: done");
    spawn(&world, &["tell", &id, " "]).run().code(64).stderr_has("empty");
}
