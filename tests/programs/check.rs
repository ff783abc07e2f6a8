//! mo-worker check: what it leaves behind, stores and shows, whatever stands in for Claude Code and the provider.

use std::fs;

use support::{World, wait_until};

use crate::door::Door;
use crate::staff::{KEY, create_at, file, listed, mo_key, mo_worker};

/// Nothing listens on the port that nobody may use.
const NOBODY: &str = "http://127.0.0.1:1";

/// A world with the worker `glm`, its key, and this script in the place of Claude Code's answer.
fn with_claude(script: &str) -> World {
    let world = World::new();
    create_at(&world, "glm", NOBODY);
    mo_key(&world, &["glm"], KEY).run().ok();
    world.fake("claude", &format!("case $1 in --version) echo 2.1.332; exit;; esac\n{script}"));
    world
}

#[test]
fn an_ended_check_leaves_nothing_running_and_nothing_behind() {
    for signal in [2, 15, 1] {
        let world = with_claude("touch \"$HOME/started\"; tail -f /dev/null");
        let mut running = mo_worker(&world, &["check", "glm"]).spawn();
        wait_until("the question to be asked", || world.path("started").exists() || !running.is_alive());
        running.signal(signal);
        running.wait().code(130).stderr_has("cancelled");
        wait_until("all processes to be gone", || world.processes().is_empty());
        let temporary = world.home().parent().unwrap().join("tmp");
        assert_eq!(fs::read_dir(temporary).unwrap().count(), 0, "signal {signal}");
        assert_eq!(listed(&world), [("glm".to_owned(), "unchecked".to_owned())]);
        assert!(world.read(file("glm", "worker.json")).contains("\"last_check\": null"));
    }
}

/// What Claude Code prints when the provider refused: the status and the message.
fn refusal(status: u16, kind: &str, message: &str) -> String {
    format!(
        r#"echo '{{"is_error":true,"result":"{message}","api_error_status":{status},"api_error_type":"{kind}"}}'; exit 1"#
    )
}

#[test]
fn a_provider_that_repeats_the_key_is_not_repeated() {
    let message = format!("API Error: 401 no such key: {KEY}, x-api-key={KEY}.");
    let world = with_claude(&refusal(401, "authentication_error", &message));
    for words in [&["glm"][..], &["glm", "--from-command", &format!("echo {KEY}")]] {
        mo_key(&world, words, KEY).run().ok();
        let checked = mo_worker(&world, &["check", "glm"]).run().code(77);
        let checked = checked.stdout_has("no such key: [hidden], x-api-key=[hidden].");
        checked.stdout_lacks(KEY).stdout_lacks("half_").stderr_lacks(KEY);
    }
    world.fake(
        "claude",
        &format!("case $1 in --version) echo 2.1.332;; *) echo no: {KEY} >&2; exit 1;; esac"),
    );
    mo_worker(&world, &["check", "glm"]).run().code(1).stdout_has("no: [hidden]").stdout_lacks(KEY);
}

#[test]
fn a_key_command_that_fails_is_told_once_and_is_no_refusal() {
    let world = with_claude("exit 1");
    let command = ["glm", "--from-command", "echo 'the vault is locked' >&2; exit 9"];
    mo_key(&world, &command, "").run().ok();
    let checked = mo_worker(&world, &["check", "glm"]).run().code(77);
    let told =
        checked.stderr_has("the key command of worker `glm` failed: exit status: 9: the vault is locked");
    let told = told.stderr_has("`mo-key glm --from-command CMD` sets another").stdout_lacks("refuses");
    assert_eq!(told.errors().matches("the vault").count(), 1);
    assert_eq!(listed(&world), [("glm".to_owned(), "unchecked".to_owned())]);
}

#[test]
fn an_endpoint_that_sends_elsewhere_gets_no_key() {
    let world = with_claude("touch \"$HOME/asked\"; echo '{\"result\":\"mockingbird\"}'");
    let door = Door::answering("307 Temporary Redirect", "location: http://localhost:1/elsewhere\r\n", "");
    for auth in ["bearer", "x-api-key"] {
        let name = format!("to-{auth}");
        let create = ["create", &name, "--base-url", &door.url("http"), "--sonnet", "m", "--auth", auth];
        mo_worker(&world, &create).run().ok();
        mo_key(&world, &[&name], KEY).run().ok();
        let checked = mo_worker(&world, &["check", &name]).run().code(78);
        checked.stdout_has("http://localhost:1/elsewhere").stderr_has("hand the key to that host");
        assert!(!world.path("asked").exists(), "{auth}");
        assert!(listed(&world).contains(&(name, "failing".to_owned())));
    }
    mo_worker(&world, &["check", "glm"]).run().ok().stdout_has("live");
}

#[test]
fn an_unknown_model_told_as_a_bad_request_is_named_with_its_url() {
    for (status, kind, code) in [(400, "invalid_request_error", 1), (404, "not_found_error", 78)] {
        let world = with_claude(&refusal(status, kind, "no"));
        let checked = mo_worker(&world, &["check", "glm"]).run().code(code);
        checked
            .stderr_has("the model `test-model`")
            .stderr_lacks("check glm")
            .stderr_has("mo-worker show glm");
    }
}

#[test]
fn what_mo_spawn_refuses_says_nothing_of_the_worker() {
    let world = with_claude("touch \"$HOME/started\"; read line; echo '{\"result\":\"mockingbird\"}'");
    mo_worker(&world, &["create", "one", "--base-url", NOBODY, "--sonnet", "m", "--max-parallel", "1"])
        .run()
        .ok();
    mo_key(&world, &["one"], KEY).run().ok();
    let run = world.command(env!("CARGO_BIN_EXE_mo-spawn")).args(["one", "-p", "hi"]).stdin_held_open();
    let mut running = run.without("MODEL_ORCHESTRATION_NOW").spawn();
    wait_until("the worker to start", || world.path("started").exists() || !running.is_alive());
    mo_worker(&world, &["check", "one"])
        .run()
        .code(75)
        .stdout_is("")
        .stderr_has("mo-worker: ")
        .stderr_has("hint: ");
    assert!(listed(&world).contains(&("one".to_owned(), "unchecked".to_owned())));
    running.write(b"\n");
    running.wait().ok();
    mo_worker(&world, &["check", "one"]).run().ok();
    let nested = mo_worker(&world, &["check", "one"]).var("MO_DEPTH", "1");
    nested.run().code(1).stderr_has("workers start no workers");
    assert!(listed(&world).contains(&("one".to_owned(), "live".to_owned())));
}

#[test]
fn a_claude_code_that_does_not_answer_or_start_is_told_as_such() {
    let world = with_claude("");
    world.fake("claude", "tail -f /dev/null");
    mo_worker(&world, &["check", "glm"])
        .run()
        .code(78)
        .stderr_has("gave no answer within")
        .stderr_has("hint: ");
    wait_until("all processes to be gone", || world.processes().is_empty());
    let broken = world.write("broken/claude", "#!/no/such/interpreter\n");
    world.set_mode("broken/claude", 0o755);
    let told = format!(
        "cannot run Claude Code: {}: no such file or directory\nhint: `mo-worker doctor`",
        broken.display()
    );
    for (program, words) in [
        (env!("CARGO_BIN_EXE_mo-worker"), &["check", "glm"][..]),
        (env!("CARGO_BIN_EXE_mo-spawn"), &["glm", "-p", "hi"]),
    ] {
        let run = world.command(program).args(words.iter().copied()).var("CLAUDE_CODE_EXECPATH", &broken);
        run.run().code(78).stderr_has(&told);
    }
}

#[test]
fn the_first_run_state_is_begun_anew_or_left_alone() {
    let world = with_claude("echo '{\"result\":\"mockingbird\"}'");
    let state = file("glm", ".claude.json");
    world.write(&state, " \n");
    mo_worker(&world, &["check", "glm"]).run().ok();
    assert_eq!(world.read(&state), "{\"hasCompletedOnboarding\": true}\n");
    world.write(&state, "{\n\"a\": ");
    mo_worker(&world, &["check", "glm"])
        .run()
        .code(65)
        .stderr_has(".claude.json:2: ")
        .stderr_has("move it away");
    fs::remove_file(world.path(&state)).unwrap();
    let mine = world.write("mine.json", "{\"mine\": 1}");
    std::os::unix::fs::symlink(&mine, world.path(&state)).unwrap();
    mo_worker(&world, &["check", "glm"]).run().code(78).stderr_has("refusing to follow the symlink");
    assert_eq!(fs::read_link(world.path(&state)).unwrap(), mine);
}
