//! Settings of a project that lie elsewhere than in the directory: the client reads them from the repository's top, and
//! in a linked work tree from the main checkout. No login follows them.

use std::process::Command;

use serde_json::json;

use crate::accounts::{account, several, stage};
use crate::launcher::Launch;
use crate::stage::Stage;

const LOCAL: &str = "repo/.claude/settings.local.json";

/// A repository below home with a directory `sub`, and a linked work tree `linked` beside it.
fn repository(stage: &Stage) {
    stage.world.write("repo/sub/file", "one\n");
    git(stage, &["init", "-q", "-b", "main"]);
    stage.world.write("repo/.git/info/exclude", ".claude/settings.local.json\n");
    commit(stage);
    git(stage, &["worktree", "add", "-q", "../linked"]);
}

fn commit(stage: &Stage) {
    git(stage, &["add", "-A"]);
    git(stage, &["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "more"]);
}

#[track_caller]
fn git(stage: &Stage, words: &[&str]) {
    let mut git = Command::new("git");
    git.args(words).current_dir(stage.world.path("repo")).env("HOME", stage.world.home());
    let output = git.output().expect("git starts");
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Settings that lead to the workers' provider, which no login is for.
fn elsewhere(stage: &Stage) -> String {
    json!({"env": {"ANTHROPIC_BASE_URL": stage.workers.url()}}).to_string()
}

#[test]
fn an_accounts_login_follows_no_settings_of_the_top_or_the_main_checkout() {
    let (stage, provider) = stage();
    account(&stage, "work", ".claude-work", &provider);
    several(&stage);
    repository(&stage);
    let run = |directory: &str, words: &[&str]| {
        stage.spawn("work").args(words).cwd(stage.world.path(directory)).stdin("#say done").run()
    };
    stage.world.write(LOCAL, elsewhere(&stage));
    for directory in ["repo", "repo/sub", "linked", "linked/sub"] {
        run(directory, &["-p", "#say x"]).code(78).stderr_has("repo/.claude/settings.local.json");
        run(directory, &["--task", "-"]).code(78).stderr_has("ANTHROPIC_BASE_URL");
        run(directory, &["--task", "-", "--worktree"]).code(78);
    }
    std::fs::remove_file(stage.world.path(LOCAL)).expect("the file goes");
    run("linked/sub", &["-p", "#say x"]).ok();
    // A tree is made of another commit than the one that was looked at.
    stage.world.write("repo/.claude/settings.json", elsewhere(&stage));
    commit(&stage);
    git(&stage, &["rm", "-q", ".claude/settings.json"]);
    commit(&stage);
    run("repo", &["--task", "-", "--worktree=HEAD~1"]).code(78).stderr_has(".claude/settings.json");
    run("repo", &["--task", "-", "--worktree"]).ok();
    assert!(stage.workers.requests().is_empty(), "the login went elsewhere");
    assert!(!provider.asked().is_empty());
    stage.nothing_is_left();
}

#[test]
fn a_session_through_the_gateway_follows_no_settings_of_the_top_or_the_main_checkout() {
    let launch = Launch::new();
    let stage = &launch.stage;
    repository(stage);
    stage.world.write(LOCAL, elsewhere(stage));
    for directory in ["repo", "repo/sub", "linked", "linked/sub"] {
        let run = launch.turn("#say x").cwd(stage.world.path(directory)).run();
        run.code(78).stderr_has("repo/.claude/settings.local.json");
    }
    std::fs::remove_file(stage.world.path(LOCAL)).expect("the file goes");
    // What is written after the look leads nowhere else either.
    let late = format!(
        "#!/bin/sh\nprintf '%s' '{}' > ../.claude/settings.local.json\nexec claude \"$@\"\n",
        elsewhere(stage)
    );
    stage.world.write("late/claude", late);
    stage.world.set_mode("late/claude", 0o755);
    let late = stage.world.path("late/claude");
    let client = late.to_str().expect("a path in UTF-8");
    launch.turn_of(client, "#say x").cwd(stage.world.path("repo/sub")).run().ok();
    assert!(stage.world.path(LOCAL).exists());
    assert!(stage.workers.requests().is_empty(), "the login went elsewhere");
    assert!(!launch.anthropic.asked().is_empty());
    launch.end();
}
