//! Managed mode at its limits: time, tokens, money, turns, output, quota. The work that was done stays.

use serde_json::{Value, json};
use support::Output;
use support::provider::Answer;

use crate::stage::{MODEL, Stage};

/// Three turns that each leave a file.
const STEPS: &str = "#bash touch one\n#bash touch two\n#bash touch three\n#say done";

fn limited(stage: &Stage, prompt: &str, words: &[&str]) -> Output {
    stage.task(prompt).arg("--json").args(words.iter().copied()).run()
}

/// How it ended: status, kind of error.
fn told(output: &Output) -> (String, String) {
    let said: Value = output.json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&said["status"]), text(&said["error"]["kind"]))
}

#[track_caller]
fn ends(stage: &Stage, prompt: &str, words: &[&str], code: i32, status: &str, kind: &str) {
    let output = limited(stage, prompt, words).code(code);
    assert_eq!(told(&output), (status.into(), kind.into()), "{}", output.whole());
    assert_eq!(stage.record()["status"], status);
    stage.nothing_is_left();
}

#[test]
fn a_task_that_hangs_is_ended_in_time() {
    let stage = Stage::with_demo();
    ends(&stage, "#bash touch one\n#hang", &["--timeout", "8s"], 124, "timeout", "timeout");
}

#[test]
fn tokens_are_bounded_and_the_work_so_far_stays() {
    let stage = Stage::with_demo();
    let prompt =
        "#usage 10 10 10 10\n#bash touch one\n#usage 900 0 0 200\n#bash sleep 5; touch two\n#say done";
    ends(&stage, prompt, &["--budget-tokens", "1000"], 75, "over-budget", "tokens");
    assert!(stage.world.path("one").exists() && !stage.world.path("two").exists());
    // What a message costs in the end is known before the tool in it has run.
    assert_eq!(stage.record()["usage"][MODEL]["output"], 210);
}

#[test]
fn money_is_bounded_by_our_own_prices() {
    let stage = Stage::with_demo();
    limited(&stage, STEPS, &["--budget-usd", "1"]).code(64).stderr_has("no price is known");
    assert!(stage.records().is_empty());
    let price = json!({"version": 1, "models": {MODEL: {"input": 1000, "output": 1000, "cache_read": 0, "cache_write_5m": 0}}});
    stage.world.write(".claude-workers/prices.json", price.to_string());
    let prompt =
        "#usage 500 0 0 500\n#bash touch one\n#usage 500 0 0 500\n#bash sleep 5; touch two\n#say done";
    ends(&stage, prompt, &["--budget-usd", "1.50"], 75, "over-budget", "money");
    assert!(stage.world.path("one").exists() && !stage.world.path("two").exists());
    let record = stage.record();
    assert_eq!((&record["cost_usd"], &record["cost_basis"]), (&json!(2.0), &json!("list")), "{record:#}");
}

#[test]
fn turns_are_bounded() {
    let stage = Stage::with_demo();
    ends(&stage, STEPS, &["--max-turns", "2"], 75, "turn-limit", "turns");
    assert!(stage.world.path("two").exists() && !stage.world.path("three").exists());
}

#[test]
fn what_it_prints_is_bounded() {
    let stage = Stage::with_demo();
    ends(&stage, STEPS, &["--max-output-bytes", "4k"], 75, "output-limit", "output");
}

#[test]
fn a_used_up_quota_is_told_with_its_end() {
    let stage = Stage::with_demo();
    let words = ["--retries", "0"];
    ends(&stage, "#quota five_hour 1900000000", &words, 69, "quota", "quota");
    assert!(stage.record()["resume"].as_str().is_some_and(|how| how.starts_with("mo-spawn resume d-")));
}

#[test]
fn a_refused_key_has_its_own_code() {
    let stage = Stage::with_demo();
    stage.workers.on(|_| Some(Answer::fail(401)));
    ends(&stage, "#say x", &["--retries", "0"], 77, "failed", "key");
}

#[test]
fn the_limit_of_parallel_runs_is_kept() {
    let stage = Stage::with_demo();
    let file = ".claude-workers/demo/worker.json";
    let mut profile: Value = serde_json::from_str(&stage.world.read(file)).expect("worker.json");
    profile["max_parallel"] = json!(1);
    stage.world.write(file, profile.to_string());
    let running = stage.task("#hang").spawn();
    stage.workers.wait_for("the request", support::provider::Request::is_message);
    limited(&stage, "#say x", &[]).code(75).stderr_has("limit of 1");
    running.signal(15);
    running.wait().code(130);
}
