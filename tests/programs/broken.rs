//! Workers whose settings.json is not as it should be: told by every command, and left alone.

use std::fs;

use support::World;

use crate::staff::{KEY, file, listed, mo_key, mo_worker, refused, unprivileged, with_workers};
use crate::tree::Tree;

const MO_WORKER: &str = env!("CARGO_BIN_EXE_mo-worker");

/// What can stand in the place of settings.json: how it is made, the exit code it deserves, what is told.
const BROKEN: [(&str, i32, &str); 12] = [
    ("missing", 74, "settings.json: no such file"),
    ("empty", 65, "settings.json:1: it is empty"),
    ("array", 65, "settings.json:1: it is no JSON object"),
    ("bom", 65, "settings.json:1: "),
    ("comma", 65, "settings.json:3: trailing comma"),
    ("no env", 65, "it has no `env` object"),
    ("env array", 65, "settings.json:1: invalid type: sequence"),
    ("env numbers", 65, "settings.json:1: invalid type: integer"),
    ("huge", 74, "larger than 4 MiB"),
    ("directory", 74, "is a directory"),
    ("symlink", 78, "refusing to follow the symlink"),
    ("fifo", 74, "is not a regular file"),
];

fn broken(kind: &str) -> World {
    let world = with_workers(&["bad", "good"]);
    let path = world.path(file("bad", "settings.json"));
    let whole = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let text = match kind {
        "missing" => return world,
        "directory" => {
            fs::create_dir(&path).unwrap();
            return world;
        }
        "symlink" => {
            fs::write(world.path("elsewhere.json"), &whole).unwrap();
            std::os::unix::fs::symlink(world.path("elsewhere.json"), &path).unwrap();
            return world;
        }
        "fifo" => {
            world.command("/usr/bin/env").arg("mkfifo").arg(&path).run().ok();
            return world;
        }
        "empty" => String::new(),
        "array" => format!("[{whole}]"),
        "bom" => format!("\u{feff}{whole}"),
        "comma" => format!("{{\n  \"env\": {{\"ANTHROPIC_AUTH_TOKEN\": \"{KEY}\",\n}}}}"),
        "no env" => "{\"permissions\": {}}".to_owned(),
        "env array" => format!("{{\"env\": [\"{KEY}\"]}}"),
        "env numbers" => "{\"env\": {\"ANTHROPIC_AUTH_TOKEN\": 1234567890123456}}".to_owned(),
        _ => format!("{whole}{}", " ".repeat(10 << 20)),
    };
    fs::write(&path, text).unwrap();
    world.set_mode(file("bad", "settings.json"), 0o600);
    world
}

#[test]
fn broken_settings_are_told_by_every_command_and_left_alone() {
    for (kind, code, told) in BROKEN {
        let world = broken(kind);
        for words in [&["show", "bad"][..], &["check", "bad"], &["rename", "bad", "better"]] {
            refused(&world, mo_worker(&world, words), code, told);
        }
        for words in [&["bad"][..], &["bad", "--remove"], &["bad", "--from-command", "pass"]] {
            refused(&world, mo_key(&world, words, KEY), code, told);
        }
        let before = Tree::of(world.home());
        let list =
            mo_worker(&world, &["list"]).run().ok().stderr_is("").stdout_lacks(KEY).stdout_lacks("123456");
        list.stdout_has("good").stdout_has("needs key").stdout_has("broken").stdout_has(told);
        assert_eq!(
            listed(&world),
            [("bad".to_owned(), "broken".to_owned()), ("good".to_owned(), "needs-key".to_owned())]
        );
        mo_worker(&world, &["doctor"]).run().code(1).stdout_has(told).stdout_lacks(KEY);
        before.is_still(world.home());
        mo_worker(&world, &["remove", "bad", "--yes"]).run().ok().stderr_has(told);
        assert_eq!(listed(&world).len(), 1, "{kind}");
        assert_eq!(world.path("elsewhere.json").exists(), kind == "symlink", "a symlink was followed");
    }
}

#[test]
fn settings_that_may_not_be_read_are_told() {
    let world = with_workers(&["bad", "good"]);
    world.set_mode(file("bad", "settings.json"), 0o000);
    let run = |words: &[&str]| unprivileged(&world, MO_WORKER).args(words.iter().copied()).run();
    for words in [["show", "bad"], ["check", "bad"]] {
        run(&words).code(74).stderr_has("settings.json: permission denied");
    }
    run(&["list"]).ok().stdout_has("permission denied").stdout_has("needs key");
    assert_eq!(world.mode(file("bad", "settings.json")), 0o000);
    run(&["remove", "bad", "--yes"]).ok();
    assert_eq!(listed(&world).len(), 1);
}
