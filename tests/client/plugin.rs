//! The plugin as Claude Code takes it: valid, installable, and never in the way.

use std::path::Path;
use std::process::Command;

use crate::stage::{Stage, dist, hook_responses, repository};

/// Every event that a session prints, those of hooks included.
const ALL_EVENTS: [&str; 4] = ["--output-format", "stream-json", "--verbose", "--include-hook-events"];

#[test]
fn the_assembled_plugin_passes_the_strict_validation() {
    let stage = Stage::new();
    let validate = ["plugin", "validate", "--strict", "--profile", "directory"];
    stage.claude().args(validate).arg(dist()).run().ok();
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
    let output = session.args(["--permission-mode", "bypassPermissions"]).run().ok();
    let responses = hook_responses(&output);
    assert!(responses.iter().any(|(event, _, _)| event == "PostToolUse"), "{}", output.whole());
    assert!(responses.iter().all(|(_, code, _)| *code == 0), "{}", output.whole());
    let spoken: Vec<_> = responses.iter().filter(|(_, _, stdout)| !stdout.is_empty()).collect();
    assert_eq!(spoken.len(), 1, "{}", output.whole());
    assert!(spoken[0].0 == "SessionStart" && spoken[0].2.contains("make install"), "{spoken:?}");
}

/// Copies these folders of the repository, links as links, as a clone would have them.
fn copy(folders: &[&str], to: &Path) {
    std::fs::create_dir_all(to).expect("a folder in the sealed home");
    let from = folders.iter().map(|name| repository().join(name));
    let copied = Command::new("cp").arg("-R").args(from).arg(to).output().expect("cp starts");
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
}
