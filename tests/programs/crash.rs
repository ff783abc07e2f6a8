//! What stops a program half-way, or gets in its way: no right to write, a full disk, others at the same time, a kill.

use std::fs;
use std::time::Duration;

use support::tmpfs::{ReadOnly, SmallDisk};
use support::{World, patience};

use crate::staff::{create, file, listed, mo_worker, refused, with_workers};
use crate::strace;
use crate::tree::Tree;

const MO_WORKER: &str = env!("CARGO_BIN_EXE_mo-worker");

#[test]
fn where_nothing_can_be_written_nothing_changes() {
    let world = with_workers(&["glm"]);
    let _held = ReadOnly::new(world.root());
    for words in
        [&["create", "new", "--preset", "zai"][..], &["rename", "glm", "new"], &["remove", "glm", "--yes"]]
    {
        refused(&world, mo_worker(&world, words), 74, ".claude-workers");
    }
    mo_worker(&world, &["list"]).run().ok().stdout_has("glm");
    mo_worker(&world, &["show", "glm"]).run().ok().stdout_has("glm");
}

#[test]
fn a_full_disk_leaves_no_half_worker() {
    let mut world = World::new();
    let disk = SmallDisk::new(256);
    world.var("CLAUDE_WORKERS_ROOT", disk.path());
    create(&world, "first");
    // Room for nothing, for a directory or two, for a file: each time another step fails.
    for left in [0, 4096, 8192] {
        disk.fill_but(left);
        let before = Tree::of(disk.path());
        let run = mo_worker(&world, &["create", "second", "--preset", "zai"]).run();
        if run.code == Some(0) {
            assert!(left > 0, "a full disk took a worker");
            mo_worker(&world, &["remove", "second", "--yes"]).run().ok();
        } else {
            run.code(74).stderr_has("disk is full");
            before.is_still(disk.path());
            mo_worker(&world, &["list"]).run().ok().stdout_has("first").stdout_lacks("second");
        }
        disk.empty();
    }
    disk.fill();
    mo_worker(&world, &["remove", "first", "--yes"]).run();
    disk.empty();
    create(&world, "second");
}

#[test]
fn of_many_creates_of_one_name_exactly_one_wins() {
    let world = World::new();
    let runs: Vec<_> =
        (0..16).map(|_| mo_worker(&world, &["create", "glm", "--preset", "zai"]).spawn()).collect();
    let ends: Vec<_> = runs.into_iter().map(support::Running::wait).collect();
    assert_eq!(ends.iter().filter(|end| end.code == Some(0)).count(), 1);
    for end in ends.into_iter().filter(|end| end.code != Some(0)) {
        end.code(1).stderr_has("there is already a worker `glm`");
    }
    let names: Vec<String> = (0..16).map(|number| format!("w{number}")).collect();
    let runs: Vec<_> =
        names.iter().map(|name| mo_worker(&world, &["create", name, "--preset", "zai"]).spawn()).collect();
    for run in runs {
        run.wait().ok();
    }
    assert_eq!(listed(&world).len(), 17);
}

/// After a kill there is the whole worker or none, and the name can be used.
#[track_caller]
fn whole_or_none(world: &World) {
    let there = listed(world);
    assert!(there.iter().all(|(name, state)| name == "glm" && state == "needs-key"), "{there:?}");
    if there.is_empty() {
        create(world, "glm");
    }
    mo_worker(world, &["show", "glm"]).run().ok();
    assert!(world.path(file("glm", "run")).exists());
    mo_worker(world, &["remove", "glm", "--yes"]).run().ok();
}

#[test]
fn killed_while_it_makes_a_worker_it_leaves_none_or_a_whole_one() {
    let world = World::new();
    for _ in 0..20 {
        let running = mo_worker(&world, &["create", "glm", "--preset", "zai"]).spawn();
        // As soon as there is something half-made, or it is over.
        patience::within(Duration::from_millis(200), || {
            let entries = fs::read_dir(world.root()).into_iter().flatten().flatten();
            let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
            names.any(|name| name.starts_with(".new-") || name == "glm").then_some(())
        });
        drop(running.kill());
        whole_or_none(&world);
    }
}

#[test]
fn killed_at_any_step_it_leaves_no_half_worker() {
    let world = World::new();
    for call in ["mkdir", "openat", "write", "fchmod", "fsync", "rename", "symlink"] {
        for step in 1.. {
            let inject = format!("inject={call}:signal=KILL:when={step}");
            let Some(trace) = strace::of(&world, &["-e", &format!("trace={call}"), "-e", &inject]) else {
                return;
            };
            let (_, code) = trace.run(&[MO_WORKER, "create", "glm", "--preset", "zai"]);
            whole_or_none(&world);
            if code == Some(0) {
                break;
            }
            assert!(step < 200, "{call} never ends");
        }
    }
}
