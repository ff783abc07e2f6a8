//! A disk that is full: requests go on, and what the audit lost is told, then and later.

use std::fs;

use serde_json::Value;
use support::tmpfs::SmallDisk;
use support::{World, wait_for, wait_until};

use crate::client::{Client, messages, request};
use crate::gateway::PROGRAM;
use crate::upstream::{Upstream, json};

#[test]
fn a_full_disk_is_told_and_stops_no_request() {
    let upstream = Upstream::saying(json("200 OK", "", "{\"type\":\"message\"}"));
    let disk = SmallDisk::new(256);
    let mut world = World::new();
    world.var("MODEL_ORCHESTRATION_ANTHROPIC", upstream.url());
    world.var("CLAUDE_WORKERS_ROOT", disk.path());
    let gateway = world.command(PROGRAM).args(["serve", "--port", "0"]).spawn();
    let folder = disk.path().join(".proxy");
    let instance: Value = wait_for("the gateway to announce itself", || {
        serde_json::from_slice(&fs::read(folder.join("instance.json")).ok()?).ok()
    });
    let token = fs::read_to_string(folder.join("token")).unwrap();
    let mut client = Client::connect(instance["address"].as_str().unwrap());
    disk.fill();
    let status = |client: &mut Client| {
        let asked = request("GET", "/status", &format!("x-mo-token: {token}\r\n"), "");
        client.ask(&asked).json()["audit"].clone()
    };
    wait_until("the audit to be in trouble", || {
        assert_eq!(client.ask(&messages("{\"model\":\"claude-x\"}")).status, 200);
        let audit = status(&mut client);
        audit["trouble"].is_string() && audit["lost"].as_u64() > Some(0)
    });
    disk.empty();
    wait_until("the audit to be written again", || {
        assert_eq!(client.ask(&messages("{\"model\":\"claude-x\"}")).status, 200);
        status(&mut client)["trouble"].is_null()
    });
    let verified = world.command(PROGRAM).args(["audit", "verify"]).run().ok();
    verified.stdout_has("lost on the way");
    gateway.signal(15);
    gateway.wait().ok().stderr_has("the audit cannot be written");
}
