//! mo-spawn with a Claude Code that is only a script: what it is given, what is refused, what is left behind.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use support::{Run, World};

use crate::identity::{KEY, make};

/// A Claude Code that notes its arguments and variables.
const NOTES: &str = "printf '%s\\n' \"$@\" > \"$HOME/args\"; env > \"$HOME/env\"; cat > \"$HOME/stdin\"; echo out; echo err >&2; exit 7";

fn spawn(world: &World, words: &[&str]) -> Run {
    world.command(env!("CARGO_BIN_EXE_mo-spawn")).args(words.iter().copied())
}

fn world() -> World {
    let world = World::new();
    make(&world, "w", true);
    world.fake("claude", NOTES);
    world
}

fn records(world: &World) -> Vec<Value> {
    let files = world.files().into_iter().filter(|path| path.to_string_lossy().contains(".dispatch/2"));
    files.map(|path| serde_json::from_slice(&world.bytes(path)).unwrap()).collect()
}

#[test]
fn everything_is_passed_through() {
    let world = world();
    spawn(&world, &["w", "-p", "a b", "--x"]).stdin("in").run().code(7).stdout_is("out\n").stderr_is("err\n");
    assert_eq!(world.read("stdin"), "in");
    let args = world.read("args");
    let args: Vec<_> = args.lines().collect();
    assert_eq!(args[0], "--session-id");
    assert_eq!(args[2..], ["--model", "sonnet", "-p", "a b", "--x"]);
    let record = &records(&world)[0];
    assert_eq!((&record["worker_sessions"][0], &record["exit_code"]), (&args[1].into(), &7.into()));
    assert_eq!((&record["status"], &record["args_mode"]), (&"failed".into(), &"pass-through".into()));
}

#[test]
fn a_session_that_the_arguments_decide_gets_no_id_of_ours() {
    let world = world();
    for words in
        [&["--resume", "abc", "-p", "x"][..], &["-c", "-p", "x"], &["--session-id", "abc", "-p", "x"]]
    {
        spawn(&world, &[&["w"], words].concat()).run().code(7);
        assert_eq!(world.read("args"), format!("--model\nsonnet\n{}\n", words.join("\n")));
    }
    // In one millisecond ids have no order.
    let sessions = records(&world).into_iter().map(|record| record["worker_sessions"].clone());
    assert_eq!(sessions.filter(|sessions| sessions[0] == "abc").count(), 2);
}

#[test]
fn what_is_no_session_is_left_alone_and_leaves_no_record() {
    let world = world();
    for words in [&["mcp", "list"][..], &["--version"], &["doctor"]] {
        spawn(&world, &[&["w"], words].concat()).run().code(7).stdout_is("out\n");
        assert_eq!(world.read("args"), format!("{}\n", words.join("\n")));
    }
    assert!(records(&world).is_empty());
}

#[test]
fn a_key_command_runs_at_launch_and_its_key_is_on_no_disk() {
    let world = world();
    world
        .command(env!("CARGO_BIN_EXE_mo-key"))
        .args(["w", "--from-command", "cat $HOME/vault/key"])
        .run()
        .ok();
    spawn(&world, &["w", "-p", "x"]).run().code(77).stderr_has("key command");
    world.write("vault/key", "from-the-vault-0123456789\n");
    spawn(&world, &["w", "-p", "x"]).run().code(7);
    assert!(world.read("env").contains("ANTHROPIC_AUTH_TOKEN=from-the-vault-0123456789\n"));
    let stored = world.files().into_iter().filter(|path| path.starts_with(".claude-workers"));
    // The link to the programs is no file.
    for path in stored.filter(|path| world.path(path).is_file()) {
        let bytes = world.bytes(&path);
        assert!(!String::from_utf8_lossy(&bytes).contains("from-the-vault"), "{}", path.display());
    }
}

#[test]
fn another_workers_key_is_taken_away_under_whatever_name() {
    let world = world();
    make(&world, "other", false);
    let foreign = "another-workers-key-98765";
    world.command(env!("CARGO_BIN_EXE_mo-key")).arg("other").stdin(foreign).run().ok();
    spawn(&world, &["w", "-p", "x"])
        .var("MY_NOTES", format!("key: {foreign}"))
        .var("ZAI_API_KEY", "z")
        .var("CLAUDE_WORKERS_ROOT", world.root())
        .var("EDITOR", "vi")
        .run()
        .code(7);
    let env = world.read("env");
    assert!(!env.contains(foreign) && !env.contains("ZAI_API_KEY"));
    for kept in ["EDITOR=vi\n", "CLAUDE_WORKERS_ROOT=", "MO_WORKER=w\n", "MO_DEPTH=1\n", &format!("={KEY}\n")]
    {
        assert!(env.contains(kept), "{kept} in {env}");
    }
}

#[test]
fn what_cannot_run_is_told_with_what_to_do() {
    let world = World::new();
    spawn(&world, &["none", "-p", "x"]).run().code(64).stderr_has("there is no worker `none`");
    make(&world, "keyless", false);
    spawn(&world, &["keyless", "-p", "x"]).run().code(77).stderr_has("mo-key keyless");
    make(&world, "w", true);
    let mut bare = world;
    bare.without_system_path();
    spawn(&bare, &["w", "-p", "x"]).run().code(78).stderr_has("npm install -g @anthropic-ai/claude-code");
    let claude = bare.fake("claude", "true");
    std::fs::set_permissions(&claude, PermissionsExt::from_mode(0o644)).unwrap();
    spawn(&bare, &["w", "-p", "x"]).run().code(78).stderr_has("cannot find Claude Code");
    std::fs::write(&claude, b"\x7fELF no program").unwrap();
    std::fs::set_permissions(&claude, PermissionsExt::from_mode(0o755)).unwrap();
    spawn(&bare, &["w", "-p", "x"]).run().code(78).stderr_has("cannot run Claude Code");
    assert_eq!(records(&bare)[0]["status"], "failed");
}

#[test]
fn a_foreign_model_name_is_refused_before_anything_starts() {
    let world = world();
    for model in ["claude-opus-5-5", "opus", "haiku[1m]"] {
        spawn(&world, &["w", "-p", "x", "--model", model]).run().code(64).stderr_has("sonnet (model-s)");
    }
    spawn(&world, &["w", "-p", "x", "--fallback-model", "sonnet,claude-x"]).run().code(64);
    for model in ["sonnet", "model-s", "another-of-the-providers"] {
        spawn(&world, &["w", "-p", "x", "--model", model]).run().code(7);
    }
}

#[test]
fn a_worker_at_its_limit_says_so() {
    let world = World::new();
    make(&world, "w", true);
    let profile = world.read(".claude-workers/w/worker.json");
    world.write(
        ".claude-workers/w/worker.json",
        profile.replace("\"max_parallel\": null", "\"max_parallel\": 1"),
    );
    world.fake("claude", "echo started; cat");
    let mut first = spawn(&world, &["w", "-p", "x"]).stdin_held_open().spawn();
    first.wait_for_stdout("started");
    spawn(&world, &["w", "-p", "x"]).run().code(75).stderr_has("at its limit of 1");
    first.close_stdin();
    first.wait().ok();
    spawn(&world, &["w", "-p", "x"]).run().ok();
}

#[test]
fn a_claude_that_ignores_every_signal_but_the_last_is_killed_on_the_third() {
    let world = World::new();
    make(&world, "w", true);
    world.fake("claude", "trap '' TERM INT; sleep 1000 & echo started; wait; wait; wait; sleep 1000");
    let mut run = spawn(&world, &["w", "-p", "x"]).spawn();
    run.wait_for_stdout("started");
    for _ in 0..3 {
        run.signal(15);
    }
    run.wait().code(137);
    assert!(world.processes().is_empty(), "{:?}", world.processes());
    assert_eq!(records(&world)[0]["status"], "cancelled");
}

#[test]
fn what_it_leaves_running_may_stay_when_asked_to() {
    let world = World::new();
    make(&world, "w", true);
    world.fake("claude", "setsid sleep 1000 >/dev/null 2>&1 & echo done");
    spawn(&world, &["w", "-p", "x"]).run().ok();
    assert!(world.processes().is_empty(), "{:?}", world.processes());
    spawn(&world, &["--keep-background", "w", "-p", "x"]).run().ok();
    let left = world.processes();
    assert_eq!(left.len(), 1, "{left:?}");
    for (pid, _) in left {
        world.command("/bin/kill").arg(pid.to_string()).run().ok();
    }
}

#[test]
fn at_a_terminal_it_becomes_claude_and_the_next_reader_closes_the_record() {
    let world = World::new();
    make(&world, "w", true);
    world.fake("claude", "echo pid-$$; test -t 0 && test -t 1");
    let program = env!("CARGO_BIN_EXE_mo-spawn");
    // The two kinds of script(1): util-linux and BSD.
    let words = if cfg!(target_os = "linux") {
        vec!["-qec".to_owned(), format!("{program} w"), "/dev/null".to_owned()]
    } else {
        ["-q", "/dev/null", program, "w"].map(str::to_owned).to_vec()
    };
    let output = world.command("/usr/bin/script").args(words).run().ok();
    let record = &records(&world)[0];
    let pid = output.text().trim().trim_start_matches("pid-").parse::<u64>().unwrap();
    assert_eq!((&record["pid"], &record["status"]), (&pid.into(), &"running".into()));
    world.command(env!("CARGO_BIN_EXE_mo-worker")).args(["rename", "w", "v"]).run().ok();
    assert_eq!(records(&world)[0]["status"], "lost");
}
