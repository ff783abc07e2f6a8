//! mo-key, ended before its time: at the prompt, between two writes, by a kill.

use std::fs;

use support::World;
use support::tmpfs::SmallDisk;

use crate::staff::{KEY, create, create_at, file, listed, mo_key, mo_worker, with_workers};
use crate::strace;
use crate::terminal::on_terminal;
use crate::tree::Tree;

const MO_KEY: &str = env!("CARGO_BIN_EXE_mo-key");
const OLD: &str = "the-key-that-was-there-before";

#[test]
#[cfg(target_os = "linux")]
fn a_prompt_that_is_left_gives_the_terminal_back_and_keeps_what_was_typed() {
    let world = with_workers(&["glm"]);
    let script =
        format!("trap : INT TERM HUP; '{MO_KEY}' glm; echo code=$?; stty -a; read rest; echo rest=$rest.");
    for signal in [None, Some("TERM"), Some("HUP")] {
        let mut running = on_terminal(&world, "/bin/sh", &["-c", &script]).spawn();
        running.wait_for_stdout("(not shown): ");
        crate::terminal::wait_for_hidden_input(&world, MO_KEY);
        match signal {
            None => running.write(format!("{}\x03", &KEY[..10]).as_bytes()),
            Some(name) => {
                let ours = world.processes().into_iter().find(|(_, line)| line.starts_with(MO_KEY));
                let kill = ["-c", &format!("kill -{name} {}", ours.unwrap().0)];
                world.command("/bin/sh").args(kill).run().ok();
            }
        }
        running.wait_for_stdout("code=130");
        crate::terminal::type_line(&mut running, "tail");
        let output = running.wait().stdout_has("cancelled: nothing was stored").stdout_has("code=130");
        output.stdout_has(" echo ").stdout_lacks(" -echo ").stdout_has("rest=tail.").stdout_lacks(&KEY[..10]);
        assert_eq!(listed(&world), [("glm".to_owned(), "needs-key".to_owned())], "{signal:?}");
    }
}

/// A world whose worker was found live with its key.
fn with_live() -> World {
    let world = World::new();
    create_at(&world, "glm", "http://127.0.0.1:1");
    mo_key(&world, &["glm"], OLD).run().ok();
    world
        .fake("claude", "case $1 in --version) echo 2.1.332;; *) echo '{\"result\":\"mockingbird\"}';; esac");
    mo_worker(&world, &["check", "glm"]).run().ok();
    assert_eq!(listed(&world), [("glm".to_owned(), "live".to_owned())]);
    world
}

#[test]
fn a_new_key_makes_the_last_check_void() {
    let world = with_live();
    mo_key(&world, &["glm"], KEY).run().ok();
    assert_eq!(listed(&world), [("glm".to_owned(), "unchecked".to_owned())]);
}

#[test]
fn of_two_writes_the_first_alone_is_safe_too() {
    for (words, state) in [
        (&["glm"][..], "unchecked"),
        (&["glm", "--from-command", "x"], "needs-key"),
        (&["glm", "--remove"], "needs-key"),
    ] {
        let world = with_live();
        world.write("key", KEY);
        let fault = "inject=rename,renameat,renameat2:error=ENOSPC:when=2";
        let Some(trace) = strace::of(&world, &["-e", "trace=rename,renameat,renameat2", "-e", fault]) else {
            return;
        };
        let line = format!("exec \"$0\" {} < key", words.join(" "));
        let (lines, code) = trace.run(&["/bin/sh", "-c", &line, MO_KEY]);
        assert_eq!(code, Some(74), "{lines:#?}");
        assert_eq!(listed(&world), [("glm".to_owned(), state.to_owned())], "{words:?}");
        assert!(!world.read(file("glm", "settings.json")).contains(KEY));
        assert!(!world.read(file("glm", "worker.json")).contains("/bin/sh"));
    }
}

#[test]
fn a_rename_on_a_full_disk_changes_nothing() {
    let mut world = World::new();
    let disk = SmallDisk::new(256);
    world.var("CLAUDE_WORKERS_ROOT", disk.path());
    create(&world, "glm");
    for left in [0, 4096, 8192] {
        disk.fill_but(left);
        let before = Tree::of(disk.path());
        let run = mo_worker(&world, &["rename", "glm", "new"]).run();
        if run.code == Some(0) {
            assert!(left > 0, "nothing was written");
            mo_worker(&world, &["rename", "new", "glm"]).run();
            break;
        }
        run.code(74).stderr_has("disk is full").stderr_lacks("nothing was changed");
        before.is_still(disk.path());
        disk.empty();
    }
}

#[test]
fn what_a_killed_one_left_goes_with_the_next() {
    let world = with_workers(&["glm"]);
    world.write("key", KEY);
    let kill = "inject=rename,renameat,renameat2:signal=KILL:when=2";
    if let Some(trace) = strace::of(&world, &["-e", "trace=rename,renameat,renameat2", "-e", kill]) {
        trace.run(&["/bin/sh", "-c", "exec \"$0\" glm < key", MO_KEY]);
    }
    world.write(file("glm", ".mo-aB3dE6"), KEY);
    world.write(file("glm", ".mo-notes.txt"), "the user's");
    mo_key(&world, &["glm", "--remove"], "").run().ok();
    let mut names: Vec<_> = fs::read_dir(world.root().join("glm"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, [".mo-notes.txt", "run", "settings.json", "worker.json"]);
}

#[test]
fn a_refusal_makes_no_root() {
    let world = World::new();
    mo_worker(&world, &["rename", "a", "b"]).run().code(64);
    for words in [&["a"][..], &["a", "--remove"], &["a", "--from-command", "x"]] {
        mo_key(&world, words, KEY).run().code(64);
    }
    assert!(!world.root().exists());
}
