//! `mo-proxy exec -- claude` with the real Claude Code and a subscription's login: one command, nothing written into
//! the user's folders, the login at one host, each role at its provider.

use serde_json::{Value, json};
use support::provider::Usage;
use support::{Provider, Run, wait_for};

use crate::ability;
use crate::stage::Stage;

/// The token of the scripted login.
const LOGIN: &str = "sk-ant-oat01-scripted-login";
const GLM_KEY: &str = "0123456789abcdef.glm_KEY";

/// A stage with a login of the user's and two roles at one provider.
pub(crate) struct Launch {
    pub(crate) stage: Stage,
    pub(crate) anthropic: Provider,
    glm: Provider,
}

impl Launch {
    pub(crate) fn new() -> Self {
        let mut stage = Stage::new();
        let anthropic = Provider::setup().keys([LOGIN]).start();
        let glm = Provider::setup().keys([GLM_KEY]).models(["glm-5.2"]).start();
        let create =
            stage.world.command(env!("CARGO_BIN_EXE_mo-worker")).args(["create", "glm", "--base-url"]);
        create.args([&glm.url(), "--sonnet", "glm-5.2"]).run().ok();
        stage.world.command(env!("CARGO_BIN_EXE_mo-key")).arg("glm").stdin(GLM_KEY).run().ok();
        let config = json!({"listen": "127.0.0.1:0", "roles": {"explorer": "glm", "reviewer": "glm"}});
        stage.world.write(".claude-workers/.proxy/config.json", config.to_string());
        let login = json!({"claudeAiOauth": {"accessToken": LOGIN, "refreshToken": "sk-ant-ort01-scripted",
            "expiresAt": 4_102_444_800_000_i64, "scopes": ["user:inference", "user:profile"], "subscriptionType": "max"}});
        stage.world.write(".claude/.credentials.json", login.to_string());
        stage.world.set_mode(".claude/.credentials.json", 0o600);
        stage.world.var("MODEL_ORCHESTRATION_ANTHROPIC", anthropic.url());
        Self { stage, anthropic, glm }
    }

    /// One turn of `mo-proxy exec -- claude`.
    pub(crate) fn turn(&self, prompt: &str) -> Run {
        self.turn_of("claude", prompt)
    }

    /// The same with another client.
    pub(crate) fn turn_of(&self, client: &str, prompt: &str) -> Run {
        self.stage
            .world
            .command(env!("CARGO_BIN_EXE_mo-proxy"))
            .args(["exec", "--", client, "-p", prompt, "--output-format", "json"])
            .args(["--permission-mode", "bypassPermissions"])
            .var("ANTHROPIC_API_KEY", "a-key-that-must-not-win")
            .var("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
    }

    /// Whether the client gives an agent the model that it names.
    fn reaches_the_provider(&self) -> bool {
        ability::can(!self.glm.requests().is_empty(), "no agents of `--agents` with a model of the gateway's")
    }

    /// Ends the gateway that was started.
    pub(crate) fn end(&self) {
        self.stage.world.command(env!("CARGO_BIN_EXE_mo-proxy")).args(["stop", "--now"]).run().ok();
    }
}

#[test]
fn one_command_runs_the_session_with_its_login_and_the_roles_as_agents() {
    let launch = Launch::new();
    let Launch { stage, anthropic, glm } = &launch;
    let refusing = Provider::setup().keys(["nobodys"]).start();
    let prompt = "#agent mo-explorer <<END\n#say found by the explorer\nEND";
    // The way to the gateway leads through no company's proxy: it would see the login.
    let turn = launch.turn(prompt).var("HTTPS_PROXY", refusing.url()).var("HTTP_PROXY", refusing.url());
    let output = turn.run().ok();
    let result: Value = output.json();
    assert_eq!(result["is_error"], false, "{result:#}");
    if !launch.reaches_the_provider() {
        return;
    }
    for request in glm.requests() {
        assert_eq!(request.model.as_deref(), Some("glm-5.2"));
        let all = format!("{:?}", request.headers);
        assert!(!all.contains(LOGIN) && !all.contains("must-not-win"), "{all}");
    }
    let own: Vec<_> = anthropic.requests();
    assert!(own.iter().any(|request| request.path.starts_with("/v1/messages")), "{own:?}");
    for request in &own {
        let all = format!("{:?}", request.headers);
        assert!(
            !all.contains(GLM_KEY) && !all.contains("must-not-win") && !all.contains("x-mo-token"),
            "{all}"
        );
    }
    // What the client itself says to Anthropic goes its way, in a tunnel.
    let seen = refusing.requests();
    assert!(seen.iter().all(|request| request.method == "CONNECT"), "{seen:?}");
    // The agents are this session's only.
    assert!(!stage.world.path(".claude/agents").exists());
    launch.end();
}

#[test]
fn a_client_that_ignores_an_agents_model_is_told_from_its_traffic() {
    let launch = Launch::new();
    let world = &launch.stage.world;
    world.write(
        ".claude/agents/finder.md",
        "---\nname: finder\ndescription: finds\nmodel: mo-reviewer\n---\n\nYou find.\n",
    );
    // The session names a model of its own for each.
    let agent = |kind: &str| {
        let input =
            json!({"description": "finds", "subagent_type": kind, "model": "haiku", "prompt": "#say found"});
        format!("#tool Agent {input}\n")
    };
    let agents = agent("mo-explorer") + &agent("finder");
    let result: Value = launch.turn(&agents).run().ok().json();
    assert_eq!(result["is_error"], false, "{result:#}");
    let mut own = launch.anthropic.requests().into_iter();
    if !ability::can(own.any(|request| request.agent.is_some()), "no header that names a request's agent") {
        return;
    }
    let told: Vec<(String, String)> = wait_for("both agents to be told", || {
        let audit = world.command(env!("CARGO_BIN_EXE_mo-proxy")).args(["audit", "--json", "--last", "0"]);
        let lines: Vec<Value> = audit.run().ok().json_lines();
        let told = lines.iter().filter_map(|line| {
            Some((line["agent"].as_str()?.to_owned(), line["model_named"].as_str()?.to_owned()))
        });
        let mut told: Vec<_> = told.collect();
        told.sort();
        told.dedup();
        (told.len() >= 2).then_some(told)
    });
    let pair = |agent: &str, model: &str| (agent.to_owned(), model.to_owned());
    assert_eq!(told, [pair("finder", "mo-reviewer"), pair("mo-explorer", "mo-explorer")]);
    assert!(launch.glm.requests().is_empty(), "the client does ignore what agents name");
    let status = world.command(env!("CARGO_BIN_EXE_mo-proxy")).arg("status").run().ok();
    status.stdout_has("agent finder names mo-reviewer; the client asked for claude-haiku");
    launch.end();
}

#[test]
fn what_agents_did_at_a_workers_provider_is_that_workers_in_the_savings() {
    let launch = Launch::new();
    let prompt = "#agent mo-explorer <<END\n#usage 100 50 9000 31\n#bash true\n#usage 7 0 9050 5\n#say found\nEND\n#agent mo-reviewer <<END\n#usage 1000 0 0 300\n#say fine\nEND\n#report";
    let result: Value = launch.turn(prompt).run().ok().json();
    assert_eq!(result["is_error"], false, "{result:#}");
    launch.end();
    if !launch.reaches_the_provider() {
        return;
    }
    let fresh =
        |provider: &Provider| provider.served().iter().map(|message| message.usage).sum::<Usage>().fresh();
    let (worker, main) = (fresh(&launch.glm), fresh(&launch.anthropic));
    assert_eq!(worker, 181 + 12 + 1300);
    let world = &launch.stage.world;
    let ledger = || world.command(env!("CARGO_BIN_EXE_mo-ledger"));
    // Whatever is launched next counts it.
    let next = world.command(env!("CARGO_BIN_EXE_mo-proxy")).args(["exec", "--no-agents", "--"]);
    next.args([env!("CARGO_BIN_EXE_mo-preset"), "list"]).run().ok();
    launch.end();
    let published = || -> Value {
        let mut ledger: Value =
            serde_json::from_str(&world.read(".claude-workers/.usage/ledger.json")).unwrap();
        for varies in ["generated_at", "generation"] {
            ledger.as_object_mut().unwrap().remove(varies);
        }
        ledger
    };
    let shown = published();
    let session = json!({"fresh": worker + main, "main": main, "by_worker": {"glm": worker}});
    assert_eq!(shown["sessions"], json!({result["session_id"].as_str().unwrap(): session}), "{shown:#}");
    assert_eq!(shown["by_worker"]["glm"]["fresh"], worker);
    assert_eq!(shown["by_worker"]["glm"]["messages"], 3);
    assert_eq!(shown["by_worker"]["main"]["fresh"], main);
    assert_eq!(shown["all_time"], json!({"worker_fresh": worker, "fresh": worker + main, "sessions": 1}));
    let savings: Value = ledger().args(["savings", "--json"]).run().ok().json();
    assert_eq!(
        (savings["worker_fresh"].as_u64(), savings["main_fresh"].as_u64()),
        (Some(worker), Some(main))
    );
    ledger().args(["rebuild", "--quiet"]).run().ok();
    assert_eq!(published(), shown, "counted anew");
}
