//! mo-dispatch's own command line, and what the server costs before it does anything.

use serde_json::json;
use support::World;

use crate::client::Client;

fn mo_dispatch(world: &World) -> support::Run {
    world.command(env!("CARGO_BIN_EXE_mo-dispatch"))
}

#[test]
fn help_and_version_are_there_and_a_wrong_word_is_told() {
    let world = World::new();
    mo_dispatch(&world).arg("--help").run().ok().stdout_has("MCP server").stdout_has("exit codes");
    mo_dispatch(&world).arg("--version").run().ok().stdout_has("mo-dispatch 0.");
    mo_dispatch(&world).arg("serve").run().code(64);
}

#[test]
fn an_empty_input_is_the_end_and_no_failure() {
    let world = World::new();
    mo_dispatch(&world).run().ok().stdout_is("").stderr_is("");
}

/// Its time to the first answer, and what it holds as it ships, are measured by `make bench`.
#[test]
fn it_is_small_while_it_waits() {
    let world = World::new();
    if cfg!(target_os = "linux") {
        let client = Client::ready(&world);
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", client.server.id())).expect("its status");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
        let kilobytes: u64 =
            line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("a number");
        assert!(kilobytes < 24 << 10, "{line} of a debug build");
        client.leave().ok();
    }
}

#[test]
fn no_shell_stands_before_the_first_answer() {
    let world = World::new();
    let shell = world.fake("shell", "touch \"$HOME/asked\"\nsleep 600");
    let mut client = Client::of(mo_dispatch(&world).var("SHELL", &shell));
    client.greet();
    client.data("list_workers", json!({}));
    client.leave().ok();
    assert!(!world.path("asked").exists());
}
