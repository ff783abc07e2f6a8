//! A confined task with the real client: it works, it is counted, and what it tries outside is refused.

#![cfg(target_os = "linux")]

use std::path::Path;

use serde_json::{Value, json};

use crate::stage::{MODEL, Stage};

/// A stage whose home holds a repository.
fn with_repository() -> Stage {
    let stage = Stage::with_demo();
    let script = "git init -q -b main repo && cd repo && git config user.name u && git config user.email u@x \
        && echo a > a && git add . && git commit -qm first";
    stage.world.command("/bin/sh").args(["-c", script]).run().ok();
    stage
}

#[test]
fn a_confined_task_commits_on_its_own_branch_and_touches_nothing_else() {
    let stage = with_repository();
    let home = stage.world.home().display().to_string();
    let tries = format!(
        "echo work > made; git add made; git -c user.name=w -c user.email=w@x commit -qm mine; echo x > {home}/new; \
         echo x > {home}/repo/.git/hooks/post-commit; git config user.name evil; echo x > {home}/repo/a; \
         (setsid sh -c 'echo x > {home}/daemon' >/dev/null 2>&1 &); echo tried"
    );
    let check = format!("test -f made && ! echo x > {home}/checked");
    let flags =
        ["--task", "-", "--worktree", "--sandbox", "--json", "--permission-mode", "bypassPermissions"];
    let run = stage.spawn("demo").args(flags).args(["--check", &check]).cwd(stage.world.path("repo"));
    let said: Value = run.stdin(format!("#bash {tries}\n#write more.txt y\n#say done")).run().ok().json();
    assert_eq!((&said["status"], &said["files"]), (&json!("done"), &json!(["made", "more.txt"])), "{said:#}");
    for path in ["new", "daemon", "checked", "repo/.git/hooks/post-commit"] {
        assert!(!stage.world.path(path).exists(), "{path}");
    }
    assert_eq!(stage.world.read("repo/a"), "a\n");
    assert!(!stage.world.read("repo/.git/config").contains("evil"));
    // What it used is counted: its transcript could be written.
    assert_eq!(said["usage"], json!({MODEL: stage.accounted(&stage.workers.served())}), "{said:#}");
    let branch = said["branch"].as_str().expect("a branch");
    let log =
        stage.world.command("/usr/bin/git").args(["-C", "repo", "log", "--format=%s", branch]).run().ok();
    assert!(log.text().contains("mine\nfirst\n"), "{}", log.text());
    stage.nothing_is_left();
}

#[test]
fn a_confined_session_is_a_whole_session() {
    let stage = Stage::with_demo();
    std::fs::create_dir(stage.world.path("here")).expect("a directory");
    let prompt = "#bash mkdir deep && echo $TMPDIR > deep/where && mktemp > deep/temp\n#write a.txt x\n#read a.txt\n#say done";
    let run =
        || stage.world.command(env!("CARGO_BIN_EXE_mo-spawn")).arg("--sandbox").cwd(stage.world.path("here"));
    let output = run().args(["demo", "-p", prompt, "--permission-mode", "bypassPermissions"]).run().ok();
    output.stdout_has("done");
    let (home, temp) = (stage.world.read("here/deep/temp"), stage.world.read("here/deep/where"));
    assert!(home.starts_with(temp.trim()) && !Path::new(temp.trim()).exists(), "{home} {temp}");
    let record = stage.record();
    assert_eq!((&record["status"], &record["denials"]), (&json!("done"), &json!([])), "{record:#}");
    assert_eq!(record["usage"], json!({MODEL: stage.accounted(&stage.workers.served())}), "{record:#}");
    let session = record["worker_sessions"][0].as_str().expect("a session").to_owned();
    run().args(["demo", "-p", "#say again", "--resume", &session]).run().ok().stdout_has("again");
}
