//! `mo-spawn worktrees`, on trees that a real repository and a card make: what is listed, what is pruned, and that
//! nothing goes which is nowhere else.

use std::path::PathBuf;

use serde_json::{Value, json};
use support::{Run, World};

/// A world with a repository, and trees of dispatches in it.
struct Scene {
    world: World,
    repo: PathBuf,
    folder: PathBuf,
    made: std::cell::Cell<usize>,
}

impl Scene {
    fn new() -> Self {
        Self::in_world(World::new())
    }

    fn in_world(world: World) -> Self {
        world.write(".gitconfig", "[user]\nname = User\nemail = user@example.com\n");
        let repo = world.path("re po");
        std::fs::create_dir(&repo).unwrap();
        let folder = world.root().join(".worktrees/re-po-0");
        let scene = Self { world, repo, folder, made: std::cell::Cell::new(0) };
        scene.git(&["init", "-q", "-b", "main"]);
        scene.commit(&scene.repo.clone(), "a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
        scene
    }

    fn git(&self, words: &[&str]) -> String {
        self.git_at(&self.repo, words)
    }

    fn git_at(&self, at: &std::path::Path, words: &[&str]) -> String {
        self.world.command("/usr/bin/env").arg("git").args(words.iter().copied()).cwd(at).run().ok().text()
    }

    fn commit(&self, at: &std::path::Path, file: &str, text: &str) {
        std::fs::write(at.join(file), text).unwrap();
        self.git_at(at, &["add", "."]);
        self.git_at(at, &["commit", "-qm", file]);
    }

    /// A tree of a dispatch, as `--worktree` makes it.
    fn tree(&self) -> (String, PathBuf) {
        self.made.set(self.made.get() + 1);
        let id = format!("d-{:026}", self.made.get());
        let tree = self.folder.join(&id);
        let branch = format!("mo/{id}");
        std::fs::create_dir_all(&self.folder).unwrap();
        self.git(&["worktree", "add", "-q", "--lock", "-b", &branch, tree.to_str().unwrap()]);
        let card = json!({
            "version": 1, "id": id, "branch": branch, "created": "2026-12-01T09:00:00.000Z",
            "common_dir": self.repo.join(".git"), "repo": self.repo,
            "git_dir": self.repo.join(".git/worktrees").join(&id),
            "base_commit": self.git(&["rev-parse", "main"]).trim(),
        });
        std::fs::write(self.folder.join(format!("{id}.json")), card.to_string()).unwrap();
        (id, tree)
    }

    fn worktrees(&self, words: &[&str]) -> Run {
        let run = self.world.command(env!("CARGO_BIN_EXE_mo-spawn")).arg("worktrees").cwd(&self.repo);
        run.args(words.iter().copied())
    }

    /// The rows after this call.
    fn rows(&self, words: &[&str]) -> Vec<Value> {
        let document: Value = self.worktrees(&[words, &["--json"]].concat()).run().ok().json();
        document["worktrees"].as_array().unwrap().clone()
    }

    /// The only row's state, and why.
    fn state(&self, words: &[&str]) -> (String, String) {
        let rows = self.rows(words);
        assert_eq!(rows.len(), 1, "{rows:#?}");
        let text = |name: &str| rows[0][name].as_str().unwrap_or_default().to_owned();
        (text("state"), text("why"))
    }

    fn branches(&self) -> usize {
        self.git(&["for-each-ref", "refs/heads/mo"]).lines().count()
    }
}

#[test]
fn each_state_is_told() {
    let scene = Scene::new();
    scene.worktrees(&[]).run().ok().stderr_has("there are no worktrees");
    let (id, tree) = scene.tree();
    assert_eq!(scene.state(&[]).0, "empty");
    std::fs::write(tree.join("new"), "x").unwrap();
    assert_eq!(scene.state(&[]), ("dirty".into(), "not committed: new".into()));
    scene.commit(&tree, "new", "x");
    assert_eq!(scene.state(&[]).0, "clean");
    scene.git(&["merge", "-q", "--no-ff", "-m", "m", &format!("mo/{id}")]);
    let row = &scene.rows(&[])[0];
    assert_eq!((&row["state"], &row["merged_into"]), (&"merged".into(), &"main".into()));
    assert_eq!(row["size_bytes"].as_u64().map(|size| size > 0), Some(true));
    let shown = scene.worktrees(&[]).run().ok();
    shown.stdout_has(&id).stdout_has("3h").stderr_has("--prune");
    scene.git(&["worktree", "unlock", tree.to_str().unwrap()]);
    std::fs::remove_dir_all(&tree).unwrap();
    assert_eq!(scene.state(&[]).0, "orphaned");
}

#[test]
fn only_what_is_empty_or_merged_is_pruned() {
    let scene = Scene::new();
    let (_, empty) = scene.tree();
    let (merged_id, merged) = scene.tree();
    let (dirty_id, dirty) = scene.tree();
    let (clean_id, clean) = scene.tree();
    scene.commit(&merged, "m", "m");
    std::fs::write(dirty.join("d"), "d").unwrap();
    scene.commit(&clean, "c", "c");
    scene.git(&["merge", "-q", &format!("mo/{merged_id}")]);
    let rows = scene.rows(&["--prune"]);
    let pruned: Vec<_> = rows.iter().map(|row| row["pruned"].as_bool().unwrap()).collect();
    assert_eq!(pruned, [true, true, false, false]);
    assert!(!empty.exists() && !merged.exists() && dirty.join("d").exists() && clean.join("c").exists());
    assert_eq!(scene.branches(), 2);
    let left: Vec<_> = scene.rows(&[]).iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(left, [dirty_id, clean_id]);
}

#[test]
fn three_commits_that_were_squashed_are_recognised_also_when_the_target_moved_on() {
    let scene = Scene::new();
    let (id, tree) = scene.tree();
    scene.commit(&tree, "a", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    scene.commit(&tree, "b", "b\n");
    scene.commit(&tree, "b", "b\nmore\n");
    assert_eq!(scene.state(&["--prune"]).0, "clean");
    scene.commit(&scene.repo, "before", "x");
    scene.git(&["merge", "-q", "--squash", &format!("mo/{id}")]);
    scene.git(&["commit", "-qm", "squashed"]);
    // The same lines change again: merging the branch now would conflict.
    scene.commit(&scene.repo, "a", "0\n1\n2\n3\n4\n5\n6\n7\n8\n99\n");
    scene.commit(&scene.repo, "b", "other\n");
    assert_eq!(scene.state(&[]).0, "merged");
    let row = &scene.rows(&["--prune"])[0];
    assert_eq!((&row["pruned"], &row["merged_into"]), (&true.into(), &"main".into()));
    assert!(!tree.exists() && scene.branches() == 0);
}

#[test]
fn work_that_was_squashed_elsewhere_is_recognised_once_it_was_fetched() {
    let scene = Scene::new();
    let (origin, other) = (scene.world.path("origin.git"), scene.world.path("other"));
    scene.git(&["clone", "-q", "--bare", ".", origin.to_str().unwrap()]);
    scene.git(&["remote", "add", "origin", origin.to_str().unwrap()]);
    let (id, tree) = scene.tree();
    scene.commit(&tree, "b", "b\n");
    scene.commit(&tree, "b", "b\nmore\n");
    // A branch that was pushed is held by its remote twin, until that goes.
    let branch = format!("mo/{id}");
    scene.git(&["push", "-q", "origin", &branch]);
    assert_eq!(scene.rows(&[])[0]["merged_into"], format!("origin/{branch}"));
    scene.git_at(&scene.world.path("."), &["clone", "-q", origin.to_str().unwrap(), other.to_str().unwrap()]);
    scene.git_at(&other, &["merge", "-q", "--squash", &format!("origin/{branch}")]);
    scene.git_at(&other, &["commit", "-qm", "a pull request (#1)"]);
    scene.git_at(&other, &["push", "-q", "origin", "main", &format!(":{branch}")]);
    scene.git(&["remote", "prune", "origin"]);
    assert_eq!(scene.state(&["--prune"]).0, "clean");
    scene.git(&["fetch", "-q"]);
    let row = &scene.rows(&["--prune"])[0];
    assert_eq!((&row["pruned"], &row["merged_into"]), (&true.into(), &"origin/main".into()), "{row:#}");
}

#[test]
fn commits_that_were_rebased_are_recognised_and_a_part_of_them_is_not() {
    let scene = Scene::new();
    let (id, tree) = scene.tree();
    scene.commit(&tree, "b", "b\n");
    scene.commit(&tree, "c", "c\n");
    scene.commit(&scene.repo, "before", "x");
    scene.git(&["cherry-pick", &format!("mo/{id}~1")]);
    assert_eq!(scene.state(&["--prune"]).0, "clean");
    scene.git(&["cherry-pick", &format!("mo/{id}")]);
    scene.git(&["rm", "-q", "c"]);
    scene.git(&["commit", "-qm", "c goes again"]);
    assert_eq!(scene.state(&["--prune"]).0, "merged");
    assert!(!tree.exists() && scene.branches() == 0);
}

#[test]
fn what_only_looks_merged_is_kept() {
    let scene = Scene::new();
    let (_, tree) = scene.tree();
    // The title is there, and the lines but for their blanks; a binary file but for a byte.
    scene.commit(&tree, "code.py", "if x:\n    a()\n    b()\n");
    scene.commit(&scene.repo, "code.py", "if x:\n    a()\nb()\n");
    assert_eq!(scene.state(&["--prune"]).0, "clean");
    let (_, other) = scene.tree();
    scene.commit(&other, "image", "\0\u{1}a");
    scene.commit(&scene.repo, "image", "\0\u{1}b");
    // Two dispatches that did the same hold nothing for each other.
    let (_, third) = scene.tree();
    scene.commit(&third, "image", "\0\u{1}c");
    let (_, fourth) = scene.tree();
    scene.commit(&fourth, "image", "\0\u{1}c");
    scene.git_at(&fourth, &["commit", "-q", "--amend", "-m", "another"]);
    // Commits whose sum is nothing are commits still.
    let (_, undone) = scene.tree();
    scene.commit(&undone, "tmp", "x");
    scene.git_at(&undone, &["rm", "-q", "tmp"]);
    scene.git_at(&undone, &["commit", "-qm", "gone"]);
    for row in scene.rows(&["--prune"]) {
        assert_eq!(row["state"], "clean", "{row:#}");
    }
    assert_eq!(scene.branches(), 5);
}

#[test]
fn a_merge_driver_that_throws_changes_away_proves_nothing() {
    let scene = Scene::new();
    scene.git(&["config", "merge.mine.driver", "true"]);
    scene.commit(&scene.repo, ".gitattributes", "version merge=mine\n");
    scene.commit(&scene.repo, "version", "1\n");
    let (_, tree) = scene.tree();
    scene.commit(&tree, "version", "worker\n");
    scene.commit(&scene.repo, "version", "user\n");
    assert_eq!(scene.state(&["--prune"]).0, "clean");
    assert!(tree.exists());
}

#[test]
fn a_stash_another_name_and_a_half_done_rebase_hold_nothing() {
    let scene = Scene::new();
    let (id, tree) = scene.tree();
    scene.commit(&tree, "b", "b\n");
    scene.git(&["symbolic-ref", "refs/heads/alias", &format!("refs/heads/mo/{id}")]);
    std::fs::write(tree.join("b"), "more").unwrap();
    scene.git_at(&tree, &["stash", "-q"]);
    assert_eq!(scene.state(&["--prune"]).0, "clean");
    scene.git_at(&tree, &["stash", "drop", "-q"]);
    // A commit that only HEAD of the tree holds.
    scene.git(&["symbolic-ref", "-d", "refs/heads/alias"]);
    scene.git(&["merge", "-q", &format!("mo/{id}")]);
    scene.git_at(&tree, &["checkout", "-q", "--detach"]);
    scene.commit(&tree, "only here", "x");
    let (state, why) = scene.state(&["--prune"]);
    assert!(state == "clean" && why.contains("is on no branch"), "{state}: {why}");
    std::fs::create_dir(scene.repo.join(".git/worktrees").join(&id).join("rebase-merge")).unwrap();
    assert_eq!(scene.state(&["--prune"]), ("dirty".into(), "in the middle of a rebase".into()));
}

#[test]
fn a_tree_in_use_is_left_alone() {
    let scene = Scene::new();
    let (_, tree) = scene.tree();
    let mut visitor = scene.world.command("/bin/sh").args(["-c", "echo in; read x"]).cwd(&tree);
    visitor = visitor.stdin_held_open();
    let mut visitor = visitor.spawn();
    visitor.wait_for_stdout("in");
    if cfg!(target_os = "linux") {
        let (state, why) = scene.state(&["--prune"]);
        assert!(state == "in use" && why.contains("works in it"), "{state}: {why}");
    }
    visitor.close_stdin();
    visitor.wait();
    let lock = tree.with_extension("lock");
    let words = ["-c", "exec 9>\"$1\"; flock 9; echo held; read x", "sh", lock.to_str().unwrap()];
    let mut holder = scene.world.command("/bin/sh").args(words).stdin_held_open().spawn();
    holder.wait_for_stdout("held");
    assert_eq!(scene.state(&["--prune"]).0, "in use");
    holder.close_stdin();
    holder.wait();
    assert_eq!(scene.state(&["--prune"]).0, "empty");
    assert!(!tree.exists());
}

#[test]
fn a_worker_that_outlived_its_mo_spawn_still_uses_its_tree() {
    let scene = Scene::new();
    let (id, tree) = scene.tree();
    let script = "cat /proc/$$/stat 2>/dev/null || ps -o lstart= -p $$; echo up; read x";
    let mut worker = scene.world.command("/bin/sh").args(["-c", script]).stdin_held_open().spawn();
    worker.wait_for_stdout("up");
    let said = worker.stdout();
    let line = said.lines().next().unwrap();
    let started = line.rsplit_once(") ").and_then(|(_, rest)| rest.split_whitespace().nth(19));
    let record = json!({
        "version": 1, "id": id, "worker": "w", "status": "running", "pid": worker.id(),
        "start_time": started.unwrap_or(line.trim()),
    });
    scene.world.write(format!(".claude-workers/.dispatch/2026-12/{id}.json"), record.to_string());
    let (state, why) = scene.state(&["--prune"]);
    assert!(state == "in use" && why.contains("worker w"), "{state}: {why}");
    worker.close_stdin();
    worker.wait();
    assert_eq!(scene.state(&["--prune"]).0, "empty");
    assert!(!tree.exists());
}

#[test]
fn a_repository_that_moved_or_went_is_told_and_its_trees_stay() {
    let scene = Scene::new();
    let (_, tree) = scene.tree();
    let (_, other) = scene.tree();
    scene.git(&["worktree", "unlock", other.to_str().unwrap()]);
    scene.git(&["worktree", "move", other.to_str().unwrap(), scene.world.path("moved").to_str().unwrap()]);
    let rows = scene.rows(&["--prune", "--all"]);
    assert!(rows[0]["pruned"] == true && rows[1]["why"].as_str().unwrap().contains("moved to"), "{rows:#?}");
    assert!(!tree.exists());
    let (_, tree) = scene.tree();
    std::fs::rename(&scene.repo, scene.world.path("elsewhere")).unwrap();
    std::fs::create_dir(&scene.repo).unwrap();
    let rows = scene.rows(&["--prune", "--all"]);
    for row in &rows {
        assert!(row["state"] == "broken" && row["why"].as_str().unwrap().contains("is gone"), "{row:#}");
    }
    assert!(tree.join("a").exists());
}
