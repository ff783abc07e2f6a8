//! mo-worker doctor against what the real Claude Code writes and says: its books, its help, its program.

use support::{Output, claude};

use crate::stage::{Stage, dist};

const PLUGIN: &str = "model-orchestration@model-orchestration";

fn doctor(stage: &Stage) -> Output {
    stage.world.command(env!("CARGO_BIN_EXE_mo-worker")).arg("doctor").run()
}

#[track_caller]
fn client(stage: &Stage, words: &[&str]) {
    stage.claude().args(words.iter().copied()).run().ok();
}

#[test]
fn the_books_of_the_real_client_are_understood() {
    let stage = Stage::new();
    doctor(&stage).stdout_has("not installed in Claude Code");
    let dist = dist().to_str().expect("a path in UTF-8");
    client(&stage, &["plugin", "marketplace", "add", dist]);
    client(&stage, &["plugin", "install", PLUGIN]);
    let version = env!("CARGO_PKG_VERSION");
    doctor(&stage).stdout_has(&format!("{version} from model-orchestration, switched on"));
    client(&stage, &["plugin", "disable", PLUGIN]);
    doctor(&stage)
        .stdout_has("from model-orchestration, switched off")
        .stdout_has(&format!("enable {PLUGIN}"));
    client(&stage, &["plugin", "enable", PLUGIN]);
    doctor(&stage).stdout_has("switched on");
    client(&stage, &["plugin", "uninstall", PLUGIN]);
    doctor(&stage).stdout_has("not installed in Claude Code").stdout_lacks("switched");
}

#[test]
fn what_the_client_can_do_is_seen_and_asking_it_leaves_no_trace() {
    let stage = Stage::new();
    stage.world.write(".claude/settings.json", "{}");
    stage
        .world
        .write("project/.claude/settings.json", r#"{"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}}"#);
    let before = stage.world.files();
    let doctor = stage.world.command(env!("CARGO_BIN_EXE_mo-worker")).arg("doctor");
    let output = doctor.cwd(stage.world.path("project")).run();
    assert_eq!(stage.world.files(), before, "asking left something behind");
    let output = output.stdout_has(&format!("{} in ", claude::version())).stdout_lacks("`--session-id`");
    let said = output.text();
    // Older versions lack this and that; the one that is known to work lacks nothing.
    let is_known = said.lines().any(|line| line.ends_with(", known to work"));
    assert!(!is_known || !said.contains("lacks"), "{said}");
    let lets_redirect = said.contains("lacks the switch");
    assert_eq!(said.contains("let it redirect a worker"), lets_redirect, "{said}");
    assert_eq!(said.contains("workers ignore it"), !lets_redirect, "{said}");
}
