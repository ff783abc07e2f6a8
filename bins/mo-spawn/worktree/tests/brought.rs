//! `.mo-include`: what comes along, what does not, and that it is never committed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::{Scene, message, put};
use crate::worktree::Left;

#[test]
fn listed_files_come_along_with_their_modes_and_are_never_committed() {
    let scene = Scene::new();
    scene.write(".gitignore", ".env\nsecret/\n");
    scene.write(".mo-include", "# settings\n.env\n*.local\n!no.local\n/secret/key\n");
    scene.git(&["add", ".gitignore", ".mo-include"]);
    scene.git(&["commit", "-qm", "lists"]);
    for path in [".env", "deep/x.local", "no.local", "secret/key", "secret/other", "unlisted"] {
        scene.write(path, path);
    }
    fs::set_permissions(scene.repo.join(".env"), fs::Permissions::from_mode(0o600)).unwrap();
    let mut tree = scene.create();
    assert!(tree.notes.is_empty(), "{:?}", tree.notes);
    for path in [".env", "deep/x.local", "secret/key"] {
        assert_eq!(fs::read_to_string(tree.path.join(path)).unwrap(), path);
    }
    assert_eq!(fs::metadata(tree.path.join(".env")).unwrap().permissions().mode() & 0o777, 0o600);
    for path in ["no.local", "secret/other", "unlisted"] {
        assert!(!tree.path.join(path).exists(), "{path}");
    }
    assert!(tree.changed_files().unwrap().is_empty());
    put(&tree.path.join("deep/x.local"), "changed by the worker");
    put(&tree.path.join("b"), "b");
    tree.commit(&message()).unwrap().unwrap();
    let listed = scene.git(&["ls-tree", "-r", "--name-only", &tree.branch]);
    assert_eq!(listed, ".gitignore\n.mo-include\na\nb");
    // What the worker made of it is work, and nowhere else.
    assert_eq!(tree.changed_files().unwrap(), ["b", "deep/x.local"]);
    assert_eq!(tree.leave(&scene.world).unwrap(), Left::Uncommitted);
}

#[test]
fn a_tree_with_nothing_but_what_came_along_goes() {
    let scene = Scene::new();
    scene.write(".mo-include", "x.local\n");
    scene.write("x.local", "x");
    let tree = scene.create();
    let path = tree.path.clone();
    assert!(path.join("x.local").exists());
    assert_eq!(tree.leave(&scene.world).unwrap(), Left::Removed);
    assert!(!path.exists() && scene.repo.join("x.local").exists());
}

#[test]
fn nothing_leads_out_of_the_repository() {
    let scene = Scene::new();
    scene.write("../outside/secret", "secret");
    symlink(scene.home.join("outside/secret"), scene.repo.join("link")).unwrap();
    symlink(scene.home.join("outside"), scene.repo.join("folder")).unwrap();
    scene.write(".mo-include", "link\nfolder\nfolder/secret\n");
    let tree = scene.create();
    assert!(!tree.path.join("link").exists() && !tree.path.join("folder").exists());
    assert!(tree.notes[0].contains("left out: no plain files"), "{:?}", tree.notes);
    scene.write(".mo-include", "\n../outside/secret\n");
    let error = scene.refused(&scene.repo, None);
    assert!(error.to_string().contains(".mo-include:2: "), "{error}");
    assert_eq!(scene.branches().len(), 1);
}

#[test]
fn nothing_is_written_through_a_symlink_of_the_base() {
    let scene = Scene::new();
    fs::create_dir(scene.home.join("outside")).unwrap();
    symlink(scene.home.join("outside"), scene.repo.join("config")).unwrap();
    scene.git(&["add", "."]);
    scene.git(&["commit", "-qm", "a symlink"]);
    fs::remove_file(scene.repo.join("config")).unwrap();
    scene.write("config/deep/x.local", "x");
    scene.write(".mo-include", "*.local\n");
    let tree = scene.create();
    assert!(fs::symlink_metadata(tree.path.join("config")).unwrap().is_symlink());
    assert_eq!(fs::read_dir(scene.home.join("outside")).unwrap().count(), 0);
}

#[test]
fn too_much_is_left_out_and_told() {
    let scene = Scene::new();
    scene.write(".mo-include", "*.bin\n");
    fs::File::create(scene.repo.join("big.bin")).unwrap().set_len((64 << 20) + 1).unwrap();
    scene.write("small.bin", "x");
    let tree = scene.create();
    assert!(tree.path.join("small.bin").exists() && !tree.path.join("big.bin").exists());
    assert_eq!(tree.notes, [".mo-include: big.bin left out: more than 64 MiB"]);
}
