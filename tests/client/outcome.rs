//! What went wrong is told as what it is: denials and every error of a provider.

use serde_json::{Value, json};
use support::provider::Answer;
use support::{Output, Provider};

use crate::ability;
use crate::stage::{MODEL, Stage, WORKER_KEY};

#[test]
fn a_denied_permission_is_no_success() {
    let stage = Stage::with_demo();
    let run = stage.spawn("demo").args(["-p", "#bash touch made\n#say done", "--output-format", "json"]);
    let said: Value = run.run().json();
    assert_eq!(said["permission_denials"][0]["tool_name"], "Bash", "the client denied it: {said}");
    assert!(!stage.world.path("made").exists());
    let record = stage.record();
    assert_eq!(record["status"], "denied", "{record:#}");
    assert_eq!(record["denials"][0]["tool"], "Bash");
    assert!(
        record["denials"][0]["what"].as_str().is_some_and(|what| what.contains("touch made")),
        "{record:#}"
    );
}

/// Checks the worker `demo`: the outcome of its only tier, and the whole output.
fn checked(stage: &Stage) -> (Value, Output) {
    let output = stage.world.command(env!("CARGO_BIN_EXE_mo-worker")).args(["check", "demo"]).run();
    let profile: Value =
        serde_json::from_str(&stage.world.read(".claude-workers/demo/worker.json")).expect("worker.json");
    (profile["last_check"]["tiers"]["sonnet"].clone(), output)
}

/// A stage whose workers' provider answers every message like this.
fn answering(answer: impl Fn() -> Answer + Send + Sync + 'static) -> Stage {
    let stage = Stage::with_demo();
    stage.workers.on(move |_| Some(answer()));
    stage
}

#[test]
fn a_good_worker_is_live() {
    let stage = Stage::with_demo();
    let (tier, output) = checked(&stage);
    output.ok();
    assert_eq!((&tier["ok"], &tier["kind"], &tier["model"]), (&json!(true), &json!("ok"), &json!(MODEL)));
}

#[test]
fn half_a_key_is_told_as_a_key_matter() {
    let stage = Stage::new();
    let half = WORKER_KEY.split('.').next().expect("the first half");
    stage.worker("demo", &stage.workers, half);
    let (tier, output) = checked(&stage);
    let output = output.code(77);
    assert_eq!((&tier["ok"], &tier["kind"]), (&json!(false), &json!("key")), "{}", output.whole());
    output.stdout_lacks(half).stderr_lacks(half);
}

#[test]
fn an_unknown_model_is_told_with_its_name() {
    let stage = Stage::new();
    let other = Provider::setup().keys([WORKER_KEY]).models(["another-model"]).start();
    stage.worker("demo", &other, WORKER_KEY);
    let (tier, output) = checked(&stage);
    let output = output.fails();
    assert_eq!(tier["kind"], "model", "{}", output.whole());
    assert!((output.text() + &output.errors()).contains(MODEL), "{}", output.whole());
}

#[test]
fn an_unknown_model_that_is_told_as_a_bad_request_is_named_too() {
    let stage = answering(|| Answer::error(400, "invalid_request_error", "no"));
    let (tier, output) = checked(&stage);
    assert_eq!(tier["kind"], "request", "{}", output.whole());
    output.code(1).stderr_has(&format!("the model `{MODEL}`")).stderr_lacks("check demo");
}

#[test]
fn a_provider_that_repeats_the_key_is_not_repeated() {
    let stage =
        answering(|| Answer::error(401, "authentication_error", format!("no such key: {WORKER_KEY}")));
    let (_, output) = checked(&stage);
    output.code(77).stdout_has("[hidden]").stdout_lacks(WORKER_KEY).stderr_lacks(WORKER_KEY);
}

#[test]
fn a_url_that_is_not_this_api_is_told_as_a_url_matter() {
    let stage = Stage::new();
    let deeper = Provider::setup().base_path("/api/anthropic").start();
    let wrong = format!("http://127.0.0.1:{}/v2", deeper.port());
    stage.worker_at("demo", &wrong, WORKER_KEY);
    let (tier, output) = checked(&stage);
    let output = output.fails();
    assert_eq!(tier["kind"], "url", "{}", output.whole());
}

#[test]
fn a_used_up_quota_is_told_as_quota() {
    let stage = answering(|| Answer::quota("five_hour", 1_900_000_000));
    let (tier, output) = checked(&stage);
    let output = output.code(69);
    assert_eq!(tier["kind"], "quota", "{}", output.whole());
}

#[test]
fn a_plain_429_is_told_as_quota_too() {
    let (tier, output) = checked(&answering(|| Answer::fail(429)));
    let output = output.code(69);
    assert_eq!(tier["kind"], "quota", "{}", output.whole());
}

#[test]
fn an_overloaded_provider_is_told_at_once() {
    let stage = answering(|| Answer::fail(529));
    let (tier, output) = checked(&stage);
    let output = output.code(69);
    assert_eq!(tier["kind"], "overloaded", "{}", output.whole());
    // Background calls offer no tools.
    let asked =
        stage.workers.asked().into_iter().filter(|request| {
            request.prompt().0.contains("exactly this word") && !request.tools().is_empty()
        });
    let asked = asked.count();
    if !ability::can(asked == 1, "a stream that fails is asked for once more, without streaming") {
        assert_eq!(asked, 2, "without the client's own retries");
    }
}

#[test]
fn an_error_of_the_provider_itself_is_no_key_and_no_url_matter() {
    let (tier, output) = checked(&answering(|| Answer::fail(500)));
    let output = output.fails();
    let kind = tier["kind"].as_str().unwrap_or_default().to_owned();
    assert!(
        !["ok", "key", "model", "url", "quota", ""].contains(&kind.as_str()),
        "{kind}: {}",
        output.whole()
    );
}

#[test]
fn a_provider_that_is_not_there_is_told_as_unreachable() {
    let stage = Stage::with_demo();
    let Stage { world, manager, workers } = stage;
    drop(workers);
    let stage = Stage { world, manager, workers: Provider::start() };
    let (tier, output) = checked(&stage);
    let output = output.fails();
    assert_eq!(tier["ok"], false, "{}", output.whole());
    let kind = tier["kind"].as_str().unwrap_or_default().to_owned();
    assert!(!["key", "model", "quota", ""].contains(&kind.as_str()), "{kind}: {}", output.whole());
}

#[test]
fn a_dispatch_that_a_provider_refused_says_why_in_its_record() {
    for (answer, status, kind) in [
        (Answer::fail(401), "failed", "key"),
        (Answer::fail(403), "failed", "key"),
        (Answer::error(404, "not_found_error", format!("model: {MODEL}")), "failed", "model"),
        (Answer::page(404, "text/html", "<html>nothing here</html>"), "failed", "not-found"),
        (Answer::fail(400), "failed", "request"),
        (Answer::fail(529), "failed", "overloaded"),
        (Answer::quota("five_hour", 1_900_000_000), "quota", "quota"),
    ] {
        let stage = answering(move || answer.clone());
        let run = stage.world.command(env!("CARGO_BIN_EXE_mo-spawn")).args(["--retries", "0", "demo"]);
        run.args(["-p", "x", "--output-format", "json"]).run().code(1);
        let record = stage.record();
        let told = &record["error"]["kind"];
        if kind == "model" && told == "not-found" {
            ability::lacks("a 404 without its body: an unknown model and a wrong URL are one");
            continue;
        }
        assert_eq!((&record["status"], told), (&json!(status), &json!(kind)), "{record:#}");
    }
}
