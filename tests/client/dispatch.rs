//! The whole path: a worker made, checked, given a task by a manager's session, its work audited and accounted.

use serde_json::{Value, json};
use support::{Provider, World};

use crate::ability;
use crate::stage::{MANAGER_KEY, MODEL, Stage, WORKER_KEY};

/// A task in prose and, below it, what the scripted model does about it.
const SPEC: &str = "\
Write add.sh, a function `add` that adds two numbers, and test.sh, its test. Run the test.

#write add.sh <<FILE
add() { echo $(($1 + $2)); }
FILE
#write test.sh <<FILE
. ./add.sh
[ \"$(add 40 2)\" = 42 ] && echo passed
FILE
#bash sh test.sh
#report";

#[test]
fn a_manager_gives_a_task_to_a_worker_and_audits_the_result() {
    whole_path(&Stage::new());
}

#[test]
fn the_whole_path_works_under_a_home_with_spaces_quotes_and_unicode() {
    whole_path(&Stage::in_world(World::with_odd_path()));
}

fn whole_path(stage: &Stage) {
    stage.worker("demo", &stage.workers, WORKER_KEY);
    stage.world.command(env!("CARGO_BIN_EXE_mo-worker")).args(["check", "demo"]).run().ok();
    let checks = stage.workers.served().len();

    let repo = stage.world.path("repo");
    stage.world.write("repo/README", "empty\n");
    stage.world.command("/usr/bin/env").args(["git", "init", "-q"]).arg(&repo).run().ok();
    let dispatch = format!(
        "#bash <<DONE\nmo-spawn demo -p --permission-mode acceptEdits --allowedTools 'Bash(sh test.sh)' \
         --output-format json <<'SPEC'\n{SPEC}\nSPEC\nDONE\n#bash git status --short && sh test.sh\n#report"
    );
    let output = stage.session(&dispatch).cwd(&repo).run().ok();
    let said: Value = output.json();
    assert_eq!(
        said["result"],
        "?? README\n?? add.sh\n?? test.sh\npassed",
        "{}\n{}",
        said,
        stage.manager_read()
    );

    // The manager saw the worker's own answer as its tool's result.
    let seen = stage.manager.asked().last().expect("a request").everything();
    assert!(seen.contains(r#""result":"passed""#), "{seen}");

    // Every request went to its own provider with its own key, for a model that is there.
    assert!(stage.manager.asked().iter().all(|request| request.key.as_deref() == Some(MANAGER_KEY)));
    assert!(stage.questions().iter().all(|request| request.key.as_deref() == Some(WORKER_KEY)));
    assert!(stage.questions().iter().all(|request| request.model.as_deref() == Some(MODEL)));

    // The record and the provider's own account tell the same story.
    let records = stage.records();
    let record = records.last().expect("a record");
    assert_eq!(record["status"], "done", "{record:#}");
    assert_eq!((&record["worker"], &record["exit_code"]), (&json!("demo"), &json!(0)));
    assert_eq!(record["manager_session"], said["session_id"]);
    let served = &stage.workers.served()[checks..];
    assert!(!served.is_empty());
    let session = record["worker_sessions"][0].as_str().expect("a session");
    if ability::can(served[0].session.is_some(), "its requests do not name their session") {
        assert!(served.iter().all(|message| message.session.as_deref() == Some(session)));
    }
    assert_eq!(record["usage"], json!({MODEL: stage.accounted(served)}), "{record:#}");
    stage.nothing_is_left();
}

#[test]
fn a_miss_goes_back_to_the_same_session() {
    let stage = Stage::with_demo();
    let ask = ["-p", "--output-format", "json"];
    let first: Value = stage.spawn("demo").args(ask).stdin("#say first try").run().ok().json();
    let session = first["session_id"].as_str().expect("a session").to_owned();
    let again = stage.spawn("demo").args(ask).args(["--resume", &session]).stdin("#say second try");
    let second: Value = again.run().ok().json();
    assert_eq!((&second["result"], &second["session_id"]), (&json!("second try"), &json!(session)));
    let asked = stage.workers.asked();
    assert!(
        asked.last().expect("a request").everything().contains("first try"),
        "its own words came back to it"
    );
    let records = stage.records();
    assert_eq!(records.len(), 2);
    assert!(records.iter().all(|record| record["worker_sessions"] == json!([session])), "{records:#?}");
}

#[test]
fn every_model_name_that_reaches_the_provider_is_its_own() {
    let stage = Stage::with_demo();
    let prompt = "#tool Agent {\"description\": \"a\", \"prompt\": \"#say small\", \"subagent_type\": \
                  \"general-purpose\", \"model\": \"haiku\"}\n\
                  #and tool Agent {\"description\": \"b\", \"prompt\": \"#say look\", \"subagent_type\": \"Explore\"}\n\
                  #say waiting\n#say done";
    stage.spawn("demo").args(["-p", prompt, "--permission-mode", "bypassPermissions"]).run().ok();
    let asked = stage.workers.asked();
    for task in ["#say small", "#say look"] {
        assert!(asked.iter().any(|request| request.prompt().0 == task), "the subagent for {task} ran");
    }
    let foreign: Vec<_> = asked.iter().filter(|request| request.model.as_deref() != Some(MODEL)).collect();
    assert!(foreign.is_empty(), "{:?}", foreign.iter().map(|request| &request.model).collect::<Vec<_>>());
}

#[test]
fn an_unmapped_tier_asked_for_by_name_is_refused_before_anything_is_sent() {
    let stage = Stage::with_demo();
    let refused = stage.spawn("demo").args(["-p", "x", "--model", "haiku"]).run();
    refused.fails().stderr_has("sonnet");
    assert!(stage.workers.requests().is_empty());
}

#[test]
fn the_shim_runs_the_worker_without_any_path() {
    let stage = Stage::with_demo();
    let bin = stage.world.root().join(".bin");
    if !bin.exists() {
        let folder = std::path::Path::new(env!("CARGO_BIN_EXE_mo-spawn")).parent().expect("a folder");
        std::os::unix::fs::symlink(folder, &bin).expect("the stable link");
    }
    let claude = support::claude::pinned();
    let shim = stage.world.command(stage.world.root().join("demo/run")).args(["-p", "#say by shim"]);
    // As cron would: no PATH of the user's, only the client's place is known.
    shim.var("PATH", "/usr/bin:/bin").var("CLAUDE_CODE_EXECPATH", &claude).run().ok().stdout_is("by shim\n");
}

#[test]
fn a_provider_with_a_base_path_and_without_request_ids_is_served_alike() {
    let stage = Stage::new();
    let own = Provider::setup()
        .base_path("/api/anthropic")
        .keys([WORKER_KEY])
        .models([MODEL])
        .without_request_ids()
        .gzip()
        .start();
    stage.worker("demo", &own, WORKER_KEY);
    stage.spawn("demo").args(["-p", "#say through"]).run().ok().stdout_is("through\n");
    assert_eq!(stage.record()["usage"], json!({MODEL: stage.accounted(&own.served())}));
}

#[test]
fn a_worker_of_the_earlier_shell_plugin_goes_on_working() {
    let stage = Stage::new();
    stage.shell_worker("old", &stage.workers, WORKER_KEY);
    stage.spawn("old").args(["-p", "#say still here"]).run().ok().stdout_is("still here\n");
    let asked = stage.workers.asked();
    assert!(asked.iter().all(|request| request.model.as_deref() == Some(MODEL)));
    assert_eq!(stage.record()["status"], "done", "{:#}", stage.record());
}
