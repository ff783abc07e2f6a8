//! However a worker ends, nothing of it stays behind.

use std::time::Duration;

use serde_json::json;
use support::provider::Request;
use support::wait_until;

use crate::ability;
use crate::stage::Stage;

const INTERRUPT: i32 = 2;
const TERMINATE: i32 = 15;

/// A command that starts children of its own, says so in a file and goes on for long.
const LONG: &str = "(sleep 1000 & sleep 1000) & echo up > up; tail -f /dev/null";

/// A command that leaves a child behind which is of no group and no session of the client's.
const DETACHED: &str = "#bash (setsid sleep 1000 > /dev/null 2>&1 &) ; echo started\n#say done";

/// Far more than a client needs that keeps a background shell's limit of a second.
const BACKGROUND: Duration = Duration::from_secs(25);

fn stopped_by(signal: i32) -> Stage {
    let stage = Stage::with_demo();
    let prompt = format!("#bash {LONG}\n#say never");
    let run = stage.spawn("demo").args(["-p", &prompt, "--permission-mode", "bypassPermissions"]);
    let running = run.spawn();
    wait_until("the worker's command to run", || stage.world.path("up").exists());
    assert!(stage.world.processes().len() > 3, "{:#?}", stage.world.processes());
    running.signal(signal);
    running.wait();
    stage.nothing_is_left();
    stage
}

#[test]
fn nothing_is_left_running_however_it_ends() {
    for signal in [TERMINATE, INTERRUPT] {
        let record = stopped_by(signal).record();
        assert_eq!(record["status"], "cancelled", "signal {signal}: {record:#}");
    }
    ended_well(&Stage::with_demo(), DETACHED);
}

#[test]
fn ctrl_c_to_the_whole_group_ends_it_alike() {
    let stage = Stage::with_demo();
    let running = stage.spawn("demo").args(["-p", "#hang"]).spawn();
    stage.workers.wait_for("the request", Request::is_message);
    running.signal_group(INTERRUPT);
    // The code is the client's own, and some of its versions call an interrupted turn a success.
    running.wait();
    stage.nothing_is_left();
    assert_eq!(stage.record()["status"], "cancelled", "{:#}", stage.record());
}

#[test]
fn a_worker_that_asks_for_a_background_shell_ends_and_leaves_none() {
    let stage = Stage::with_demo();
    // The client waits for a background shell, ten minutes unless the call itself has a shorter limit.
    let input =
        r#"{"command": "sleep 1000", "description": "s", "run_in_background": true, "timeout": 1000}"#;
    let run = stage.spawn("demo").args(["-p", &format!("#tool Bash {input}\n#say done")]);
    let output = run.args(["--permission-mode", "bypassPermissions"]).patience(BACKGROUND).run();
    if ability::can(
        !output.timed_out,
        "a background shell's own limit is not kept: print mode waits for its end",
    ) {
        output.ok().stdout_has("done");
        stage.nothing_is_left();
        assert_eq!(stage.record()["status"], "done", "{:#}", stage.record());
    }
}

fn ended_well(stage: &Stage, prompt: &str) {
    let run = stage.spawn("demo").args(["-p", prompt, "--permission-mode", "bypassPermissions"]);
    run.run().ok().stdout_has("done");
    stage.nothing_is_left();
    let record = stage.record();
    assert_eq!((&record["status"], &record["exit_code"]), (&json!("done"), &json!(0)), "{record:#}");
}
