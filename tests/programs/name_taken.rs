//! Names that something else has, and directories that resist: told as what they are.

use std::fs;
use std::os::unix::fs::{chown, symlink};

use crate::staff::{KEY, create, file, listed, mo_key, mo_worker, refused, unprivileged, with_workers};

const MO_WORKER: &str = env!("CARGO_BIN_EXE_mo-worker");

#[test]
fn a_name_that_is_no_workers_is_told_as_what_it_is() {
    let world = with_workers(&["glm"]);
    world.write(".claude-workers/note", "mine");
    symlink("/no/such/place", world.root().join("dangling")).unwrap();
    for (name, what) in [("note", "is taken by a file"), ("dangling", "is taken by a symlink")] {
        refused(&world, mo_worker(&world, &["create", name, "--preset", "zai"]), 1, what);
        refused(&world, mo_worker(&world, &["create", name, "--preset", "zai"]), 1, "move it away");
        refused(&world, mo_worker(&world, &["rename", "glm", name]), 1, what);
    }
    refused(&world, mo_worker(&world, &["remove", "dangling", "--yes"]), 78, "remove it yourself");
}

#[test]
fn a_worker_is_made_though_the_link_to_the_programs_cannot_be() {
    let world = with_workers(&[]);
    world.write(".claude-workers/.bin/mine", "mine");
    let made = mo_worker(&world, &["create", "glm", "--preset", "zai"]).run().ok();
    made.stderr_has("next:").stderr_has(".bin").stderr_has("hint: ");
    assert_eq!(listed(&world).len(), 1);
}

#[test]
fn a_directory_that_may_not_be_changed_is_removed_all_the_same() {
    let world = with_workers(&["glm"]);
    world.write(file("glm", "projects/-p/a.jsonl"), "{}\n");
    for directory in ["projects/-p", "projects", ""] {
        world.set_mode(file("glm", directory), 0o500);
    }
    unprivileged(&world, MO_WORKER).args(["remove", "glm", "--yes"]).run().ok();
    assert!(!fs::read_dir(world.root()).unwrap().flatten().any(|entry| entry.path().join("worker").exists()));
}

#[test]
fn a_remove_that_fails_half_way_leaves_no_key_and_names_what_is_left() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let world = with_workers(&["glm"]);
    mo_key(&world, &["glm"], KEY).run().ok();
    world.write(file("glm", "projects/-p/a.jsonl"), "{}\n");
    world.set_mode(file("glm", "projects/-p"), 0o755);
    chown(world.path(file("glm", "projects/-p")), Some(65534), None).unwrap();
    let run = unprivileged(&world, MO_WORKER).args(["remove", "glm", "--yes"]).run().code(74);
    run.stderr_has(".trash-").stderr_has("its key is gone").stderr_lacks(KEY);
    assert!(listed(&world).is_empty());
    for path in world.files().iter().filter(|path| world.path(path).is_file()) {
        assert!(!String::from_utf8_lossy(&world.bytes(path)).contains(KEY), "{}", path.display());
    }
    create(&world, "glm");
}
