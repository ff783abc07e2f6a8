//! The plugin as Claude Code takes it: valid, installable, and never in the way.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::ability::{self, HOOK_EVENTS};
use crate::stage::{MODEL, Stage, WORKER_KEY, dist, first_rule, hook_responses, repository};

/// Every event that a session prints.
const ALL_EVENTS: [&str; 3] = ["--output-format", "stream-json", "--verbose"];

#[test]
fn the_assembled_plugin_passes_the_strict_validation() {
    let stage = Stage::new();
    let validate = stage.claude().args(["plugin", "validate"]);
    let strict = ability::has_flag(&stage, &["plugin", "validate"], "--strict");
    let profile = ability::has_flag(&stage, &["plugin", "validate"], "--profile");
    let validate = if strict { validate.arg("--strict") } else { validate };
    let validate = if profile { validate.args(["--profile", "directory"]) } else { validate };
    validate.arg(dist()).run().ok();
}

#[test]
fn the_repositorys_own_marketplace_passes_the_validation() {
    let stage = Stage::new();
    stage.claude().args(["plugin", "validate"]).arg(repository()).run().ok();
}

#[test]
fn installed_from_a_clone_without_programs_it_says_so_once_and_breaks_nothing() {
    let stage = Stage::new();
    let clone = stage.world.path("clone");
    copy(&["plugin", "hooks", ".claude-plugin"], &clone);
    stage.claude().args(["plugin", "marketplace", "add"]).arg(&clone).run().ok();
    stage.claude().args(["plugin", "install", "model-orchestration@model-orchestration"]).run().ok();

    let session = stage.claude().args(["-p", "#bash echo hi\n#report"]).args(ALL_EVENTS);
    let session = session.args(["--permission-mode", "bypassPermissions"]);
    let tells = ability::has_flag(&stage, &[], HOOK_EVENTS);
    let output = if tells { session.arg(HOOK_EVENTS) } else { session }.run().ok();
    if tells {
        let responses = hook_responses(&output);
        assert!(responses.iter().any(|(event, _, _)| event == "PostToolUse"), "{}", output.whole());
        assert!(responses.iter().all(|(_, code, _)| *code == 0), "{}", output.whole());
        let spoken: Vec<_> = responses.iter().filter(|(_, _, stdout)| !stdout.is_empty()).collect();
        assert_eq!(spoken.len(), 1, "{}", output.whole());
        assert!(spoken[0].0 == "SessionStart" && spoken[0].2.contains("make install"), "{spoken:?}");
    }
}

/// Copies these folders of the repository, links as links, as a clone would have them.
fn copy(folders: &[&str], to: &Path) {
    std::fs::create_dir_all(to).expect("a folder in the sealed home");
    let from = folders.iter().map(|name| repository().join(name));
    let copied = Command::new("cp").arg("-R").args(from).arg(to).output().expect("cp starts");
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
}

#[test]
fn installed_from_the_dist_marketplace_its_start_text_reaches_the_model() {
    let stage = Stage::with_demo();
    stage.install_plugin();
    stage.claude().args(["-p", "hello"]).run().ok();
    let read = stage.manager_read();
    assert!(read.contains(&first_rule()), "the rules reached the model: {read}");
    assert!(read.contains("demo") && read.contains(MODEL), "the inventory reached the model: {read}");
}

#[test]
fn fifty_workers_reach_the_model_whole_and_below_the_limit() {
    let stage = Stage::with_demo();
    for number in 0..49 {
        stage.shell_worker(&format!("worker-{number:02}-{}", "x".repeat(40)), &stage.workers, WORKER_KEY);
    }
    let session = stage.session("hello").args(ALL_EVENTS);
    let tells = ability::has_flag(&stage, &[], HOOK_EVENTS);
    if !tells {
        session.run().ok();
        let read = stage.manager_read();
        assert!(read.contains(&first_rule()) && read.contains("worker-00-"), "{read}");
        return;
    }
    let output = session.arg(HOOK_EVENTS).run().ok();
    let said = hook_responses(&output).into_iter().find(|(event, _, _)| event == "SessionStart");
    let (_, _, stdout) = said.expect("the start hook spoke");
    let answer: Value = serde_json::from_str(&stdout).expect("its answer is JSON");
    let text = answer["hookSpecificOutput"]["additionalContext"].as_str().expect("a text for the model");
    assert!(text.chars().count() < 9_000, "{} characters", text.chars().count());
    assert!(stage.manager_read().contains(text.trim()), "the client cut it:\n{}", stage.manager_read());
}

#[test]
fn the_off_switch_works_in_user_and_in_project_settings() {
    const OFF: &str = r#"{"env": {"MODEL_ORCHESTRATION_DELEGATION": "Off"}}"#;
    for (file, content) in
        [("project/README", ""), ("project/.claude/settings.json", OFF), (".claude/settings.json", OFF)]
    {
        let stage = Stage::with_demo();
        stage.world.write("project/README", "");
        stage.world.write(file, content);
        stage.session("hello").cwd(stage.world.path("project")).run().ok();
        let read = stage.manager_read();
        let told = read.contains(&first_rule()) || read.contains(MODEL);
        assert_eq!(told, content != OFF, "{file}: the model read: {read}");
    }
}
