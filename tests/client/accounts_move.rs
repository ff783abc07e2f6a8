//! Claude accounts under mo-dispatch: what happens to a task when its account's plan, money or login runs out.

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};
use support::Provider;
use support::provider::{Answer, Request};

use crate::accounts::{LOGIN, account, now, several};
use crate::dispatch_mcp::data;
use crate::stage::Stage;

/// A reset that the client believes, in seconds.
fn reset() -> u64 {
    now() / 1000 + 3 * 3600
}

/// The login of the second account.
const OTHER: &str = "sk-ant-oat01-scripted-other";

/// A stage with the accounts `first`, which is preferred, and `second`, each with a login of its own.
fn stage() -> (Stage, Provider) {
    let (stage, _) = crate::accounts::stage();
    let provider = Provider::setup().keys([LOGIN, OTHER]).start();
    account(&stage, "first", ".claude-first", &provider);
    account(&stage, "second", ".claude-second", &provider);
    let login = stage.world.read(".claude-second/.credentials.json").replace(LOGIN, OTHER);
    stage.world.write(".claude-second/.credentials.json", login);
    several(&stage);
    stage.world.command(env!("CARGO_BIN_EXE_mo-worker")).args(["prefer", "first"]).run().ok();
    (stage, provider)
}

/// Both plans have room, as their last runs told.
fn known_plans(stage: &Stage) {
    for name in ["first", "second"] {
        crate::accounts::known(stage, name, 10.0, "off");
    }
}

/// What was asked with this login.
fn asked(provider: &Provider, login: &str) -> Vec<Request> {
    provider.asked().into_iter().filter(|request| request.key.as_deref() == Some(login)).collect()
}

fn known(stage: &Stage, worker: &str) -> Value {
    let text = stage.world.read(format!(".claude-workers/.dispatch/usage/{worker}.json"));
    serde_json::from_str(&text).expect("what is known is JSON")
}

#[test]
fn a_task_moves_to_the_next_account_with_its_history_and_the_first_cools_until_its_reset() {
    let (stage, provider) = stage();
    let until = reset();
    // Whoever begins is at the end of its plan after the first step.
    let began = Arc::new(OnceLock::new());
    let rule = Arc::clone(&began);
    provider.on(move |request| {
        let key = request.key.clone().unwrap_or_default();
        let is_second_step = !request.results().is_empty();
        (is_second_step && *rule.get_or_init(|| key.clone()) == key)
            .then(|| Answer::quota("five_hour", until))
    });
    stage
        .calling("dispatch_task", &json!({"title": "t", "prompt": "#write made.txt hello\n#say finished"}))
        .run()
        .ok();
    let told = stage.tool_results().join("\n");
    let (before, after, login) = match began.get().map(String::as_str) {
        Some(OTHER) => ("second", "first", LOGIN),
        _ => ("first", "second", OTHER),
    };
    let records = stage.records();
    let course: Vec<_> = records.iter().map(|one| (one["worker"].as_str(), one["status"].as_str())).collect();
    assert_eq!(course, [(Some(before), Some("quota")), (Some(after), Some("done"))], "{told}");
    assert_eq!(records[0]["worker_sessions"], records[1]["worker_sessions"], "the same session: {told}");
    assert_eq!(stage.world.read("made.txt").trim(), "hello");
    let resumed = asked(&provider, login).first().expect("it was asked").everything();
    assert!(resumed.contains("made.txt"), "it does not know what was done: {resumed}");
    let cooling = known(&stage, before)["cooling"]["until"].as_str().map(str::to_owned).expect("it cools");
    let wanted = jiff::Timestamp::from_second(until.cast_signed()).expect("a time");
    assert_eq!(cooling.parse::<jiff::Timestamp>().expect("a time"), wanted);
    stage.nothing_is_left();
}

#[test]
fn a_run_that_starts_to_be_billed_is_stopped() {
    let (stage, provider) = stage();
    let prompt = format!(
        "#bash true\n#plan five_hour 1 {} in-use\n#bash mkfifo pipe && cat pipe; touch billed\n#say finished",
        reset()
    );
    let arguments = json!({"title": "t", "prompt": prompt, "worker": "first", "allow": ["Bash"]});
    stage.calling("dispatch_task", &arguments).run().ok();
    let told = stage.tool_results().join("\n");
    assert!(told.contains("would be billed") && !stage.world.path("billed").exists(), "{told}");
    assert_eq!(known(&stage, "first")["reading"]["overage"], "in-use");
    let before = provider.asked().len();
    // And nothing begins on it again.
    stage.calling("dispatch_task", &json!({"title": "t", "prompt": "#say x", "worker": "first"})).run().ok();
    let told = stage.tool_results().pop().expect("a result");
    assert!(told.contains("first") && told.contains("used up"), "{told}");
    assert_eq!(provider.asked().len(), before);
    assert!(asked(&provider, OTHER).is_empty());
    stage.nothing_is_left();
}

#[test]
fn an_account_that_is_logged_out_gets_nothing_and_the_way_back_is_told() {
    let (stage, provider) = stage();
    std::fs::remove_file(stage.world.path(".claude-first/.credentials.json")).expect("the login goes");
    stage.calling("dispatch_task", &json!({"title": "t", "prompt": "#say x", "worker": "first"})).run().ok();
    let results = stage.tool_results().join("\n");
    assert!(results.contains("mo-worker login first"), "{results}");
    stage.calling("dispatch_task", &json!({"title": "t", "prompt": "#say by the other"})).run().ok();
    assert_eq!(data(&stage)["worker"], "second");
    assert!(asked(&provider, LOGIN).is_empty() && !asked(&provider, OTHER).is_empty());
}

#[test]
fn a_login_that_is_no_longer_good_is_told_as_one() {
    let (stage, provider) = stage();
    known_plans(&stage);
    let login = stage.world.read(".claude-first/.credentials.json").replace(LOGIN, "sk-ant-oat01-expired");
    stage.world.write(".claude-first/.credentials.json", login);
    let task = json!({"title": "t", "prompt": "#say by the other"});
    stage.calling("dispatch_task", &task).run().ok();
    let said = data(&stage);
    assert_eq!((&said["status"], &said["worker"]), (&json!("done"), &json!("second")), "{said:#}");
    let first = &said["attempts"][0];
    let why = first["reason"].as_str().expect("a reason");
    assert!(first["worker"] == "first" && why.contains("mo-worker login first"), "{said:#}");
    let named = json!({"title": "t", "prompt": "#say x", "worker": "first"});
    stage.calling("dispatch_task", &named).run().ok();
    let told = stage.tool_results().pop().expect("a result");
    assert!(told.contains("failed") && told.contains("mo-worker login first"), "{told}");
    assert!(!told.contains("mo-key"), "an account has no key: {told}");
    assert!(asked(&provider, LOGIN).is_empty() && !asked(&provider, OTHER).is_empty());
    stage.nothing_is_left();
}
