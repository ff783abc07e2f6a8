//! Which files a run in a plain directory changed, however dirty it was before.

use std::fs;

use super::Scene;
use crate::worktree::Snapshot;

#[test]
fn only_what_changed_meanwhile_is_told() {
    let scene = Scene::new();
    for name in ["clean", "reverted", "committed", "gone"] {
        scene.write(name, "1");
    }
    scene.write(".gitignore", "built\n");
    scene.git(&["add", "."]);
    scene.git(&["commit", "-qm", "more"]);
    scene.write("a", "dirty before");
    scene.write("reverted", "dirty before");
    scene.write("untracked", "before");
    scene.write("touched", "same");
    scene.write("grown", "1");
    let before = Snapshot::of(&scene.world, &scene.repo, false).unwrap().unwrap();
    assert!(before.changed().unwrap().is_empty());
    scene.write("clean", "2");
    scene.write("reverted", "1");
    scene.write("grown", "2");
    scene.write("touched", "same");
    scene.write("new dir/new", "x");
    scene.write("built", "x");
    scene.write("committed", "2");
    scene.git(&["commit", "-q", "-m", "c", "committed"]);
    fs::remove_file(scene.repo.join("gone")).unwrap();
    assert_eq!(before.changed().unwrap(), ["clean", "committed", "gone", "grown", "new dir/new", "reverted"]);
}

#[test]
fn a_repository_without_a_commit_is_one_and_a_plain_directory_is_none() {
    let scene = Scene::empty("repo");
    let before = Snapshot::of(&scene.world, &scene.repo, false).unwrap().unwrap();
    scene.write("a", "x");
    assert_eq!(before.changed().unwrap(), ["a"]);
    assert!(Snapshot::of(&scene.world, &scene.home, false).unwrap().is_none());
}

#[test]
fn from_a_folder_below_the_top_all_of_the_repository_is_seen() {
    let scene = Scene::new();
    scene.write("deep/x", "x");
    let before = Snapshot::of(&scene.world, &scene.repo.join("deep"), false).unwrap().unwrap();
    scene.write("deep/x", "y");
    scene.write("a", "y");
    assert_eq!(before.changed().unwrap(), ["a", "deep/x"]);
}

#[test]
fn what_we_write_down_ourselves_is_nobodys_work() {
    let scene = Scene::new();
    scene.git_at(&scene.home, &["init", "-q"]);
    super::put(&scene.home.join(".claude-workers/.dispatch/x"), "1");
    let before = Snapshot::of(&scene.world, &scene.home, false).unwrap().unwrap();
    super::put(&scene.home.join(".claude-workers/.dispatch/y"), "1");
    super::put(&scene.home.join("z"), "1");
    assert_eq!(before.changed().unwrap(), ["z"]);
}
