//! How work is kept: committed on the branch, left in the tree, or nothing left where nothing was done.

use std::fs;

use super::{Scene, message, put};
use crate::worktree::{Left, Worktree};

#[test]
fn all_work_is_committed_on_the_branch_with_trailers() {
    let scene = Scene::new();
    let mut tree = scene.create();
    put(&tree.path.join("dir/b"), "b");
    fs::remove_file(tree.path.join("a")).unwrap();
    assert_eq!(tree.changed_files().unwrap(), ["a", "dir/b"]);
    let commit = tree.commit(&message()).unwrap().unwrap();
    assert_eq!(scene.git(&["rev-parse", &tree.branch]), commit);
    let body = scene.git(&["log", "-1", "--format=%an|%s|%(trailers:only,unfold,separator=%x2C)", &commit]);
    assert_eq!(body, "User|add b|Mo-Dispatch: d-1,Mo-Worker: glm,Mo-Model: glm-5");
    assert_eq!(tree.changed_files().unwrap(), ["a", "dir/b"]);
    assert_eq!(tree.commit(&message()).unwrap().unwrap(), commit);
    let (branch, path) = (tree.branch.clone(), tree.path.clone());
    assert_eq!(tree.leave(&scene.world).unwrap(), Left::Committed);
    scene.git(&["merge", "-q", &branch]);
    assert!(!scene.repo.join("a").exists() && path.join("dir/b").exists());
}

#[test]
fn where_the_user_has_no_name_somebody_commits() {
    let scene = Scene::new();
    fs::remove_file(scene.home.join(".gitconfig")).unwrap();
    let mut tree = scene.create();
    put(&tree.path.join("b"), "b");
    let commit = tree.commit(&message()).unwrap().unwrap();
    assert_eq!(scene.git(&["log", "-1", "--format=%ce", &commit]), "mo-spawn@localhost");
}

#[test]
fn nothing_changed_leaves_nothing() {
    let scene = Scene::new();
    scene.write(".gitignore", "built\n");
    scene.git(&["add", "."]);
    scene.git(&["commit", "-qm", "ignore"]);
    let mut tree = scene.create();
    put(&tree.path.join("built"), "x");
    assert_eq!(tree.commit(&message()).unwrap(), None);
    let path = tree.path.clone();
    assert_eq!(tree.leave(&scene.world).unwrap(), Left::Removed);
    assert!(!path.exists() && scene.branches().is_empty());
    assert_eq!(scene.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
}

#[test]
fn work_that_is_not_committed_stays_in_the_tree_and_can_be_gone_on_with() {
    let scene = Scene::new();
    let id = scene.id();
    let tree = Worktree::create(&scene.world, &scene.repo, &id, None).unwrap();
    put(&tree.path.join("b"), "half");
    let again = Worktree::open(&scene.world, &id);
    assert!(again.is_err_and(|error| error.to_string().contains("still works in it")));
    assert_eq!(tree.leave(&scene.world).unwrap(), Left::Uncommitted);
    let mut tree = Worktree::open(&scene.world, &id).unwrap();
    assert_eq!(tree.changed_files().unwrap(), ["b"]);
    put(&tree.path.join("b"), "whole");
    assert!(tree.commit(&message()).unwrap().is_some());
    assert_eq!(scene.git(&["show", &format!("{}:b", tree.branch)]), "whole");
}

#[test]
fn commits_of_the_worker_count_and_a_branch_it_left_is_taken_along() {
    let scene = Scene::new();
    let mut tree = scene.create();
    let at = |words: &[&str]| scene.git_at(&tree.path, words);
    put(&tree.path.join("b"), "b");
    at(&["add", "."]);
    at(&["commit", "-qm", "its own"]);
    at(&["checkout", "-q", "-b", "feature"]);
    put(&tree.path.join("c"), "c");
    let commit = tree.commit(&message()).unwrap().unwrap();
    assert_eq!(scene.git(&["rev-parse", &tree.branch]), commit);
    assert_eq!(scene.git(&["rev-list", "--count", "main..feature"]), "2");
    assert_eq!(tree.changed_files().unwrap(), ["b", "c"]);
}

#[test]
fn a_line_of_its_own_is_told_and_nothing_is_moved_aside() {
    let scene = Scene::new();
    let mut tree = scene.create();
    let at = |words: &[&str]| scene.git_at(&tree.path, words);
    at(&["commit", "-q", "--allow-empty", "-m", "on the branch"]);
    let tip = at(&["rev-parse", "HEAD"]);
    at(&["checkout", "-q", "-b", "aside", "main"]);
    put(&tree.path.join("c"), "c");
    let error = tree.commit(&message()).unwrap_err();
    assert!(error.to_string().contains("a line of its own"), "{error}");
    assert_eq!(scene.git(&["rev-parse", &tree.branch]), tip);
    assert_eq!(scene.git(&["show", "aside:c"]), "c");
}

#[test]
fn an_undecided_merge_is_not_committed() {
    let scene = Scene::new();
    let mut tree = scene.create();
    put(&tree.path.join("a"), "ours\n");
    scene.git_at(&tree.path, &["commit", "-qam", "ours"]);
    scene.write("a", "theirs\n");
    scene.git(&["commit", "-qam", "theirs"]);
    let mut merge = std::process::Command::new("git");
    merge.args(["merge", "-q", "main"]).current_dir(&tree.path).env("HOME", &scene.home);
    assert!(!merge.output().unwrap().status.success());
    let error = tree.commit(&message()).unwrap_err();
    assert!(error.to_string().contains("a merge was left undecided"), "{error}");
    assert_eq!(tree.leave(&scene.world).unwrap(), Left::Uncommitted);
}

#[test]
fn a_repository_in_the_tree_is_neither_committed_nor_lost() {
    let scene = Scene::new();
    let mut tree = scene.create();
    let inner = tree.path.join("clone");
    fs::create_dir(&inner).unwrap();
    scene.git_at(&inner, &["init", "-q"]);
    put(&inner.join("x"), "x");
    put(&tree.path.join("b"), "b");
    tree.commit(&message()).unwrap().unwrap();
    assert!(tree.notes[0].contains("clone/ is a repository of its own"), "{:?}", tree.notes);
    assert_eq!(scene.git(&["ls-tree", "--name-only", &tree.branch]), "a\nb");
    assert_eq!(tree.leave(&scene.world).unwrap(), Left::Uncommitted);
    assert!(inner.join("x").exists());
}

#[test]
fn what_a_killed_git_left_behind_is_no_obstacle() {
    let scene = Scene::new();
    let mut tree = scene.create();
    put(&tree.path.join("b"), "b");
    put(&tree.git_dir.join("index.lock"), "");
    assert!(tree.commit(&message()).unwrap().is_some());
}

#[test]
fn a_tree_that_names_another_repository_is_not_believed() {
    let scene = Scene::new();
    let mut tree = scene.create();
    let evil = scene.home.join("evil");
    fs::create_dir(&evil).unwrap();
    scene.git_at(&evil, &["init", "-q"]);
    let run = format!("touch {}/ran", scene.home.display());
    scene.git_at(&evil, &["config", "core.fsmonitor", &run]);
    scene.git_at(&evil, &["config", "filter.x.clean", &run]);
    put(&tree.path.join(".git"), &format!("gitdir: {}/.git\n", evil.display()));
    put(&tree.path.join(".gitattributes"), "* filter=x\n");
    put(&tree.path.join("b"), "b");
    assert_eq!(tree.changed_files().unwrap(), [".gitattributes", "b"]);
    let commit = tree.commit(&message()).unwrap().unwrap();
    assert_eq!(scene.git(&["rev-parse", &tree.branch]), commit);
    assert!(!scene.home.join("ran").exists());
}
