//! How trees are made: from which commit, where, from what kinds of repositories, and many at once.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;

use shared::dispatch_id::DispatchId;

use super::{Scene, message, put};
use crate::worktree::card::{Card, Place};
use crate::worktree::git::Git;
use crate::worktree::removal::{self, Removal};
use crate::worktree::{Left, Worktree};

#[test]
fn a_tree_begins_from_head_with_local_commits_and_without_what_is_not_committed() {
    let scene = Scene::new();
    scene.write("b", "local");
    scene.git(&["add", "."]);
    scene.git(&["commit", "-qm", "local"]);
    scene.write("a", "not committed");
    let tree = scene.create();
    assert_eq!(tree.base_commit, scene.git(&["rev-parse", "HEAD"]));
    assert_eq!(fs::read_to_string(tree.path.join("b")).unwrap(), "local");
    assert_eq!(fs::read_to_string(tree.path.join("a")).unwrap(), "one\n");
    assert!(tree.path.starts_with(scene.home.join(".claude-workers/.worktrees")), "{:?}", tree.path);
    assert_eq!(scene.git_at(&tree.path, &["symbolic-ref", "HEAD"]), format!("refs/heads/{}", tree.branch));
    let mode = fs::metadata(scene.home.join(".claude-workers/.worktrees")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn another_base_is_taken_by_any_name_of_a_commit() {
    let scene = Scene::new();
    let first = scene.git(&["rev-parse", "HEAD"]);
    scene.git(&["tag", "-a", "v1", "-m", "v1"]);
    scene.git(&["commit", "-q", "--allow-empty", "-m", "second"]);
    for base in ["v1", "main~1", &first] {
        let tree = Worktree::create(&scene.world, &scene.repo, &scene.id(), Some(base)).unwrap();
        assert_eq!(tree.base_commit, first);
    }
    for bad in ["none", "--upload-pack=x", "main:a", ""] {
        let error = scene.refused(&scene.repo, Some(bad));
        assert!(error.to_string().contains("there is no commit"), "{error}");
    }
    assert_eq!(scene.branches().len(), 3);
}

#[test]
fn a_directory_below_the_top_stays_that_directory() {
    let scene = Scene::new();
    scene.write("deep/down/c", "c");
    scene.git(&["add", "."]);
    scene.git(&["commit", "-qm", "deep"]);
    scene.write("new/only here", "x");
    for part in ["deep/down", "new"] {
        let tree = scene.create_at(&scene.repo.join(part));
        assert_eq!(tree.workdir, tree.path.join(part).join(""));
        assert!(tree.workdir.is_dir());
    }
}

#[test]
fn names_with_blanks_quotes_and_line_breaks_are_names() {
    let scene = Scene::named("a repo\n\"of\" $mine ü");
    scene.write("sub\ndir/x", "x");
    let tree = scene.create_at(&scene.repo.join("sub\ndir"));
    put(&tree.path.join("new\n\"file\" ü"), "x");
    put(&tree.path.join("-n"), "x");
    assert_eq!(tree.changed_files().unwrap(), ["-n", "new\n\"file\" ü"]);
    let mut tree = tree;
    tree.commit(&message()).unwrap().unwrap();
    assert_eq!(tree.changed_files().unwrap(), ["-n", "new\n\"file\" ü"]);
    assert_eq!(scene.git_at(&tree.path, &["status", "--porcelain"]), "");
}

#[test]
fn a_detached_head_and_a_bare_clone_will_do() {
    let scene = Scene::new();
    scene.git(&["checkout", "-q", "--detach"]);
    scene.git(&["commit", "-q", "--allow-empty", "-m", "on no branch"]);
    let tree = scene.create();
    assert_eq!(tree.base_commit, scene.git(&["rev-parse", "HEAD"]));

    let bare = scene.home.join("bare.git");
    scene.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let mut tree = scene.create_at(&bare);
    assert_eq!((&tree.repo, &tree.workdir), (&bare, &tree.path));
    put(&tree.path.join("b"), "b");
    let commit = tree.commit(&message()).unwrap().unwrap();
    assert_eq!(scene.git_at(&bare, &["rev-parse", &tree.branch]), commit);
    assert_eq!(tree.leave(&scene.world).unwrap(), Left::Committed);
}

#[test]
fn a_linked_tree_begins_from_its_own_head() {
    let scene = Scene::new();
    let linked = scene.home.join("linked");
    scene.git(&["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    scene.git_at(&linked, &["commit", "-q", "--allow-empty", "-m", "side"]);
    let tree = scene.create_at(&linked);
    assert_eq!(tree.base_commit, scene.git(&["rev-parse", "side"]));
    let other = scene.create();
    assert_eq!(other.path.parent(), tree.path.parent());
}

#[test]
fn where_no_tree_can_be_the_reason_is_told_and_nothing_is_left() {
    let scene = Scene::empty("repo");
    let error = scene.refused(&scene.repo, None);
    assert!(error.to_string().contains("there is no commit yet"), "{error}");
    let error = scene.refused(&scene.home, None);
    assert!(error.to_string().contains("there is no git repository"), "{error}");
    let error = scene.refused(&scene.repo.join(".git"), None);
    assert!(error.to_string().contains("inside a git directory"), "{error}");
    let scene = Scene::new();
    scene.git(&["branch", "mo"]);
    let error = scene.refused(&scene.repo, None);
    assert!(error.what_next().unwrap().contains("`mo`"), "{error}");
    let left = fs::read_dir(scene.home.join(".claude-workers/.worktrees")).unwrap();
    let left: Vec<_> = left.flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap()).collect();
    // The lock of the repository stays.
    assert_eq!(left.len(), 1, "{left:?}");
    scene.git(&["fsck"]);
}

#[test]
fn variables_and_hooks_of_the_user_do_not_steer_it() {
    let mut scene = Scene::new();
    let other = Scene::new();
    let hooks = scene.repo.join(".git/hooks");
    for hook in ["post-checkout", "pre-commit", "commit-msg", "post-commit", "reference-transaction"] {
        put(&hooks.join(hook), &format!("#!/bin/sh\ntouch {}/ran\nexit 1\n", scene.home.display()));
        fs::set_permissions(hooks.join(hook), fs::Permissions::from_mode(0o755)).unwrap();
    }
    scene.git(&["config", "commit.gpgSign", "true"]);
    scene.git(&["config", "gpg.program", "/bin/false"]);
    let env = [
        ("HOME".to_owned(), scene.home.to_str().unwrap().to_owned()),
        ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned()),
        ("GIT_DIR".to_owned(), other.repo.join(".git").to_str().unwrap().to_owned()),
        ("GIT_WORK_TREE".to_owned(), other.repo.to_str().unwrap().to_owned()),
        ("GIT_INDEX_FILE".to_owned(), "/nonexistent".to_owned()),
    ];
    scene.world.env = env.into_iter().collect();
    let mut tree = scene.create();
    put(&tree.path.join("b"), "b");
    assert!(tree.commit(&message()).unwrap().is_some());
    assert!(other.branches().is_empty());
    assert!(!scene.home.join("ran").exists());
}

#[test]
fn eight_at_once_in_one_repository_all_get_their_tree() {
    let scene = Scene::new();
    for at in 0..200 {
        scene.write(&format!("files/{at}"), "x");
    }
    scene.git(&["add", "."]);
    scene.git(&["commit", "-qm", "files"]);
    let ids: Vec<DispatchId> = (0..8).map(|_| scene.id()).collect();
    let (world, repo) = (&scene.world, &scene.repo);
    thread::scope(|scope| {
        let works: Vec<_> = ids
            .iter()
            .map(|id| {
                scope.spawn(move || {
                    let mut tree = Worktree::create(world, repo, id, None).unwrap();
                    put(&tree.path.join(format!("new-{id}")), "x");
                    let commit = tree.commit(&message()).unwrap().unwrap();
                    assert_eq!(tree.changed_files().unwrap().len(), 1);
                    assert_eq!(tree.leave(world).unwrap(), Left::Committed);
                    commit
                })
            })
            .collect();
        for work in works {
            work.join().unwrap();
        }
    });
    assert_eq!(scene.branches().len(), 8);
    scene.git(&["fsck"]);
}

/// What is left of making a tree when it was killed on the way, and whether it may go.
fn goes_after(scene: &Scene, change: impl FnOnce(&Place, &mut Card)) -> bool {
    let id = scene.id();
    drop(Worktree::create(&scene.world, &scene.repo, &id, None).unwrap());
    let place = Place::find(&scene.world, &id).unwrap();
    let mut card = place.card().unwrap();
    scene.git(&["worktree", "unlock", place.tree().to_str().unwrap()]);
    change(&place, &mut card);
    place.write(&card).unwrap();
    let (git, occupied) =
        (Git::find(&scene.world, Path::new("/")).unwrap(), place.occupy().unwrap().unwrap());
    let removal = removal::remove(&scene.world, &git, &place, &card, &occupied).unwrap();
    let gone = matches!(removal, Removal::Gone { .. });
    assert_eq!(gone, !place.is_taken() && !scene.branches().contains(&card.branch));
    gone
}

#[test]
fn a_tree_that_was_never_finished_goes_and_one_that_looks_the_same_stays() {
    let scene = Scene::new();
    let unfilled = |place: &Place, card: &mut Card, half_made: bool| {
        fs::remove_file(card.git_dir.join("index")).unwrap();
        fs::remove_file(place.tree().join("a")).unwrap();
        card.half_made = half_made;
    };
    assert!(goes_after(&scene, |place, card| unfilled(place, card, true)));
    assert!(!goes_after(&scene, |place, card| unfilled(place, card, false)));
    // Killed before there was a tree, and before there was a branch.
    for with_branch in [true, false] {
        assert!(goes_after(&scene, |place, card| {
            scene.git(&["worktree", "remove", "--force", place.tree().to_str().unwrap()]);
            if !with_branch {
                scene.git(&["branch", "-q", "-D", &card.branch]);
            }
            card.half_made = true;
        }));
    }
}
