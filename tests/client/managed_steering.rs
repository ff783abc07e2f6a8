//! Managed mode while it runs: messages into the turn, stop, the cord to the caller, signals, events.

use std::path::PathBuf;

use serde_json::{Value, json};
use support::provider::Request;
use support::{Output, Run, wait_until};

use crate::stage::Stage;

/// A command that says that it runs, and waits until it may end.
const WAITS: &str = "#bash touch up; while test ! -f go; do sleep 0.05; done; echo went\n#say first";

impl Stage {
    fn mo(&self, words: &[&str]) -> Run {
        self.world.command(env!("CARGO_BIN_EXE_mo-spawn")).args(words.iter().copied())
    }

    fn wait_for_the_tool(&self) {
        wait_until("the worker's tool to run", || self.world.path("up").exists());
    }

    /// What the transcript tells and what the events tell of one thing is one line.
    #[track_caller]
    fn logs_once(&self, said: &[&str]) {
        let logs = self.mo(&["logs", &self.id()]).run().ok().text();
        for said in said {
            assert_eq!(logs.lines().filter(|line| line.ends_with(said)).count(), 1, "{said} in {logs}");
        }
    }

    fn id(&self) -> String {
        self.record()["id"].as_str().expect("an id").to_owned()
    }
}

#[track_caller]
fn cancelled(stage: &Stage, output: Output) {
    let output = output.code(130);
    let said: Value = output.json();
    assert_eq!(
        (&said["status"], &said["error"]["kind"]),
        (&json!("cancelled"), &json!("stopped")),
        "{said:#}"
    );
    assert_eq!(stage.record()["status"], "cancelled");
    stage.nothing_is_left();
}

#[test]
fn a_message_is_folded_into_the_running_turn() {
    let stage = Stage::with_demo();
    let running = stage.task(WAITS).arg("--json").spawn();
    stage.wait_for_the_tool();
    stage.mo(&["tell", &stage.id(), "#say told"]).run().ok().stderr_has("demo has it");
    stage.world.write("go", "");
    let said: Value = running.wait().ok().json();
    assert_eq!(
        (&said["summary"], said["attempts"].as_array().map(Vec::len)),
        (&json!("told"), Some(1)),
        "{said:#}"
    );
    let asked = stage.questions();
    let last = asked.last().expect("a request").everything();
    assert!(last.contains("went") && last.contains("#say told"), "in one turn with the tool's result");
    assert!(stage.events().iter().any(|event| event["kind"] == "message" && event["from"] == "caller"));
    stage.logs_once(&["caller    #say told", "worker    told"]);
}

#[test]
fn a_message_during_the_checks_is_heard_after_them() {
    let stage = Stage::with_demo();
    let check = "touch up; while test ! -f go; do sleep 0.05; done";
    let running = stage.task("#say first").args(["--json", "--check", check]).spawn();
    stage.wait_for_the_tool();
    stage.mo(&["tell", &stage.id(), "#say and now told"]).run().ok();
    stage.world.write("go", "");
    let said: Value = running.wait().ok().json();
    assert_eq!((&said["status"], &said["summary"]), (&json!("done"), &json!("and now told")), "{said:#}");
    stage.logs_once(&["worker    first", "caller    #say and now told", "worker    and now told"]);
}

#[test]
fn it_can_be_stopped() {
    let stage = Stage::with_demo();
    let running = stage.task(WAITS).arg("--json").spawn();
    stage.wait_for_the_tool();
    let id = stage.id();
    stage.mo(&["stop", &id]).run().ok().stdout_is(&format!("{id} cancelled\n"));
    cancelled(&stage, running.wait());
}

#[test]
fn it_can_be_stopped_while_a_check_runs() {
    let stage = Stage::with_demo();
    let running = stage.task("#say x").args(["--json", "--check", "touch up; sleep 1000"]).spawn();
    stage.wait_for_the_tool();
    stage.mo(&["stop", &stage.id()]).run().ok();
    cancelled(&stage, running.wait());
}

#[test]
fn a_signal_ends_it_and_everything_it_started() {
    let stage = Stage::with_demo();
    let running = stage.task(WAITS).arg("--json").spawn();
    stage.wait_for_the_tool();
    running.signal(2);
    cancelled(&stage, running.wait());
}

#[test]
fn one_that_is_tied_ends_with_its_callers_input() {
    let stage = Stage::with_demo();
    let task = stage.world.write("task.md", WAITS);
    let run = stage.spawn("demo").arg("--task").arg(task).args(["--permission-mode", "bypassPermissions"]);
    let mut running = run.args(["--json", "--tied"]).stdin_held_open().spawn();
    stage.wait_for_the_tool();
    running.close_stdin();
    cancelled(&stage, running.wait());
}

#[test]
fn one_that_is_tied_ends_with_its_caller() {
    let stage = Stage::with_demo();
    let task = stage.world.write("task.md", WAITS);
    let spawn = env!("CARGO_BIN_EXE_mo-spawn");
    let script = format!(
        "{spawn} demo --task {} --permission-mode bypassPermissions --tied < /dev/zero > out 2>&1 & wait",
        task.display()
    );
    let caller = stage.world.command("/bin/sh").args(["-c", &script]).spawn();
    stage.wait_for_the_tool();
    caller.kill();
    stage.nothing_is_left();
    assert_eq!(stage.record()["status"], "cancelled");
}

#[test]
fn killed_itself_it_leaves_no_worker() {
    let stage = Stage::with_demo();
    let running = stage.task(WAITS).spawn();
    stage.wait_for_the_tool();
    running.kill();
    stage.nothing_is_left();
    stage.mo(&["ps", "--all"]).run().ok().stdout_has("lost");
    // What was lost can be taken up.
    let id = stage.id();
    stage.mo(&["resume", &id, "#say found again"]).run().ok().stdout_is("found again\n");
}

#[test]
fn events_go_where_they_are_asked_for() {
    let stage = Stage::with_demo();
    let file: PathBuf = stage.world.path("events");
    stage.task("#say done").arg("--events").arg(&file).run().ok();
    let text = stage.world.read("events");
    assert_eq!(text.lines().count(), stage.events().len(), "{text}");
    let script = format!("{} demo --task - --events fd:3 3>&1 >/dev/null", env!("CARGO_BIN_EXE_mo-spawn"));
    let output = stage.world.command("/bin/sh").args(["-c", &script]).stdin("#say done").run().ok();
    output.stdout_has("\"kind\":\"end\"");
    stage.task("#say done").args(["--events", "fd:99"]).run().code(64);
    stage.workers.wait_for("the request", Request::is_message);
}

#[test]
fn one_that_is_attached_finishes_its_turn_and_goes_on_by_hand() {
    let stage = Stage::with_demo();
    let running = stage.task(WAITS).args(["--json", "--check", "touch checked"]).spawn();
    stage.wait_for_the_tool();
    let record = stage.record();
    let session = record["worker_sessions"][0].as_str().expect("a session").to_owned();
    stage.mo(&["attach", &stage.id()]).run().code(64).stderr_has("needs a terminal");
    // From here on Claude Code is a script that says how it is called.
    let link = stage.world.home().parent().expect("a world").join("fakes/claude");
    std::fs::remove_file(link).expect("the real one's link goes");
    stage.world.fake("claude", "echo \"called: $@\"; test -t 0");
    let program = env!("CARGO_BIN_EXE_mo-spawn");
    let id = stage.id();
    let words = if cfg!(target_os = "linux") {
        vec!["-qec".to_owned(), format!("{program} attach {id}"), "/dev/null".to_owned()]
    } else {
        ["-q", "/dev/null", program, "attach", &id].map(str::to_owned).to_vec()
    };
    let mut by_hand = stage.world.command("/usr/bin/script").args(words).spawn();
    by_hand.wait_for_stdout("finishes its turn");
    stage.world.write("go", "");
    let said: Value = running.wait().code(130).json();
    assert_eq!(
        (&said["status"], &said["error"]["kind"], &said["summary"]),
        (&json!("cancelled"), &json!("attached"), &json!("first")),
        "{said:#}"
    );
    assert!(!stage.world.path("checked").exists(), "a session that is taken over is not judged");
    by_hand.wait().ok().stdout_has(&format!("--resume {session}"));
}
