//! The official MCP inspector as a client: it lists and calls every tool. Installed by npm once, pinned, under target/.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use support::World;

use crate::house::House;

const PACKAGE: &str = "@modelcontextprotocol/inspector";
const VERSION: &str = "2.12.0";

/// The inspector's program, installed now if it was not.
#[track_caller]
fn inspector() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target directory");
    let shelf = target.join("inspector");
    fs::create_dir_all(&shelf).expect("a folder under target/");
    let lock = File::create(shelf.join(".lock")).expect("a lock file");
    lock.lock().expect("its lock");
    let folder = shelf.join(VERSION);
    let program = folder.join("node_modules/.bin/mcp-inspector");
    if !program.exists() {
        let making = shelf.join(".making");
        let _ = fs::remove_dir_all(&making);
        fs::create_dir_all(&making).expect("a folder under target/");
        let words =
            ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-update-notifier", "--prefix"];
        let npm = Command::new("npm").args(words).arg(&making).arg(format!("{PACKAGE}@{VERSION}")).output();
        let npm = npm.expect("npm starts");
        assert!(npm.status.success(), "npm did not get {PACKAGE}: {}", String::from_utf8_lossy(&npm.stderr));
        fs::rename(&making, &folder).expect("a rename under target/");
    }
    program
}

/// What the inspector says to these words.
#[track_caller]
fn inspect(world: &World, program: &Path, words: &[&str]) -> Value {
    let run = world.command(program).args(["--cli", env!("CARGO_BIN_EXE_mo-dispatch")]).args(words.to_vec());
    let said = run.patience(std::time::Duration::from_secs(180)).run();
    // A tool that says no is 5 to the inspector.
    assert!(matches!(said.code, Some(0 | 5)), "{}", said.whole());
    said.json()
}

#[test]
fn the_inspector_lists_and_calls_every_tool() {
    let house = House::with(&["glm"]);
    let program = inspector();
    let listed = inspect(&house.world, &program, &["--method", "tools/list"]);
    let names: Vec<String> = listed["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect();
    let call = |tool: &str, arguments: &[&str]| {
        let mut words = vec!["--method", "tools/call", "--tool-name", tool];
        for argument in arguments {
            words.extend(["--tool-arg", argument]);
        }
        inspect(&house.world, &program, &words)
    };
    let one = call("dispatch_task", &["title=one", "prompt=#say from the inspector"]);
    assert_eq!(one["structuredContent"]["report"], "from the inspector", "{one:#}");
    let id = format!("id={}", one["structuredContent"]["id"].as_str().expect("an id"));
    let many = call(
        "dispatch_tasks",
        &[r##"tasks=[{"title":"a","prompt":"#say a"},{"title":"b","prompt":"#say b"}]"##],
    );
    assert_eq!(many["structuredContent"]["counts"]["done"], 2, "{many:#}");
    let mut called = vec!["dispatch_task", "dispatch_tasks"];
    for (tool, arguments) in [
        ("list_tasks", vec![]),
        ("list_workers", vec![]),
        ("orchestrator_briefing", vec!["model=claude-opus-5"]),
        ("task_cancel", vec![id.as_str()]),
        ("task_message", vec![id.as_str(), "text=too late"]),
        ("task_messages", vec![id.as_str()]),
        ("task_result", vec![id.as_str()]),
        ("task_status", vec![id.as_str()]),
    ] {
        let said = call(tool, &arguments);
        assert!(
            said["content"][0]["text"].is_string() && said["structuredContent"].is_object(),
            "{tool}: {said:#}"
        );
        called.push(tool);
    }
    called.sort_unstable();
    assert_eq!(names, called, "every tool was called");
}
