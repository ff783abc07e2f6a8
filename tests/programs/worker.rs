//! mo-worker: workers come, are seen and go; bad names and broken files change nothing.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use support::tmpfs::{ReadOnly, SmallDisk};
use support::{Run, World, patience, wait_until};

use crate::staff::{KEY, create, file, mo_key, mo_worker, unprivileged, with_workers};
use crate::strace;
use crate::terminal::{on_terminal, type_line};
use crate::tree::Tree;

const MO_WORKER: &str = env!("CARGO_BIN_EXE_mo-worker");

fn listed(world: &World) -> Vec<(String, String)> {
    let list: Value = mo_worker(world, &["list", "--json"]).run().ok().json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    list["workers"].as_array().unwrap().iter().map(|one| (text(&one["name"]), text(&one["state"]))).collect()
}

/// Refused with this code and these words, and nothing changes.
#[track_caller]
fn refused(world: &World, run: Run, code: i32, told: &str) {
    let before = Tree::of(world.home());
    run.run().code(code).stdout_is("").stderr_has(told).stderr_lacks(KEY);
    before.is_still(world.home());
}

#[test]
fn a_worker_comes_is_seen_gets_another_name_and_goes() {
    let world = World::with_odd_path();
    mo_worker(&world, &["list"]).run().ok().stdout_is("").stderr_has("there are no workers yet");
    let made = mo_worker(
        &world,
        &["create", "glm", "--preset", "zai", "--haiku", "tiny", "--context-window", "haiku=64k"],
    );
    made.run()
        .ok()
        .stdout_is("")
        .stderr_has("mo-key glm")
        .stderr_has("https://z.ai/")
        .stderr_has("mo-worker check glm");
    for (path, mode) in [("", 0o700), ("settings.json", 0o600), ("worker.json", 0o600), ("run", 0o700)] {
        assert_eq!(world.mode(file("glm", path)), mode, "{path}");
    }
    assert_eq!(world.mode(".claude-workers"), 0o700);
    let settings: Value = serde_json::from_str(&world.read(file("glm", "settings.json"))).unwrap();
    let env = &settings["env"];
    assert_eq!(
        (&env["ANTHROPIC_BASE_URL"], &env["ANTHROPIC_DEFAULT_HAIKU_MODEL"]),
        (&"https://api.z.ai/api/anthropic".into(), &"tiny".into())
    );
    for tier in ["FABLE", "OPUS", "SONNET"] {
        assert!(env[format!("ANTHROPIC_DEFAULT_{tier}_MODEL")].is_string(), "{tier} has no model");
    }
    let shown: Value = mo_worker(&world, &["show", "glm", "--json"]).run().ok().json();
    assert_eq!(
        (&shown["tiers"]["haiku"]["context_window"], &shown["created"]),
        (&64_000.into(), &"2026-12-01T12:00:00.000Z".into())
    );
    mo_worker(&world, &["list"]).run().ok().stdout_has("needs key").stdout_has("haiku=tiny");
    refused(
        &world,
        mo_worker(&world, &["create", "glm", "--preset", "kimi"]),
        1,
        "there is already a worker `glm`",
    );
    create(&world, "kimi");
    refused(&world, mo_worker(&world, &["rename", "glm", "kimi"]), 1, "the name `kimi` is taken");
    mo_worker(&world, &["rename", "glm", "zed"]).run().ok().stderr_has("`glm` is now `zed`");
    assert!(world.read(file("zed", "run")).contains("mo-spawn\" zed "));
    let shown: Value = mo_worker(&world, &["show", "zed", "--json"]).run().ok().json();
    assert_eq!(shown["name"], "zed");
    mo_worker(&world, &["remove", "zed", "--yes"]).run().ok().stderr_has("removed worker `zed`");
    assert_eq!(listed(&world), [("kimi".to_owned(), "needs-key".to_owned())]);
    assert!(
        fs::read_dir(world.root())
            .unwrap()
            .flatten()
            .all(|entry| !entry.file_name().to_string_lossy().starts_with(".trash"))
    );
}

#[test]
fn a_local_model_needs_no_key() {
    let world = World::new();
    let made = mo_worker(&world, &["create", "local", "--preset", "ollama", "--sonnet", "qwen3-coder:30b"]);
    made.run().ok().stderr_lacks("mo-key local").stderr_has("mo-worker check local");
    assert_eq!(listed(&world), [("local".to_owned(), "unchecked".to_owned())]);
}

#[test]
fn a_base_url_is_put_right_and_plain_http_warned_of() {
    let world = World::new();
    for (at, (typed, used)) in [
        ("https://h.example/", "https://h.example"),
        ("https://h.example/api/v1", "https://h.example/api"),
        ("https://h.example/api/v1/messages", "https://h.example/api"),
        ("http://h.example", "http://h.example"),
        ("http://127.0.0.1:9", "http://127.0.0.1:9"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("w{at}");
        let run = mo_worker(&world, &["create", &name, "--base-url", typed, "--sonnet", "m"]).run().ok();
        assert_eq!(
            run.errors().contains("warning: this URL is plain http"),
            typed == "http://h.example",
            "{typed}"
        );
        assert_eq!(
            run.errors().contains(&format!("using {used} without ")),
            typed.contains("/v1") || typed.ends_with('/'),
            "{}",
            run.whole()
        );
        let shown: Value = mo_worker(&world, &["show", &name, "--json"]).run().ok().json();
        assert_eq!(shown["base_url"], used);
    }
}

#[test]
fn bad_names_are_refused_by_every_command() {
    let world = with_workers(&["glm"]);
    world.write(".claude-workers/taken", "a file of the user's");
    let long = "a".repeat(300);
    for name in ["", "..", ".", "a/b", "GLM", "a b", "ä", "glm\n", ".usage", "main", "doctor", &long] {
        for words in [
            &["create", name, "--preset", "zai"][..],
            &["show", name],
            &["check", name],
            &["remove", name, "--yes"],
            &["rename", "glm", name],
            &["rename", name, "new"],
        ] {
            refused(&world, mo_worker(&world, words), 64, "name");
        }
        refused(&world, mo_key(&world, &[name], KEY), 64, "no worker's name");
    }
    for flag in ["--frobnicate", "-x"] {
        refused(
            &world,
            mo_worker(&world, &["create", flag, "--preset", "zai"]),
            64,
            &format!("there is no flag {flag}"),
        );
        refused(&world, mo_worker(&world, &["create", "--", flag, "--preset"]), 64, "");
    }
    refused(&world, mo_worker(&world, &["create", "taken", "--preset", "zai"]), 1, "taken");
    refused(&world, mo_worker(&world, &["rename", "glm", "taken"]), 1, "taken");
    for words in [
        &["show", "taken"][..],
        &["check", "taken"],
        &["remove", "taken", "--yes"],
        &["rename", "taken", "new"],
    ] {
        refused(&world, mo_worker(&world, words), 64, "there is no worker `taken`");
    }
    refused(&world, mo_key(&world, &["taken"], KEY), 64, "there is no worker `taken`");
}

#[test]
fn wrong_use_says_what_to_do() {
    let world = with_workers(&["glm"]);
    for (words, part) in [
        (&[][..], "say what to do"),
        (&["craete", "x"], "mo-worker create"),
        (&["create", "x"], "--preset"),
        (&["create", "x", "--preset", "none"], "none"),
        (&["create", "x", "--base-url", "https://h"], "no model is mapped"),
        (&["create", "x", "--base-url", "ftp://h", "--opus", "m"], "https://"),
        (&["create", "x", "--base-url", "https://u:sk-secret@h", "--opus", "m"], "mo-key"),
        (&["create", "x", "--preset", "zai", "--context-window", "opus=0"], "200k"),
        (&["create", "x", "--preset", "zai", "--context-window", "huge=1"], "tier"),
        (&["create", "x", "--preset", "zai", "--default-tier", "fable"], "--fable MODEL"),
        (&["create", "x", "--preset", "zai", "--max-parallel", "0"], "1 to 1000"),
        (&["check", "glm", "--timeout", "soon"], "1 to 3600"),
        (&["rename", "glm"], "NEW is missing"),
        (&["list", "glm"], "one operand too many"),
        (&["remove", "glm"], "--yes"),
    ] {
        let before = Tree::of(world.home());
        let run = mo_worker(&world, words).run().code(64).stdout_is("").stderr_lacks("sk-secret");
        assert!(run.errors().contains(part), "{words:?}: {}", run.errors());
        before.is_still(world.home());
    }
    refused(&world, mo_worker(&world, &["check", "glm"]), 77, "worker `glm` has no key");
}

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

#[test]
fn without_a_home_everything_says_so_and_help_still_helps() {
    let mut world = World::new();
    world.without("HOME");
    for words in [
        &["list"][..],
        &["create", "x", "--preset", "zai"],
        &["show", "x"],
        &["check", "x"],
        &["remove", "x", "--yes"],
        &["rename", "x", "y"],
    ] {
        refused(&world, mo_worker(&world, words), 78, "neither HOME nor CLAUDE_WORKERS_ROOT is set");
    }
    for words in [&["--help"][..], &["-h"], &["create", "--help"], &["--version"], &["-V"], &["doctor", "-h"]]
    {
        mo_worker(&world, words).run().ok().stdout_has("mo-worker").stderr_is("");
        mo_worker(&world, words).stdout_closed().run().ok();
    }
    world.var("CLAUDE_WORKERS_ROOT", "relative/root");
    refused(&world, mo_worker(&world, &["list"]), 78, "is not an absolute path");
}

#[test]
fn a_reader_that_left_is_no_failure_and_a_full_output_is_one() {
    let world = with_workers(&["glm"]);
    for words in [&["list"][..], &["list", "--json"], &["show", "glm"]] {
        mo_worker(&world, words).stdout_closed().run().ok().stderr_is("");
        if cfg!(target_os = "linux") {
            mo_worker(&world, words)
                .stdout_full()
                .run()
                .code(74)
                .stderr_has("cannot write to standard output");
        }
    }
}

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
        if run.code != Some(0) {
            run.code(74).stderr_has("disk is full");
            before.is_still(disk.path());
            mo_worker(&world, &["list"]).run().ok().stdout_has("first").stdout_lacks("second");
        } else {
            assert!(left > 0, "a full disk took a worker");
            mo_worker(&world, &["remove", "second", "--yes"]).run().ok();
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
    runs.into_iter().for_each(|run| drop(run.wait().ok()));
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
        patience::within(std::time::Duration::from_millis(200), || {
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
            let Some(trace) =
                strace::of(&world, ["-e".to_owned(), format!("trace={call}"), "-e".to_owned(), inject])
            else {
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

#[test]
fn remove_asks_on_a_terminal_and_tells_what_is_lost() {
    let world = with_workers(&["glm"]);
    world.write(file("glm", "projects/-p/a.jsonl"), "{}\n");
    refused(&world, mo_worker(&world, &["remove", "glm"]), 64, "say --yes");
    let mut running = on_terminal(&world, MO_WORKER, &["remove", "glm"]).spawn();
    running.wait_for_stdout("Remove it? [y/N] ");
    type_line(&mut running, "n");
    running.wait().code(1).stdout_has("nothing was removed").stdout_has("1 transcripts");
    let mut running = on_terminal(&world, MO_WORKER, &["remove", "glm"]).spawn();
    running.wait_for_stdout("Remove it? [y/N] ");
    type_line(&mut running, "y");
    running.wait().ok().stdout_has("removed worker `glm`");
    assert!(!world.root().join("glm").exists());
}

#[test]
fn remove_follows_no_symlink_out() {
    let world = with_workers(&["glm", "linked"]);
    world.write("mine/file", "precious");
    std::os::unix::fs::symlink(world.path("mine"), world.path(file("glm", "projects"))).unwrap();
    std::os::unix::fs::symlink(world.path("mine/file"), world.path(file("glm", "plans"))).unwrap();
    mo_worker(&world, &["remove", "glm", "--yes"]).run().ok();
    assert_eq!(world.read("mine/file"), "precious");
    fs::rename(world.root().join("linked"), world.path("moved")).unwrap();
    std::os::unix::fs::symlink(world.path("moved"), world.root().join("linked")).unwrap();
    refused(&world, mo_worker(&world, &["remove", "linked", "--yes"]), 78, "refusing to follow the symlink");
}

#[test]
fn a_worker_at_work_is_neither_renamed_nor_removed() {
    let mut world = with_workers(&["glm"]);
    world.without("MODEL_ORCHESTRATION_NOW");
    mo_key(&world, &["glm"], KEY).run().ok();
    world.fake("claude", "case $1 in --version) echo 2.1.332;; *) touch \"$HOME/started\"; read line;; esac");
    let mut running =
        world.command(env!("CARGO_BIN_EXE_mo-spawn")).args(["glm", "-p", "hi"]).stdin_held_open().spawn();
    wait_until("the worker to start", || world.path("started").exists() || !running.is_alive());
    for words in [&["rename", "glm", "new"][..], &["remove", "glm", "--yes"]] {
        mo_worker(&world, words).run().code(75).stderr_has("worker `glm` is at work: dispatch d-");
    }
    running.write(b"\n");
    running.wait();
    mo_worker(&world, &["rename", "glm", "new"]).run().ok();
    mo_worker(&world, &["remove", "new", "--yes"]).run().ok();
}

#[test]
fn what_looks_like_no_worker_is_not_listed() {
    let world = with_workers(&["glm"]);
    world.write(".claude-workers/presets.json", "{}");
    world.write(".claude-workers/.usage/ledger.json", "{}");
    fs::create_dir_all(world.root().join("My Notes")).unwrap();
    world.write(".claude-workers/GLM/settings.json", "{\"env\": {}}");
    let names: Vec<PathBuf> = listed(&world).into_iter().map(|(name, _)| name.into()).collect();
    assert_eq!(names, [PathBuf::from("GLM"), PathBuf::from("glm")]);
    mo_worker(&world, &["list"]).run().ok().stdout_has("`GLM` cannot be a worker's name");
}
