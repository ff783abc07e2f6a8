//! mo-preset: the catalogue as a user sees and changes it.

use serde_json::Value;
use support::tmpfs::SmallDisk;
use support::{Run, World};

const OWN: &str = ".claude-workers/presets.json";

pub fn mo_preset(world: &World, words: &[&str]) -> Run {
    world.command(env!("CARGO_BIN_EXE_mo-preset")).args(words.iter().copied())
}

fn listed(world: &World) -> Value {
    mo_preset(world, &["list", "--json"]).run().ok().json()
}

#[test]
fn a_new_user_sees_the_bundled_presets_and_nothing_is_made() {
    let world = World::new();
    let list = mo_preset(&world, &["list"]).run().ok().stderr_is("");
    for word in [
        "zai",
        "kimi",
        "minimax",
        "deepseek",
        "ollama",
        "https://api.z.ai/api/anthropic",
        "glm-5.2 (opus, sonnet)",
    ] {
        assert!(list.text().contains(word), "{word}");
    }
    assert!(!list.text().contains('\u{1b}'), "colour without a terminal");
    mo_preset(&world, &["show", "zai"])
        .run()
        .ok()
        .stdout_has("window 1,000,000")
        .stdout_has("https://docs.z.ai/");
    assert_eq!(listed(&world)["presets"]["deepseek"]["tiers"]["opus"], "deepseek-v4-pro");
    let shown: Value = mo_preset(&world, &["show", "anthropic", "--json"]).run().ok().json();
    assert_eq!((&shown["id"], &shown["preset"]["auth"]), (&"anthropic".into(), &"x-api-key".into()));
    mo_preset(&world, &["remove", "zai"])
        .run()
        .code(64)
        .stderr_has("bundled")
        .stderr_has("mo-preset add zai");
    mo_preset(&world, &["remove", "none"]).run().code(64).stderr_has("there is no preset `none`");
    assert_eq!(world.files(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn an_own_preset_comes_and_goes() {
    let world = World::with_odd_path();
    mo_preset(
        &world,
        &[
            "add",
            "mine",
            "--base-url",
            "https://llm.example/api/v1/messages",
            "--label",
            "Mine",
            "--sonnet",
            "big",
            "--haiku",
            "small",
            "--context-window",
            "big=200k",
            "--context-window",
            "small=64_000",
            "--note",
            "ours",
        ],
    )
    .run()
    .ok()
    .stdout_is("added mine: https://llm.example/api, big (sonnet), small (haiku)\n")
    .stderr_has("using https://llm.example/api without `/v1/messages`")
    .stderr_has("mo-worker create NAME --preset mine");
    assert_eq!(world.mode(OWN), 0o600);
    let mine = &listed(&world)["presets"]["mine"];
    assert_eq!((&mine["origin"], &mine["auth"]), (&"own".into(), &"bearer".into()));
    assert_eq!(mine["models"]["big"]["context_window"], 200_000);
    assert_eq!(mine["models"]["small"]["context_window"], 64_000);
    mo_preset(&world, &["show", "mine"]).run().ok().stdout_has("mine - Mine").stdout_has("ours");
    mo_preset(&world, &["add", "mine", "--base-url", "https://h"]).run().code(1).stderr_has("already");
    mo_preset(&world, &["remove", "mine"]).run().ok().stdout_is("removed mine\n");
    mo_preset(&world, &["show", "mine"]).run().code(64);
}

#[test]
fn a_preset_laid_over_a_bundled_one_can_be_taken_off_again() {
    let world = World::new();
    mo_preset(&world, &["add", "zai", "--base-url", "https://h", "--opus", "o"])
        .run()
        .ok()
        .stderr_has("in the place of the bundled");
    let zai = &listed(&world)["presets"]["zai"];
    assert_eq!((&zai["origin"], &zai["base_url"]), (&"own-over-bundled".into(), &"https://h".into()));
    assert_eq!(zai["tiers"], serde_json::json!({"opus": "o"}));
    mo_preset(&world, &["list"]).run().ok().stdout_has("own, over the bundled one");
    mo_preset(&world, &["remove", "zai"]).run().ok().stderr_has("is back");
    assert_eq!(listed(&world)["presets"]["zai"]["origin"], "bundled");
}

#[test]
fn what_the_user_wrote_around_an_entry_stays_as_it_was() {
    let world = World::new();
    let own = "{ \"presets\" : {\n\t\"b\" : {\"base_url\":\"https://b\", \"mine\":1},\n\t\"a\" : {\"base_url\":\"https://a\"} },\n  \"extra\": [1,2] }\n";
    world.write(OWN, own);
    mo_preset(&world, &["add", "new", "--base-url", "http://localhost:1"]).run().ok();
    let changed = world.read(OWN);
    for part in [
        "\"b\" : {\"base_url\":\"https://b\", \"mine\":1}",
        "\"a\" : {\"base_url\":\"https://a\"}",
        "\"extra\": [1,2]",
    ] {
        assert!(changed.contains(part), "{part} in {changed}");
    }
    mo_preset(&world, &["remove", "b"]).run().ok();
    let left = listed(&world);
    assert!(
        left["presets"]["a"].is_object()
            && left["presets"]["new"].is_object()
            && left["presets"]["b"].is_null()
    );
    assert!(world.read(OWN).contains("\"extra\": [1,2]"));
}

#[test]
fn a_broken_file_is_told_by_line_and_takes_nothing_away() {
    for (text, line) in [
        ("{\n  \"presets\": {\n    \"a\": {,}\n  }\n}", 3),
        ("", 1),
        ("[]", 1),
        ("\u{feff}{}", 1),
        ("{\"version\": 7}", 1),
    ] {
        let world = World::new();
        world.write(OWN, text);
        let told = format!("presets.json:{line}: ");
        mo_preset(&world, &["list"])
            .run()
            .ok()
            .stdout_has("zai")
            .stderr_has(&told)
            .stderr_has("bundled presets still work");
        mo_preset(&world, &["show", "zai"]).run().ok().stdout_has("api.z.ai").stderr_has(&told);
        assert!(listed(&world)["trouble"].as_str().unwrap().contains(&told));
        mo_preset(&world, &["add", "x", "--base-url", "https://h"]).run().code(65).stderr_has(&told);
        mo_preset(&world, &["remove", "a"]).run().code(65).stderr_has(&told);
        assert_eq!(world.read(OWN), text, "a file that cannot be read must be left alone");
    }
}

#[test]
fn a_bad_entry_costs_only_itself_and_can_be_removed() {
    let world = World::new();
    world.write(OWN, "{\"presets\": {\n  \"good\": {\"base_url\": \"https://h\"},\n  \"bad\": {\"base_url\": \"https://u:sk-secret@h\"}\n}}");
    mo_preset(&world, &["show", "good"]).run().ok().stderr_has("presets.json:3: preset `bad`");
    mo_preset(&world, &["list"]).run().ok().stderr_lacks("sk-secret").stdout_lacks("sk-secret");
    mo_preset(&world, &["remove", "bad"]).run().ok();
    mo_preset(&world, &["list"]).run().ok().stderr_is("").stdout_has("good");
}

#[test]
fn a_file_that_is_no_file_is_told() {
    let world = World::new();
    std::fs::create_dir_all(world.path(OWN)).unwrap();
    mo_preset(&world, &["list"]).run().ok().stdout_has("zai").stderr_has("is a directory");
    mo_preset(&world, &["add", "x", "--base-url", "https://h"]).run().code(74).stderr_has("is a directory");
    let world = World::new();
    world.write(OWN, " ".repeat(5 << 20));
    mo_preset(&world, &["list"]).run().ok().stdout_has("zai").stderr_has("larger than 4 MiB");
}

#[test]
fn wrong_use_changes_nothing_and_says_what_to_do() {
    let world = World::new();
    for (words, part) in [
        (&["add", "x"][..], "--base-url"),
        (&["add", "x", "--base-url", "ftp://h"], "https://"),
        (&["add", "x", "--base-url", "https://u:sk-secret@h"], "mo-key"),
        (&["add", "x", "--base-url", "https://h/?key=sk-secret"], "mo-key"),
        (&["add", "../x", "--base-url", "https://h"], "a-z"),
        (&["add", "X", "--base-url", "https://h"], "a-z"),
        (&["add", "x", "--base-url", "https://h", "--auth", "basic"], "bearer"),
        (&["add", "x", "--base-url", "https://h", "--opus", "a b"], "model"),
        (&["add", "x", "--base-url", "https://h", "--context-window", "m"], "m="),
        (&["add", "x", "--base-url", "https://h", "--context-window", "m=0"], "200k"),
        (&["shwo", "zai"], "mo-preset show"),
        (&["probe"], "ID|URL"),
    ] {
        let run = mo_preset(&world, words)
            .run()
            .code(64)
            .stdout_is("")
            .stderr_has("hint: ")
            .stderr_lacks("sk-secret");
        assert!(run.errors().contains(part) || part == "m=", "{words:?}: {}", run.errors());
    }
    assert_eq!(world.files(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn plain_http_to_another_machine_is_warned_of() {
    let world = World::new();
    mo_preset(&world, &["add", "a", "--base-url", "http://llm.example"]).run().ok().stderr_has("warning");
    mo_preset(&world, &["add", "b", "--base-url", "http://127.0.0.1:1"]).run().ok().stderr_lacks("warning");
    mo_preset(&world, &["add", "c", "--base-url", "https://llm.example"]).run().ok().stderr_lacks("warning");
}

#[test]
fn sixteen_adds_at_once_lose_nothing() {
    let world = World::new();
    let ids: Vec<String> = (0..16).map(|number| format!("p{number}")).collect();
    let running: Vec<_> =
        ids.iter().map(|id| mo_preset(&world, &["add", id, "--base-url", "https://h"]).spawn()).collect();
    for run in running {
        run.wait().ok();
    }
    let presets = &listed(&world)["presets"];
    for id in &ids {
        assert!(presets[id].is_object(), "{id} was lost");
    }
}

#[test]
fn a_full_disk_leaves_the_file_as_it_was() {
    let mut world = World::new();
    let disk = SmallDisk::new(64);
    world.var("CLAUDE_WORKERS_ROOT", disk.path());
    mo_preset(&world, &["add", "first", "--base-url", "https://h"]).run().ok();
    let before = std::fs::read(disk.path().join("presets.json")).unwrap();
    disk.fill();
    mo_preset(&world, &["add", "second", "--base-url", "https://h"])
        .run()
        .code(74)
        .stderr_has("disk is full");
    assert_eq!(std::fs::read(disk.path().join("presets.json")).unwrap(), before);
}

#[test]
fn without_a_home_the_bundled_presets_are_still_there() {
    let mut world = World::new();
    world.without("HOME");
    mo_preset(&world, &["list"]).run().ok().stdout_has("zai").stderr_has("HOME");
    mo_preset(&world, &["add", "x", "--base-url", "https://h"])
        .run()
        .code(78)
        .stderr_has("CLAUDE_WORKERS_ROOT");
    mo_preset(&world, &["--help"]).run().ok().stdout_has("exit codes of probe").stderr_is("");
}

#[test]
fn a_reader_that_left_is_no_failure() {
    mo_preset(&World::new(), &["list"]).stdout_closed().run().ok();
}
