//! mo-worker: workers come, are seen and go; bad names and broken files change nothing.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use support::{World, wait_until};

use crate::staff::{KEY, create, file, listed, mo_key, mo_worker, refused, with_workers};
use crate::terminal::{on_terminal, type_line};
use crate::tree::Tree;

const MO_WORKER: &str = env!("CARGO_BIN_EXE_mo-worker");

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
    refused(&world, mo_worker(&world, &["rename", "glm", "kimi"]), 1, "there is already a worker `kimi`");
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
    refused(&world, mo_worker(&world, &["list"]), 78, "CLAUDE_WORKERS_ROOT does not name an absolute path");
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
