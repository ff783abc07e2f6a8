//! `make install` and `make uninstall` with a real Claude Code: twice is as good as once, and away is away.

use support::{Output, Run, World};

use crate::ability;
use crate::stage::{Stage, dist, repository};

/// The client's own version of the switch that an installed plugin has.
const PLUGIN: &str = "model-orchestration@model-orchestration";

fn script(stage: &Stage, name: &str) -> Run {
    stage.world.command(repository().join("scripts").join(name)).arg(dist())
}

/// The installed plugins as the client lists them, where it can.
fn plugins(stage: &Stage) -> Option<Output> {
    let can = ability::has_flag(stage, &["plugin"], "list");
    can.then(|| stage.claude().args(["plugin", "list"]).run().ok())
}

#[test]
fn installing_twice_is_as_good_as_once_and_uninstalling_leaves_only_the_workers() {
    let mut stage = Stage::new();
    stage.world.bin_of(stage.world.path(".local/bin/mo-hook"));
    stage.world.write(".claude/CLAUDE.md", "mine\n");
    for _ in 0..2 {
        script(&stage, "install").run().ok();
        assert!(plugins(&stage).is_none_or(|listed| listed.text().contains(PLUGIN)));
        let read = stage.installed_session("#say hello");
        read.run().ok().stdout_has("hello");
        assert!(stage.manager_read().contains("Delegation"), "the start text reached no model");
    }
    stage.worker("demo", &stage.workers, "key-of-no-account-0123");
    assert_eq!(
        stage.world.command("/bin/sh").args(["-c", "command -v mo-spawn"]).run().ok().text().trim(),
        stage.world.path(".local/bin/mo-spawn").to_string_lossy()
    );

    script(&stage, "uninstall").run().ok().stdout_has("your workers");
    assert!(plugins(&stage).is_none_or(|listed| !listed.text().contains(PLUGIN)));
    let ours =
        |path: &std::path::PathBuf| path.starts_with(".local") || path.starts_with(".claude/plugins/cache");
    let left: Vec<_> = stage.world.files().into_iter().filter(ours).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(stage.world.read(".claude/CLAUDE.md"), "mine\n");
    assert!(stage.world.path(".claude-workers/demo/settings.json").is_file());
}

#[test]
fn whoever_switched_the_plugin_off_keeps_it_off() {
    let stage = Stage::new();
    script(&stage, "install").run().ok();
    stage.claude().args(["plugin", "disable", PLUGIN]).run().ok();
    script(&stage, "install").run().ok().stdout_has("still disabled");
    stage.installed_session("#say hello").run().ok();
    assert!(!stage.manager_read().contains("# Delegation"));
}

#[test]
fn without_claude_code_the_programs_are_installed_all_the_same() {
    let world = World::new();
    world
        .command(repository().join("scripts/install"))
        .arg(dist())
        .run()
        .ok()
        .stdout_has("claude plugin marketplace add");
    assert!(world.path(".local/bin/mo-spawn").is_file());
}
