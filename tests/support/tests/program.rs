//! The scripted provider as a program.

use std::net::TcpStream;

use serde_json::Value;
use support::{World, claude};

const PROGRAM: &str = env!("CARGO_BIN_EXE_scripted-provider");

#[test]
fn it_tells_its_address_serves_and_ends_with_its_input() {
    let world = World::new();
    let log = world.path("log");
    let mut provider = world.command(PROGRAM).arg("--log").arg(&log).stdin_held_open().spawn();
    provider.wait_for_stdout("\n");
    let told: Value = serde_json::from_str(&provider.stdout()).expect("one JSON line");
    let address = told["address"].as_str().expect("an address").to_owned();
    let asked = world
        .command(claude::pinned())
        .var("ANTHROPIC_BASE_URL", address)
        .var("ANTHROPIC_AUTH_TOKEN", "first.second")
        .var("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .args(["-p", "hello"]);
    asked.run().ok().stdout_is("ok\n");
    let log = std::fs::read_to_string(log).expect("the log");
    assert!(log.contains("\"key_end\":\"cond\"") && !log.contains("second"), "{log}");
    assert!(log.contains("\"id\":\"msg_01"), "{log}");
    provider.close_stdin();
    provider.wait().ok();
    let port = u16::try_from(told["port"].as_u64().expect("a port")).expect("a port");
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "nothing listens any more");
}

#[test]
fn sigterm_ends_it_and_a_wrong_flag_is_refused() {
    let world = World::new();
    let mut provider = world.command(PROGRAM).stdin_held_open().spawn();
    provider.wait_for_stdout("address").signal(15);
    provider.wait().signalled(15);
    world.command(PROGRAM).arg("--prot").run().fails().stderr_has("usage:");
}
