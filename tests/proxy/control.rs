//! The commands that look at a gateway and tell it what to do, and the launcher.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};
use support::{Run, World, wait_for, wait_until};

use crate::client::request;
use crate::gateway::{Gateway, PROGRAM};
use crate::upstream::Upstream;

fn run(world: &World, words: &[&str]) -> Run {
    world.command(PROGRAM).args(words.iter().copied())
}

/// A world whose `claude` notes what it was given.
fn with_client(world: &World) {
    world.fake("claude", "printf '%s\\n' \"$@\" > \"$HOME/args\"; env > \"$HOME/env\"; echo ran");
}

fn stopped(world: &World) {
    run(world, &["stop", "--now"]).run().ok();
    wait_until("the gateway to be gone", || !world.root().join(".proxy/instance.json").exists());
}

#[test]
fn without_a_gateway_each_command_says_what_to_do() {
    let world = World::new();
    run(&world, &["status"]).run().code(1).stderr_has("mo-proxy exec -- claude");
    run(&world, &["reload"]).run().code(1);
    run(&world, &["top"]).run().code(1);
    run(&world, &["stop"]).run().ok().stderr_has("no gateway of yours runs");
    run(&world, &["audit"]).run().ok().stderr_has("no such request");
    run(&world, &["audit", "verify"]).run().ok().stdout_has("0 lines");
    run(&world, &["cost"]).run().ok().stdout_has("all");
    run(&world, &["exec"]).run().code(64);
    run(&world, &["exec", "--", "bash", "-c", "x"]).run().code(64).stderr_has("is not claude");
}

#[test]
fn status_cost_and_audit_show_what_was_asked() {
    let anthropic = Upstream::saying("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 96\r\n\r\n{\"id\":\"msg_1\",\"type\":\"message\",\"model\":\"claude-x\",\"usage\":{\"input_tokens\":7,\"output_tokens\":35}}".to_owned());
    let gateway = Gateway::before(&anthropic);
    let body = "{\"model\":\"claude-x\",\"messages\":[]}";
    gateway.ask(&request("POST", "/v1/messages", "authorization: Bearer sk-ant-oat01-x\r\n", body));
    wait_for("the line", || {
        let shown = run(&gateway.world, &["audit", "--json"]).run().ok();
        shown.text().contains("claude-x").then_some(())
    });
    run(&gateway.world, &["status"]).run().ok().stdout_has("is serving").stdout_has("anthropic");
    let status: Value = run(&gateway.world, &["status", "--json"]).run().ok().json();
    assert_eq!(status["address"], gateway.address.as_str());
    run(&gateway.world, &["audit"]).run().ok().stdout_has("claude-x").stdout_has("200");
    run(&gateway.world, &["audit", "export", "--format", "csv"])
        .run()
        .ok()
        .stdout_has(",anthropic,,claude-x,claude-x,200,7,35,");
    let cost: Value = run(&gateway.world, &["cost", "--json"]).run().ok().json();
    assert_eq!(cost["days"][0]["by_model"]["claude-x"]["fresh"], 42);
    let head: Value = run(&gateway.world, &["audit", "verify", "--json"]).run().ok().json();
    let head = head["head"].as_str().unwrap().to_owned();
    run(&gateway.world, &["audit", "verify", "--head", &head])
        .run()
        .ok()
        .stdout_has("1 lines in 1 files hold");
    run(&gateway.world, &["audit", "verify", "--head", &"0".repeat(63)])
        .run()
        .code(65)
        .stderr_has("not in the audit");
    let file = ".claude-workers/.proxy/audit/audit.jsonl";
    let changed = gateway.world.read(file).replace("claude-x", "claude-y");
    gateway.world.write(file, changed);
    run(&gateway.world, &["audit", "verify"]).run().code(65).stderr_has("audit.jsonl, line 1");
}

#[test]
fn a_bad_configuration_is_told_by_reload_and_changes_nothing() {
    let gateway =
        Gateway::before(&Upstream::saying("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_owned()));
    gateway.world.write(".claude-workers/.proxy/config.json", "{\"max_body_mb\": \"many\"}");
    run(&gateway.world, &["reload"]).run().code(78).stderr_has("config.json:1:");
    gateway.world.write(".claude-workers/.proxy/config.json", "{\"max_body_mb\": 1}");
    run(&gateway.world, &["reload"]).run().ok();
    assert_eq!(gateway.get("/health").status, 200);
}

#[test]
fn exec_starts_one_gateway_and_the_next_exec_uses_it() {
    let world = World::new();
    with_client(&world);
    world.write(".claude-workers/.proxy/config.json", "{\"listen\": \"127.0.0.1:0\"}");
    for _ in 0..2 {
        run(&world, &["exec", "--", "claude", "-p", "a b"])
            .var("ANTHROPIC_API_KEY", "a-key-of-the-user")
            .var("ANTHROPIC_CUSTOM_HEADERS", "x-own: 1")
            .var("CLAUDE_CODE_SUBAGENT_MODEL", "haiku")
            .var("CLAUDE_CODE_USE_BEDROCK", "1")
            .run()
            .ok()
            .stdout_is("ran\n");
    }
    let instance: Value = serde_json::from_str(&world.read(".claude-workers/.proxy/instance.json")).unwrap();
    let token = world.read(".claude-workers/.proxy/token");
    let env = world.read("env");
    let address = instance["address"].as_str().unwrap();
    for line in [
        format!("ANTHROPIC_BASE_URL=http://{address}\n"),
        format!("ANTHROPIC_CUSTOM_HEADERS=x-own: 1\nx-mo-token: {token}\n"),
        "ENABLE_TOOL_SEARCH=true\n".to_owned(),
    ] {
        assert!(env.contains(&line), "{line} in {env}");
    }
    for gone in ["ANTHROPIC_API_KEY", "CLAUDE_CODE_SUBAGENT_MODEL", "CLAUDE_CODE_USE_BEDROCK"] {
        assert!(!env.contains(gone), "{gone} in {env}");
    }
    // The way to the gateway comes before a project's settings; its token stands on no command line.
    let args = world.read("args");
    let settings = args.strip_prefix("--settings\n").and_then(|rest| rest.strip_suffix("\n-p\na b\n"));
    let settings: Value = serde_json::from_str(settings.unwrap_or_else(|| panic!("{args}"))).unwrap();
    assert_eq!(settings["env"]["ANTHROPIC_BASE_URL"], format!("http://{address}"));
    assert!(!args.contains(token.trim()) && !args.contains("x-own"), "{args}");
    run(&world, &["exec", "--", "claude", "--settings=own.json"]).run().ok();
    assert_eq!(world.read("args"), "--settings=own.json\n");
    run(&world, &["exec", "--keep-key", "--", "claude"])
        .var("ANTHROPIC_API_KEY", "a-key-of-the-user")
        .run()
        .ok();
    assert!(world.read("env").contains("ANTHROPIC_API_KEY=a-key-of-the-user\n"));
    let gateways = world.processes().into_iter().filter(|(_, command)| command.contains("serve")).count();
    assert_eq!(gateways, 1, "{:?}", world.processes());
    stopped(&world);
}

#[test]
fn many_execs_at_once_start_one_gateway() {
    let world = World::new();
    with_client(&world);
    world.write(".claude-workers/.proxy/config.json", "{\"listen\": \"127.0.0.1:0\"}");
    let runs: Vec<_> = (0..8).map(|_| run(&world, &["exec", "--", "claude"]).spawn()).collect();
    for run in runs {
        run.wait().ok();
    }
    let gateways = world.processes().into_iter().filter(|(_, command)| command.contains("serve")).count();
    assert_eq!(gateways, 1, "{:?}", world.processes());
    stopped(&world);
}

#[test]
fn a_stranger_at_our_address_gets_neither_token_nor_login() {
    let mut world = World::new();
    with_client(&world);
    let gateway = Gateway::start(std::mem::take(&mut world));
    let world = &gateway.world;
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = stranger.local_addr().unwrap().to_string();
    // The process is right and the address is not: as after a forged or an old announcement.
    let file = ".claude-workers/.proxy/instance.json";
    let mut announced: Value = serde_json::from_str(&world.read(file)).unwrap();
    announced["address"] = json!(address);
    world.write(file, announced.to_string());
    let heard = std::thread::spawn(move || {
        let (mut stream, _) = stranger.accept().unwrap();
        let mut bytes = [0; 4096];
        let length = stream.read(&mut bytes).unwrap();
        let body = "{\"proof\":\"0000\"}";
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    });
    run(world, &["exec", "--", "claude"]).run().code(78).stderr_has("is no gateway of yours");
    let heard = heard.join().unwrap();
    assert!(heard.starts_with("GET /mo/proof?challenge=") && !heard.contains(&gateway.token), "{heard}");
    assert!(!world.path("env").exists());
}

#[test]
fn a_port_that_others_hold_is_left_to_them() {
    let world = World::new();
    with_client(&world);
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    world.write(".claude-workers/.proxy/config.json", format!("{{\"listen\": \"127.0.0.1:{port}\"}}"));
    run(&world, &["exec", "--", "claude"]).run().ok().stderr_has("taken by another program");
    assert!(!world.read("env").contains(&format!("127.0.0.1:{port}\n")));
    stopped(&world);
}

#[test]
fn a_project_that_leads_past_the_gateway_starts_nothing() {
    let world = World::new();
    with_client(&world);
    world.write("project/.claude/settings.json", "{\"env\": {\"ANTHROPIC_BASE_URL\": \"http://elsewhere\"}}");
    run(&world, &["exec", "--", "claude"])
        .cwd(world.path("project"))
        .run()
        .code(78)
        .stderr_has("past the gateway");
    assert!(!world.root().join(".proxy/instance.json").exists());
}

#[test]
fn the_service_is_installed_upgraded_and_removed_and_nobody_elses_is_touched() {
    if cfg!(target_os = "macos") {
        return;
    }
    let world = World::new();
    world.fake("systemctl", "echo \"$@\" >> \"$HOME/asked\"");
    run(&world, &["service", "install"]).run().ok();
    let file = ".config/systemd/user/mo-proxy.service";
    let unit = world.read(file);
    let program = world.root().join(".bin/mo-proxy");
    assert!(unit.contains(&format!("ExecStart=\"{}\" serve\n", program.display())), "{unit}");
    run(&world, &["service", "install"]).run().ok();
    let asked = world.read("asked");
    assert_eq!(asked.matches("--user restart mo-proxy.service").count(), 2, "{asked}");
    run(&world, &["service", "uninstall"]).run().ok();
    assert!(!world.path(file).exists());
    assert!(world.read("asked").contains("--user disable --now mo-proxy.service"));
    world.write(file, "[Service]\nExecStart=/somebody/elses\n");
    run(&world, &["service", "install"]).run().code(78).stderr_has("was not made by us");
    run(&world, &["service", "uninstall"]).run().code(78);
    assert!(world.read(file).contains("/somebody/elses"));
    run(&world, &["service", "paint"]).run().code(64);
}
