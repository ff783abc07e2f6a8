//! Whatever happened before: no commit and no file that somebody could reach is lost by taking trees away.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::Scene;
use crate::worktree::Worktree;
use crate::worktree::card::Place;
use crate::worktree::git::Git;
use crate::worktree::removal::{self, Removal};

/// Something that people and workers do.
#[derive(Clone, Debug)]
enum Deed {
    /// A commit in a tree, or in the repository's own for the last number.
    Commit(usize),
    /// Its branch is merged into main.
    Merge(usize),
    /// A branch or a tag is set where this tree stands.
    Name(usize, bool),
    /// The newest of those names goes.
    Unname,
    /// This tree leaves its branch.
    Detach(usize),
    /// It drops its last commit.
    Drop(usize),
    /// A file that nobody commits.
    Litter(usize),
    /// Somebody deletes the folder.
    Delete(usize),
    /// The trees that may go, go.
    Prune,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        5 => (0..3_usize).prop_map(Deed::Commit),
        4 => (0..2_usize).prop_map(Deed::Merge),
        2 => (0..2_usize, any::<bool>()).prop_map(|(at, tag)| Deed::Name(at, tag)),
        2 => Just(Deed::Unname),
        1 => (0..2_usize).prop_map(Deed::Detach),
        1 => (0..2_usize).prop_map(Deed::Drop),
        1 => (0..2_usize).prop_map(Deed::Litter),
        1 => (0..2_usize).prop_map(Deed::Delete),
        2 => Just(Deed::Prune),
    ];
    prop::collection::vec(deed, 3..14)
}

/// All commits that a ref or the HEAD of a tree leads to.
fn reachable(scene: &Scene) -> BTreeSet<String> {
    let trees = scene.git(&["worktree", "list", "--porcelain"]);
    let heads = trees.lines().filter_map(|line| line.strip_prefix("HEAD "));
    let heads: Vec<&str> = heads.filter(|head| head.bytes().any(|digit| digit != b'0')).collect();
    let words = [&["rev-list", "--all"], &heads[..]].concat();
    scene.git(&words).lines().map(str::to_owned).collect()
}

fn prune(scene: &Scene) -> usize {
    let git = Git::find(&scene.world, Path::new("/")).unwrap();
    let places = Place::all(&scene.world).unwrap();
    let gone = places.into_iter().filter(|place| {
        let (card, occupied) = (place.card().unwrap(), place.occupy().unwrap().unwrap());
        let removal = removal::remove(&scene.world, &git, place, &card, &occupied);
        matches!(removal.unwrap(), Removal::Gone { .. })
    });
    gone.count()
}

/// Does all of it; tells how many trees went.
fn live_through(deeds: &[Deed]) -> usize {
    let scene = Scene::new();
    let trees: Vec<_> = (0..2)
        .map(|_| {
            let tree = scene.create();
            let facts = (tree.path.clone(), tree.branch.clone());
            fs::write(tree.git_dir.join("keep"), "").unwrap();
            drop::<Worktree>(tree);
            facts
        })
        .collect();
    let at = |number: usize| trees.get(number).map_or(&scene.repo, |(path, _)| path);
    let mut names = Vec::new();
    let mut gone = 0;
    for (turn, deed) in deeds.iter().enumerate() {
        let file = format!("file-{turn}");
        match deed {
            Deed::Commit(number) if at(*number).exists() => {
                fs::write(at(*number).join(&file), &file).unwrap();
                scene.git_at(at(*number), &["add", &file]);
                scene.git_at(at(*number), &["commit", "-qm", &file]);
            }
            Deed::Merge(number) if scene.branches().contains(&trees[*number].1) => {
                scene.git(&["merge", "-q", "-m", "merge", &trees[*number].1]);
            }
            Deed::Name(number, tag) if at(*number).exists() => {
                let kind = if *tag { "tag" } else { "branch" };
                scene.git_at(at(*number), &[kind, &file]);
                names.push((kind, file));
            }
            Deed::Unname => {
                if let Some((kind, name)) = names.pop() {
                    scene.git(&[kind, if kind == "tag" { "-d" } else { "-D" }, &name]);
                }
            }
            Deed::Detach(number) if at(*number).exists() => {
                scene.git_at(at(*number), &["checkout", "-q", "--detach"]);
            }
            Deed::Drop(number) if at(*number).exists() => {
                let has_parent = scene.git_at(at(*number), &["rev-list", "--count", "HEAD"]) != "1";
                scene.git_at(
                    at(*number),
                    &["reset", "-q", "--hard", if has_parent { "HEAD^" } else { "HEAD" }],
                );
            }
            Deed::Litter(number) if at(*number).exists() => {
                fs::write(at(*number).join(&file), &file).unwrap();
            }
            Deed::Delete(number) if at(*number).exists() => fs::remove_dir_all(at(*number)).unwrap(),
            Deed::Prune => gone += check_prune(&scene),
            _ => {}
        }
    }
    gone + check_prune(&scene)
}

fn check_prune(scene: &Scene) -> usize {
    let before = reachable(scene);
    let open = |scene: &Scene| -> usize {
        let places = Place::all(&scene.world).unwrap();
        let trees = places.iter().map(Place::tree).filter(|tree| tree.exists());
        trees.map(|tree| scene.git_at(&tree, &["status", "--porcelain"]).lines().count()).sum()
    };
    let open_before = open(scene);
    let gone = prune(scene);
    let after = reachable(scene);
    let lost: Vec<_> = before.difference(&after).collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
    assert_eq!(open(scene), open_before);
    gone
}

#[test]
fn every_commit_that_could_be_reached_can_be_reached_after_a_prune() {
    let gone = Cell::new(0);
    let config = Config { cases: 16, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&deeds(), |deeds| {
            gone.set(gone.get() + live_through(&deeds));
            Ok(())
        })
        .unwrap();
    // A prune that never takes anything away proves nothing.
    assert!(gone.get() > 3, "{}", gone.get());
}
