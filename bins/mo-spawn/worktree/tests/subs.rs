//! Repositories with submodules: filled without a network, committed, and never lost with their tree.

use std::fs;
use std::path::Path;

use super::{Scene, message, put};
use crate::worktree::Left;

/// A repository with the submodule `the.sub` at `lib/su b`, whose origin is gone.
fn scene() -> Scene {
    let scene = Scene::new();
    let origin = scene.home.join("origin");
    fs::create_dir(&origin).unwrap();
    scene.git_at(&origin, &["init", "-q"]);
    put(&origin.join("s"), "s\n");
    scene.git_at(&origin, &["add", "."]);
    scene.git_at(&origin, &["commit", "-qm", "s"]);
    scene.git(&["submodule", "--quiet", "add", "--name", "the.sub", origin.to_str().unwrap(), "lib/su b"]);
    scene.git(&["commit", "-qm", "with a submodule"]);
    fs::rename(&origin, scene.home.join("gone")).unwrap();
    scene
}

#[test]
fn a_submodule_is_filled_from_this_machine_and_the_configuration_stays() {
    let scene = scene();
    let config = fs::read(scene.repo.join(".git/config")).unwrap();
    let tree = scene.create();
    assert!(tree.notes.is_empty(), "{:?}", tree.notes);
    let inner = tree.path.join("lib/su b");
    assert_eq!(fs::read_to_string(inner.join("s")).unwrap(), "s\n");
    assert!(scene.git_at(&inner, &["config", "remote.origin.url"]).ends_with("/origin"));
    assert_eq!(fs::read(scene.repo.join(".git/config")).unwrap(), config);
    let path = tree.path.clone();
    assert_eq!(tree.leave(&scene.world).unwrap(), Left::Removed);
    assert!(!path.exists());
}

#[test]
fn work_in_a_submodule_is_committed_and_brought_home() {
    let scene = scene();
    let mut tree = scene.create();
    put(&tree.path.join("lib/su b/s"), "changed\n");
    tree.commit(&message()).unwrap().unwrap();
    assert_eq!(tree.changed_files().unwrap(), ["lib/su b"]);
    let branch = tree.branch.clone();
    let path = tree.path.clone();
    assert_eq!(tree.leave(&scene.world).unwrap(), Left::Committed);
    fs::remove_dir_all(path).unwrap();
    scene.git(&["merge", "-q", &branch]);
    scene.git(&["submodule", "--quiet", "update", "--no-fetch"]);
    assert_eq!(fs::read_to_string(scene.repo.join("lib/su b/s")).unwrap(), "changed\n");
}

#[test]
fn what_only_the_trees_submodule_holds_keeps_the_tree() {
    for dirty in [true, false] {
        let scene = scene();
        let tree = scene.create();
        let inner = tree.path.join("lib/su b");
        put(&inner.join("s"), "changed\n");
        if !dirty {
            scene.git_at(&inner, &["checkout", "-q", "-b", "side"]);
            scene.git_at(&inner, &["commit", "-qam", "on a branch of its own"]);
            scene.git_at(&inner, &["checkout", "-q", "--detach", "HEAD^"]);
        }
        assert_ne!(tree.leave(&scene.world).unwrap(), Left::Removed);
        assert!(inner.join("s").exists());
    }
}

#[test]
fn what_git_does_not_tell_of_a_submodule_keeps_the_tree() {
    let hide: &[fn(&Scene, &Path)] = &[
        |scene, inner| {
            scene.git_at(inner, &["update-index", "--assume-unchanged", "s"]);
            put(&inner.join("s"), "changed\n");
        },
        |scene, inner| {
            let exclude = scene.git_at(inner, &["rev-parse", "--git-path", "info/exclude"]);
            put(&inner.join(exclude), "built/\n");
            fs::create_dir(inner.join("built")).unwrap();
            scene.git_at(&inner.join("built"), &["init", "-q"]);
        },
        // What is no submodule any more has still its repository beside the tree's.
        |scene, inner| {
            let tree = inner.ancestors().nth(2).unwrap();
            scene.git_at(inner, &["commit", "-q", "--allow-empty", "-m", "nowhere else"]);
            scene.git_at(tree, &["rm", "-qf", "lib/su b"]);
            scene.git_at(tree, &["commit", "-qm", "without it"]);
            scene.git(&["merge", "-q", &scene.git_at(tree, &["rev-parse", "HEAD"])]);
        },
    ];
    for hide in hide {
        let scene = scene();
        let tree = scene.create();
        let path = tree.path.clone();
        hide(&scene, &path.join("lib/su b"));
        assert_eq!(scene.git_at(&path, &["status", "--short"]), "");
        assert_eq!(tree.leave(&scene.world).unwrap(), Left::Uncommitted);
        assert!(path.exists());
    }
}

#[test]
fn a_submodule_that_is_not_on_this_machine_is_left_out_and_told() {
    let scene = scene();
    let clone = scene.home.join("clone");
    scene.git(&["clone", "-q", ".", clone.to_str().unwrap()]);
    let tree = scene.create_at(&clone);
    assert_eq!(tree.notes, ["submodule lib/su b is left out: this repository has no copy of it"]);
    let path = tree.path.clone();
    assert_eq!(tree.leave(&scene.world).unwrap(), Left::Removed);
    assert!(!path.exists());
}
