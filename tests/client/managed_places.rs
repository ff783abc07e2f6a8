//! Managed mode in a place: work trees, repositories, roles, going on with an earlier dispatch, in the background.

use std::process::Command;

use serde_json::{Value, json};

use crate::stage::Stage;

/// A stage whose home is a repository with one commit; the workers' root is ignored there.
fn repository() -> Stage {
    let stage = Stage::with_demo();
    stage.world.write(".gitignore", "/.claude-workers\n/.claude*\n/.cache\n/.local\n/.config\n");
    stage.world.write("a.txt", "one\n");
    for words in [&["init", "-q", "-b", "main"][..], &["add", "."], &["commit", "-q", "-m", "first"]] {
        git(&stage, words);
    }
    stage
}

#[track_caller]
fn git(stage: &Stage, words: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=t", "-c", "user.email=t@t"]).args(words).current_dir(stage.world.home());
    let output = git.env("HOME", stage.world.home()).output().expect("git starts");
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn work_in_a_tree_of_its_own_is_committed_there_and_nowhere_else() {
    let stage = repository();
    let run = stage
        .task("#bash echo two > a.txt; echo new > b.txt\n#say changed it")
        .args(["--json", "--worktree"]);
    let said: Value = run.args(["--title", "Two", "--check", "grep two a.txt"]).run().ok().json();
    assert_eq!((&said["status"], &said["files"]), (&json!("done"), &json!(["a.txt", "b.txt"])), "{said:#}");
    let (branch, commit) =
        (said["branch"].as_str().expect("a branch"), said["commit"].as_str().expect("a commit"));
    assert_eq!(git(&stage, &["rev-parse", branch]), commit);
    assert_eq!(git(&stage, &["show", "-s", "--format=%s", branch]), "Two");
    assert_eq!(git(&stage, &["show", &format!("{branch}:b.txt")]), "new");
    assert_eq!(
        (git(&stage, &["status", "--porcelain"]), stage.world.read("a.txt")),
        (String::new(), "one\n".into())
    );
    assert_eq!(said["merge"], format!("git merge {branch}"), "{said:#}");
    stage.nothing_is_left();
}

#[test]
fn a_tree_without_work_goes_and_one_whose_check_failed_stays() {
    let stage = repository();
    let said: Value = stage.task("#say nothing to do").args(["--json", "--worktree"]).run().ok().json();
    assert_eq!((&said["worktree"], &said["branch"]), (&Value::Null, &Value::Null), "{said:#}");
    let run =
        stage.task("#bash echo two > a.txt\n#say tried").args(["--json", "--worktree", "--check", "false"]);
    let said: Value = run.args(["--attempts", "1"]).run().code(1).json();
    let tree = said["worktree"].as_str().expect("a tree");
    assert_eq!(std::fs::read_to_string(format!("{tree}/a.txt")).expect("the work"), "two\n");
    assert_eq!((&said["commit"], &said["merge"]), (&Value::Null, &Value::Null), "{said:#}");
    // Gone on with, it is right.
    let id = said["id"].as_str().expect("an id");
    let resume = stage.world.command(env!("CARGO_BIN_EXE_mo-spawn"));
    let again: Value =
        resume.args(["resume", id, "#bash echo three > a.txt\n#say now", "--json"]).run().code(1).json();
    assert_eq!(
        (&again["worktree"], &again["status"]),
        (&said["worktree"], &json!("check-failed")),
        "{again:#}"
    );
    assert_eq!(std::fs::read_to_string(format!("{tree}/a.txt")).expect("the work"), "three\n");
}

#[test]
fn in_a_repository_only_what_the_run_changed_is_told() {
    let stage = repository();
    stage.world.write("dirty.txt", "before");
    let said: Value = stage.task("#write src/new.txt x\n#say done").args(["--json"]).run().ok().json();
    assert_eq!(said["files"], json!(["src/new.txt"]), "{said:#}");
}

#[test]
fn an_ended_dispatch_goes_on_in_the_same_session() {
    let stage = Stage::with_demo();
    let first: Value = stage
        .task("#say first words")
        .args(["--json", "--check", "test -f x"])
        .args(["--attempts", "1"])
        .run()
        .code(1)
        .json();
    let id = first["id"].as_str().expect("an id").to_owned();
    let resume = stage.world.command(env!("CARGO_BIN_EXE_mo-spawn")).args(["resume", &id]);
    let second: Value = resume.args(["#bash touch x\n#say second words", "--json"]).run().ok().json();
    assert_eq!(
        (&second["status"], &second["summary"]),
        (&json!("done"), &json!("second words")),
        "{second:#}"
    );
    assert_eq!(second["attempts"][0]["n"], 2);
    let records = stage.records();
    assert_eq!(records[0]["worker_sessions"], records[1]["worker_sessions"]);
    assert_eq!(records[1]["continues"], json!(id));
    assert!(stage.questions().last().expect("a request").everything().contains("first words"));
}

#[test]
fn another_worker_can_go_on_with_the_session() {
    let stage = Stage::with_demo();
    stage.worker("other", &stage.workers, crate::stage::WORKER_KEY);
    let first: Value = stage.task("#say first words").args(["--json"]).run().ok().json();
    let id = first["id"].as_str().expect("an id");
    let run =
        stage.spawn("other").args(["--task", "-", "--json", "--continue-from", id]).stdin("#say taken over");
    let second: Value = run.run().ok().json();
    assert_eq!(second["summary"], "taken over", "{second:#}");
    assert!(stage.questions().last().expect("a request").everything().contains("first words"));
}

#[test]
fn in_the_background_it_outlives_its_caller() {
    let stage = Stage::with_demo();
    let output = stage
        .task("#bash sleep 0.3; echo late > late\n#say done")
        .args(["--detach", "--title", "t"])
        .run()
        .ok();
    let id = output.text().trim().to_owned();
    assert!(id.starts_with("d-") && id.len() == 28, "{id:?}");
    let wait = stage.world.command(env!("CARGO_BIN_EXE_mo-spawn"));
    wait.args(["wait", &id]).run().ok();
    let record = stage.record();
    assert_eq!((&record["status"], &record["summary"]), (&json!("done"), &json!("done")), "{record:#}");
    assert!(stage.world.path("late").exists());
    stage.nothing_is_left();
}

#[test]
fn what_cannot_start_in_the_background_is_told_at_once() {
    let stage = Stage::with_demo();
    let run = stage.task("#say x").args(["--detach", "--model", "haiku"]);
    run.run().code(64).stdout_is("").stderr_has("haiku");
    assert!(stage.records().is_empty());
}
