//! `--worktree` with the real client: work on a branch of its own, committed when it is right, kept when it is not.

use serde_json::{Value, json};
use support::{Run, World};

use crate::stage::{Stage, WORKER_KEY};

impl Stage {
    /// A stage with the worker `demo` and a repository in `repo`, whose tree is dirty.
    fn with_repository(world: World) -> Self {
        let stage = Self::in_world(world);
        stage.worker("demo", &stage.workers, WORKER_KEY);
        stage.world.write(".gitconfig", "[user]\nname = User\nemail = user@example.com\n");
        stage.world.write("repo/deep/a", "one\n");
        stage.git(&["init", "-q", "-b", "main"]);
        stage.git(&["add", "."]);
        stage.git(&["commit", "-qm", "first"]);
        stage.world.write("repo/deep/a", "not committed\n");
        stage
    }

    fn in_tree(&self, prompt: &str) -> Run {
        let run = self.task(prompt).args(["--json", "--worktree"]).cwd(self.world.path("repo/deep"));
        run.args(["--title", "add made"])
    }
}

#[test]
fn work_that_is_right_is_committed_and_can_be_merged() {
    let stage = Stage::with_repository(World::with_odd_path());
    let before = stage.git(&["status", "--porcelain", "--ignored"]);
    let prompt = "#bash pwd > made && cat a >> made\n#say made it";
    let said: Value = stage.in_tree(prompt).args(["--check", "grep -q one made"]).run().ok().json();
    assert_eq!((&said["status"], &said["files"]), (&json!("done"), &json!(["deep/made"])), "{said:#}");
    assert_eq!(
        stage.git(&["status", "--porcelain", "--ignored"]),
        before,
        "the checkout shows nothing of the tree"
    );
    let (branch, commit) = (said["branch"].as_str().expect("a branch"), &said["commit"]);
    assert_eq!(commit, &json!(stage.git(&["rev-parse", branch])));
    let body = stage.git(&["log", "-1", "--format=%B", branch]);
    assert!(
        body.starts_with("add made\n\nmade it\n\nMo-Dispatch: d-") && body.contains("\nMo-Worker: demo\n")
    );
    let record = stage.record();
    assert!(record["cwd"].as_str().is_some_and(|cwd| cwd.ends_with("/deep/") || cwd.ends_with("/deep")));
    assert_eq!(
        (&record["commit"], &record["base_commit"]),
        (commit, &json!(stage.git(&["rev-parse", "main"])))
    );
    stage.git(&["checkout", "-q", "--", "."]);
    assert_eq!(said["merge"], format!("git merge {branch}"));
    stage.git(&["merge", "-q", branch]);
    assert!(stage.world.read("repo/deep/made").contains("/.worktrees/repo-"));
    let list =
        stage.world.command(env!("CARGO_BIN_EXE_mo-spawn")).args(["worktrees", "--prune", "--json", "--all"]);
    let list: Value = list.run().ok().json();
    assert_eq!(
        (&list["worktrees"][0]["state"], &list["worktrees"][0]["pruned"]),
        (&json!("merged"), &json!(true))
    );
    stage.nothing_is_left();
}

#[test]
fn work_that_is_not_right_stays_in_the_tree_uncommitted() {
    let stage = Stage::with_repository(World::new());
    let words = ["--check", "false", "--attempts", "1"];
    let said: Value = stage.in_tree("#write made x\n#say made it").args(words).run().code(1).json();
    assert_eq!(
        (&said["status"], &said["files"]),
        (&json!("check-failed"), &json!(["deep/made"])),
        "{said:#}"
    );
    assert_eq!((&said["commit"], &said["merge"]), (&Value::Null, &Value::Null));
    let tree = std::path::PathBuf::from(said["worktree"].as_str().expect("a tree"));
    assert_eq!(std::fs::read_to_string(tree.join("deep/made")).expect("the file").trim(), "x");
}

#[test]
fn where_nothing_was_changed_nothing_is_left() {
    let stage = Stage::with_repository(World::new());
    let said: Value = stage.in_tree("#say nothing to do").run().ok().json();
    assert_eq!(
        (&said["branch"], &said["worktree"], &said["merge"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    assert_eq!(stage.git(&["for-each-ref", "refs/heads/mo"]), "");
    // Also where it never came to a start.
    stage.in_tree("#say x").args(["--model", "claude-x"]).run().code(64);
    assert_eq!(stage.git(&["for-each-ref", "refs/heads/mo"]), "");
}

#[test]
fn what_a_killed_run_leaves_is_kept_and_told() {
    let stage = Stage::with_repository(World::new());
    let prompt = "#write made x\n#bash touch \"$HOME/at-work\"; while :; do sleep 1; done";
    let run = stage.in_tree(prompt).spawn();
    support::wait_until("the worker at work", || stage.world.path("at-work").exists());
    run.kill();
    stage.nothing_is_left();
    let list = || -> Value {
        let run = stage.world.command(env!("CARGO_BIN_EXE_mo-spawn"));
        run.args(["worktrees", "--all", "--prune", "--json"]).run().ok().json()
    };
    let tree = &list()["worktrees"][0];
    assert_eq!(
        (&tree["state"], &tree["why"]),
        (&json!("dirty"), &json!("not committed: deep/made")),
        "{tree:#}"
    );
    assert_eq!((&tree["title"], &tree["pruned"]), (&json!("add made"), &json!(false)));
}

#[test]
fn in_the_callers_own_tree_only_what_the_run_changed_is_told() {
    let stage = Stage::with_repository(World::new());
    stage.world.write("repo/untracked", "before");
    let run = stage.task("#write made x\n#bash git add made; git commit -qm made\n#write deep/new x");
    let said: Value = run.arg("--json").cwd(stage.world.path("repo")).run().ok().json();
    assert_eq!((&said["files"], &said["branch"]), (&json!(["deep/new", "made"]), &Value::Null), "{said:#}");
}
