//! What `git status` is silent about: changed files that it was told not to look at, and repositories where it does
//! not go. Nothing of that goes with a tree, and nothing else keeps one.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::{Scene, put};
use crate::worktree::card::Place;
use crate::worktree::git::Git;
use crate::worktree::removal::{self, Removal};
use crate::worktree::{Left, Worktree};

/// What is done to a file.
type Change = fn(&Path);
/// How a repository is put into the tree that lies here.
type Making = fn(&Scene, &Path);

const ODD: &str = "odd\n\"na me\"";

/// A repository with files of all kinds, and a tree of it.
fn scene() -> (Scene, Worktree) {
    let scene = Scene::new();
    scene.write(".gitignore", "built/\n*.log\n");
    scene.write(".gitattributes", "crlf text eol=crlf\n");
    scene.write("docs/b", "b\n");
    scene.write("crlf", "x\r\n");
    scene.write(ODD, "o\n");
    symlink("a", scene.repo.join("link")).unwrap();
    commit(&scene, &scene.repo);
    let tree = scene.create();
    (scene, tree)
}

fn commit(scene: &Scene, at: &Path) {
    scene.git_at(at, &["add", "."]);
    scene.git_at(at, &["commit", "-qm", "more"]);
}

/// A repository with a commit in this folder.
fn repository(scene: &Scene, at: &Path) {
    fs::create_dir_all(at).unwrap();
    scene.git_at(at, &["init", "-q"]);
    scene.git_at(at, &["commit", "-q", "--allow-empty", "-m", "its own"]);
}

/// Why a prune keeps the only tree; nothing where it takes it away.
fn kept(scene: &Scene) -> Option<String> {
    let git = Git::find(&scene.world, Path::new("/")).unwrap();
    let place = Place::all(&scene.world).unwrap().remove(0);
    let card = place.card().unwrap();
    // A process that another test starts just now holds all our locks until it is that program.
    let occupied = support::wait_for("the tree to be free", || place.occupy().unwrap());
    match removal::remove(&scene.world, &git, &place, &card, &occupied).unwrap() {
        Removal::Gone { .. } => None,
        Removal::Kept(look) => Some(format!("{:?}", look.state)),
    }
}

/// The tree stays when its dispatch ends and when trees are pruned, and this is named.
#[track_caller]
fn stays(scene: &Scene, tree: Worktree, named: &str) {
    let path = tree.path.clone();
    assert_eq!(tree.leave(&scene.world).unwrap(), Left::Uncommitted, "{named}");
    let why = kept(scene).unwrap_or_default();
    assert!(why.starts_with("Dirty(") && why.contains(named), "{named}: {why}");
    assert!(path.exists());
}

#[test]
fn a_change_that_git_was_told_not_to_look_at_keeps_the_tree() {
    let changes: &[(&str, Change)] = &[
        ("a", |path| fs::write(path, "two\n").unwrap()),
        ("docs/b", |path| fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap()),
        ("docs/b", |path| {
            fs::remove_file(path).unwrap();
            symlink("../a", path).unwrap();
        }),
        ("a", |path| {
            fs::remove_file(path).unwrap();
            put(&path.join("built/x"), "x");
        }),
        ("link", |path| {
            fs::remove_file(path).unwrap();
            symlink("docs/b", path).unwrap();
        }),
        (ODD, |path| fs::write(path, "p\n").unwrap()),
    ];
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        for (file, change) in changes {
            let (scene, tree) = scene();
            scene.git_at(&tree.path, &["update-index", flag, file]);
            change(&tree.path.join(file));
            assert_eq!(scene.git_at(&tree.path, &["status", "--short", file]), "", "{flag} {file}");
            let named = format!("{file:?}");
            stays(&scene, tree, named.trim_matches('"'));
        }
    }
}

#[test]
fn what_git_does_not_look_at_and_is_as_committed_or_absent_keeps_nothing() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let (scene, tree) = scene();
        let files = ["a", "docs/b", "crlf", "link", ODD];
        scene.git_at(&tree.path, &[&["update-index", flag], &files[..]].concat());
        // The times differ, the contents do not.
        put(&tree.path.join("a"), "one\n");
        fs::remove_file(tree.path.join("docs/b")).unwrap();
        assert_eq!(tree.leave(&scene.world).unwrap(), Left::Removed, "{flag}");
    }
    let (scene, tree) = scene();
    scene.git_at(&tree.path, &["sparse-checkout", "set", "docs"]);
    assert!(!tree.path.join("built").exists());
    assert_eq!(tree.leave(&scene.world).unwrap(), Left::Removed);
}

#[test]
fn a_repository_wherever_it_lies_in_the_tree_keeps_it() {
    let made: &[(&str, Making)] = &[
        ("built/", |scene, tree| repository(scene, &tree.join("built"))),
        ("built/deep/er/", |scene, tree| repository(scene, &tree.join("built/deep/er"))),
        ("some.log/", |scene, tree| repository(scene, &tree.join("some.log"))),
        // Git sees the files of this folder, and never what is called `.git` in it.
        ("docs/", |scene, tree| repository(scene, &tree.join("docs"))),
        ("built/bare/", |scene, tree| {
            repository(scene, &scene.home.join("other"));
            let to = tree.join("built/bare");
            scene.git_at(&scene.home, &["clone", "-q", "--bare", "other", to.to_str().unwrap()]);
        }),
        ("built/tree/", |scene, tree| {
            repository(scene, &scene.home.join("other"));
            let to = tree.join("built/tree");
            let words = ["worktree", "add", "-q", "--detach", to.to_str().unwrap()];
            scene.git_at(&scene.home.join("other"), &words);
        }),
        ("built/", |_, tree| put(&tree.join("built/.git/notes"), "of a person")),
        // As one is left that a confined worker made.
        ("built/inner/", |scene, tree| {
            repository(scene, &tree.join("built/inner"));
            let door = tree.join("built/inner/.git");
            fs::rename(&door, door.with_file_name(".git.of-the-worker-1")).unwrap();
        }),
    ];
    for (named, make) in made {
        let (scene, tree) = scene();
        make(&scene, &tree.path);
        assert_eq!(scene.git_at(&tree.path, &["status", "--short"]), "", "{named}");
        stays(&scene, tree, &format!("{named} holds a repository of its own"));
    }
}

#[test]
fn a_repository_that_a_commit_only_points_to_keeps_the_tree() {
    let (scene, mut tree) = scene();
    repository(&scene, &tree.path.join("inner"));
    commit(&scene, &tree.path);
    let branch = tree.branch.clone();
    assert!(tree.commit(&super::message()).unwrap().is_some());
    scene.git(&["merge", "-q", &branch]);
    stays(&scene, tree, "inner/ holds a repository of its own");
}

#[test]
fn one_in_the_place_of_the_trees_own_link_keeps_it() {
    let (scene, tree) = scene();
    fs::remove_file(tree.path.join(".git")).unwrap();
    repository(&scene, &tree.path);
    stays(&scene, tree, "holds a repository of its own");
}

#[test]
fn ignored_files_and_a_repository_that_is_kept_as_files_keep_nothing() {
    let scene = Scene::new();
    scene.write(".gitignore", "built/\n");
    for name in ["HEAD", "objects/00/x", "refs/heads/main"] {
        scene.write(&format!("tests/fixture.git/{name}"), "x\n");
    }
    commit(&scene, &scene.repo);
    let tree = scene.create();
    for name in ["HEAD", "objects", "git/.gitignore", "modules/.github/x", "refs.d/x"] {
        put(&tree.path.join("built").join(name), "x");
    }
    // Not followed: it leads to a repository, and that stays where it is.
    symlink(&scene.repo, tree.path.join("built/elsewhere")).unwrap();
    assert_eq!(tree.leave(&scene.world).unwrap(), Left::Removed);
    assert!(scene.repo.join(".git").exists());
}
