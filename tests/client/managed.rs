//! Managed mode with the real client: a task is done, judged, sent back, and told in one result.

use std::time::Duration;

use serde_json::{Value, json};
use support::patience::within;
use support::provider::Request;
use support::{Run, wait_until};

use crate::stage::{MODEL, Stage};

/// A check that fails until the worker has made `good`, and whose output makes the scripted worker do so.
const TELLS_HOW: &str = "test -f good || { printf '%s\\n' '#bash touch good' '#say made it'; exit 3; }";

impl Stage {
    /// A task for the worker `demo` that may do anything.
    pub(crate) fn task(&self, prompt: &str) -> Run {
        self.spawn("demo").args(["--task", "-", "--permission-mode", "bypassPermissions"]).stdin(prompt)
    }

    /// The events of the only dispatch.
    pub(crate) fn events(&self) -> Vec<Value> {
        let path = self.record()["events_path"].as_str().expect("a path").to_owned();
        let text = std::fs::read_to_string(path).expect("the events");
        text.lines().map(|line| serde_json::from_str(line).expect("an event is JSON")).collect()
    }
}

#[test]
fn a_task_is_done_and_told_in_one_document() {
    let stage = Stage::with_demo();
    let prompt = "#text first a file\n#write made.txt hello\n#say all done";
    let output = stage.task(prompt).args(["--json", "--title", "t\u{1b}[2J"]).run().ok();
    let said: Value = output.json();
    assert_eq!(
        (&said["version"], &said["status"], &said["summary"]),
        (&json!(1), &json!("done"), &json!("all done"))
    );
    assert_eq!((&said["files"], &said["error"]), (&json!(["made.txt"]), &Value::Null), "{said:#}");
    let usage = json!({MODEL: stage.accounted(&stage.workers.served())});
    assert_eq!((&said["usage"], &said["cost_basis"]), (&usage, &json!("unknown")), "{said:#}");
    let record = stage.record();
    assert_eq!((&record["args_mode"], &record["status"]), (&json!("managed"), &json!("done")), "{record:#}");
    assert_eq!(record["usage"], usage);
    assert_eq!(stage.world.read(record["prompt_path"].as_str().expect("a path")), prompt);
    let events = stage.events();
    let kinds: Vec<&str> = events.iter().filter_map(|event| event["kind"].as_str()).collect();
    assert_eq!((kinds.first(), kinds.last()), (Some(&"state"), Some(&"end")), "{kinds:?}");
    assert!(kinds.contains(&"progress") && kinds.contains(&"message"), "{kinds:?}");
    assert_eq!(events.last().expect("an end")["record"]["summary"], "all done");
    stage.nothing_is_left();
}

#[test]
fn people_get_the_summary_alone_on_standard_output() {
    let stage = Stage::with_demo();
    let output = stage.task("#say one\u{1b}[31m line").run().ok();
    output.stdout_is("one [31m line\n").stderr_has("demo: done").stderr_has("1 attempt");
}

#[test]
#[cfg(target_os = "linux")]
fn on_a_terminal_the_live_line_is_away_before_the_result() {
    let stage = Stage::with_demo();
    for (task, words, end) in [
        ("#say one line", "", "demo: done"),
        ("#bash while true; do sleep 0.05; done", "--timeout 5s", "demo: timeout"),
    ] {
        stage.world.write("task.md", task);
        let spawn = env!("CARGO_BIN_EXE_mo-spawn");
        let line = format!("'{spawn}' demo --task task.md --permission-mode bypassPermissions {words}");
        let run = stage.world.command("/usr/bin/env").args(["script", "-qec", &line, "/dev/null"]);
        let shown = run.var("TERM", "xterm").stdin_held_open().run().text();
        assert!(shown.contains("\r\u{1b}[Kdemo 0:0"), "it is live: {shown:?}");
        // What stands on the screen: of each line the last thing that was drawn on it.
        let lines = shown.lines().map(|line| line.trim_end().rsplit("\r\u{1b}[K").next().unwrap_or_default());
        let lines: Vec<&str> = lines.collect();
        assert!(lines.iter().any(|line| line.starts_with(&format!("mo-spawn: {end}"))), "{lines:?}");
        assert!(lines.iter().all(|line| !line.starts_with("demo 0:")), "{lines:?}");
    }
    stage.nothing_is_left();
}

#[test]
fn work_that_fails_its_check_goes_back_to_the_same_session() {
    let stage = Stage::with_demo();
    let output = stage.task("#say done").args(["--json", "--check", "true", "--check", TELLS_HOW]).run().ok();
    let said: Value = output.json();
    assert_eq!((&said["status"], &said["summary"]), (&json!("done"), &json!("made it")), "{said:#}");
    let attempts = said["attempts"].as_array().expect("attempts");
    assert_eq!((attempts.len(), &attempts[0]["status"]), (2, &json!("check-failed")), "{said:#}");
    assert_eq!(said["checks"][1]["exit_code"], 0);
    let record = stage.record();
    assert_eq!(record["worker_sessions"].as_array().map(Vec::len), Some(1), "{record:#}");
    // What was said before stands at the start of what is asked next, byte for byte: the provider's cache holds.
    let asked: Vec<Request> = stage.questions().into_iter().filter(|one| !one.tools().is_empty()).collect();
    assert!(asked.len() >= 3, "{}", asked.len());
    let body = |at: usize, part: &str| asked[at].body[part].clone();
    for at in 1..asked.len() {
        assert_eq!((body(at, "system"), body(at, "tools")), (body(0, "system"), body(0, "tools")));
        assert_eq!(asked[at].session, asked[0].session);
    }
    stage.nothing_is_left();
}

#[test]
fn work_that_never_passes_comes_back_with_all_that_is_known() {
    let stage = Stage::with_demo();
    let check = "echo \"line of $HOME\"; echo \"key ${ANTHROPIC_AUTH_TOKEN-none}\"; exit 7";
    let output =
        stage.task("#say done").args(["--json", "--attempts", "3", "--baseline", "--check", check]).run();
    let said: Value = output.code(1).json();
    assert_eq!(
        (&said["status"], &said["error"]["kind"]),
        (&json!("check-failed"), &json!("check")),
        "{said:#}"
    );
    assert_eq!(said["attempts"].as_array().map(Vec::len), Some(3));
    let check = &said["checks"][0];
    assert_eq!((&check["exit_code"], &check["failed_before"]), (&json!(7), &json!(true)));
    let tail = check["tail"].as_str().expect("a tail");
    assert!(tail.starts_with("line of /") && tail.ends_with("key none"), "{tail}");
    assert!(
        said["error"]["text"].as_str().is_some_and(|text| text.contains("before the work began")),
        "{said:#}"
    );
}

#[test]
fn a_check_leaves_nothing_running() {
    let stage = Stage::with_demo();
    let check = "(setsid sleep 1000 >/dev/null 2>&1 &) ; sleep 1000 & echo started";
    stage.task("#say done").args(["--check", check]).run().ok();
    stage.nothing_is_left();
}

#[test]
fn a_check_does_not_outlive_whoever_watched_it() {
    let stage = Stage::with_demo();
    let check = "trap '' TERM; echo up > up; while :; do sleep 1000; done";
    let running = stage.task("#say done").args(["--check", check]).spawn();
    wait_until("the check to run", || stage.world.path("up").exists());
    running.signal(9);
    let gone = within(Duration::from_secs(30), || stage.world.processes().is_empty().then_some(()));
    assert!(gone.is_some(), "{:#?}", stage.world.processes());
}

#[test]
fn what_is_not_allowed_is_denied_and_told() {
    let stage = Stage::with_demo();
    let prompt = "#bash sh -c 'echo x > made'\n#say done";
    let run = |more: &[&str]| {
        stage.spawn("demo").args(["--task", "-", "--json"]).args(more.to_vec()).stdin(prompt).run()
    };
    let said: Value = run(&[]).code(1).json();
    assert_eq!(
        (&said["status"], &said["denials"]),
        (&json!("denied"), &json!([{"tool": "Bash", "what": "sh -c 'echo x > made'"}]))
    );
    assert!(!stage.world.path("made").exists());
    let said: Value = run(&["--allow", "Bash(sh *)"]).ok().json();
    assert_eq!((&said["status"], &said["denials"]), (&json!("done"), &json!([])), "{said:#}");
    assert!(stage.world.path("made").exists());
}

#[test]
fn files_that_it_may_not_change_send_the_work_back() {
    let stage = Stage::with_demo();
    let prompt = "#write src/a.txt x\n#and write other.txt x\n#say done";
    let output = stage.task(prompt).args(["--json", "--files", "src/**"]).run();
    let said: Value = output.code(1).json();
    assert_eq!(said["status"], "check-failed", "{said:#}");
    assert!(
        said["error"]["text"]
            .as_str()
            .is_some_and(|text| text.contains("other.txt") && !text.contains("src/a.txt"))
    );
}

#[test]
fn a_pause_while_a_subagent_runs_is_not_the_end() {
    let stage = Stage::with_demo();
    let prompt =
        "#agent general-purpose #bash sleep 0.2; sleep 1; echo late > late\n#say waiting\n#say after it";
    let said: Value =
        stage.task(prompt).args(["--json", "--check", "test -f late", "--attempts", "1"]).run().ok().json();
    assert_eq!(said["summary"], "after it", "{said:#}");
}

#[test]
fn the_course_is_shown_as_asked_for_and_never_on_standard_output() {
    let stage = Stage::with_demo();
    let shown =
        |how: &str| stage.task("#text a note\n#bash true\n#say done").args(["--progress", how]).run().ok();
    shown("none").stdout_is("done\n").stderr_is("");
    shown("plain").stdout_is("done\n").stderr_has("turn 1 Bash").stderr_lacks("\u{1b}");
    let bar = shown("bar").stdout_is("done\n");
    assert!(bar.errors().contains("\r\u{1b}[K") && bar.errors().contains("turn 1 Bash"), "{}", bar.whole());
    shown("bar").stderr_has("a note");
}

#[test]
fn an_odd_path_is_a_path() {
    let stage = Stage::in_world(support::World::with_odd_path());
    stage.worker("demo", &stage.workers, crate::stage::WORKER_KEY);
    let run = stage.task("#bash touch made\n#say done").args(["--json", "--check", "test -f made"]);
    assert_eq!(run.run().ok().json::<Value>()["files"], json!(["made"]));
}
