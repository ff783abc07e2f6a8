//! The real Claude Code through the gateway: a session of Anthropic's with subagents on other providers.

use serde_json::Value;
use support::{Provider, Run, Running, wait_for};

use crate::stage::{MANAGER_KEY, Stage};

const GLM_KEY: &str = "0123456789abcdef.glm_KEY";
const KIMI_KEY: &str = "fedcba9876543210.kimi_KEY";

/// A stage with a gateway between the session and two providers.
struct Through {
    stage: Stage,
    glm: Provider,
    kimi: Provider,
    gateway: Running,
    address: String,
    token: String,
}

impl Through {
    fn new(config: &str) -> Self {
        let mut stage = Stage::new();
        let glm = Provider::setup().keys([GLM_KEY]).models(["glm-5.2"]).start();
        let kimi = Provider::setup().keys([KIMI_KEY]).models(["kimi-k3"]).start();
        for (name, provider, model, key) in
            [("glm", &glm, "glm-5.2", GLM_KEY), ("kimi", &kimi, "kimi-k3", KIMI_KEY)]
        {
            let create =
                stage.world.command(env!("CARGO_BIN_EXE_mo-worker")).args(["create", name, "--base-url"]);
            create.args([&provider.url(), "--sonnet", model]).run().ok();
            stage.world.command(env!("CARGO_BIN_EXE_mo-key")).arg(name).stdin(key).run().ok();
        }
        stage.world.write(".claude-workers/.proxy/config.json", config);
        stage.world.var("MODEL_ORCHESTRATION_ANTHROPIC", stage.manager.url());
        let gateway =
            stage.world.command(env!("CARGO_BIN_EXE_mo-proxy")).args(["serve", "--port", "0"]).spawn();
        stage.world.without("MODEL_ORCHESTRATION_ANTHROPIC");
        let file = stage.world.root().join(".proxy/instance.json");
        let address = wait_for("the gateway to announce itself", || {
            let announced: Value = serde_json::from_slice(&std::fs::read(&file).ok()?).ok()?;
            announced["address"].as_str().map(str::to_owned)
        });
        let token = stage.world.read(".claude-workers/.proxy/token");
        Self { stage, glm, kimi, gateway, address, token }
    }

    /// A role's agent in the project.
    fn agent(&self, name: &str) {
        let text =
            format!("---\nname: {name}\ndescription: a {name}\nmodel: mo-{name}\n---\nYou are {name}.\n");
        self.stage.world.write(format!("project/.claude/agents/{name}.md"), text);
    }

    /// A turn of the session in the project.
    fn turn(&self, prompt: &str) -> Run {
        self.stage
            .claude()
            .var("ANTHROPIC_BASE_URL", format!("http://{}", self.address))
            .var("ANTHROPIC_CUSTOM_HEADERS", format!("x-mo-token: {}", self.token))
            .args(["-p", prompt, "--output-format", "json", "--permission-mode", "bypassPermissions"])
            .cwd(self.stage.world.path("project"))
    }

    /// The login reached Anthropic alone, each key its own provider, and no name of a model a foreign place.
    fn nothing_leaked(&self) {
        for (provider, own, model) in [
            (&self.stage.manager, MANAGER_KEY, None),
            (&self.glm, GLM_KEY, Some("glm-5.2")),
            (&self.kimi, KIMI_KEY, Some("kimi-k3")),
        ] {
            for request in provider.requests() {
                let all: String =
                    request.headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
                for key in [MANAGER_KEY, GLM_KEY, KIMI_KEY, self.token.as_str()] {
                    assert_eq!(all.contains(key), key == own, "{key} at {}: {all}", provider.url());
                }
                match model {
                    Some(model) => assert_eq!(request.model.as_deref(), Some(model)),
                    None => assert!(request.model.is_none_or(|model| model.starts_with("claude-"))),
                }
            }
        }
    }
}

#[test]
fn a_session_works_with_subagents_on_two_other_providers() {
    let through = Through::new(
        "{\"roles\": {\"explorer\": \"glm\", \"reviewer\": \"kimi\", \"writer\": \"glm,glm-5.2\"}}",
    );
    for name in ["explorer", "reviewer", "writer"] {
        through.agent(name);
    }
    let prompt = "#agent explorer <<END\n#say found by the explorer\nEND\n\
                  #agent reviewer <<END\n#bash echo looked\n#say judged by the reviewer\nEND\n\
                  #agent writer <<END\n#write note.txt hello\n#say written\nEND";
    let output = through.turn(prompt).run().ok();
    let result: Value = output.json();
    assert_eq!(result["is_error"], false, "{result:#}");
    let (glm, kimi) = (through.glm.asked(), through.kimi.asked());
    assert!(glm.len() >= 2 && kimi.len() >= 2, "{} and {} requests", glm.len(), kimi.len());
    assert!(through.stage.world.path("project/note.txt").exists());
    // What the subagents said came back to the session's own model.
    let read = through.stage.manager_read();
    assert!(read.contains("found by the explorer") && read.contains("judged by the reviewer"), "{read}");
    through.nothing_leaked();
    through.gateway.signal(15);
    through.gateway.wait().ok();
}

#[test]
fn a_stream_that_breaks_off_is_asked_again_by_the_client_and_the_session_goes_on() {
    let through = Through::new("{}");
    std::fs::create_dir_all(through.stage.world.path("project")).expect("a project");
    let output = through.turn("#cut x1\n#say whole at last").var("CLAUDE_CODE_MAX_RETRIES", "3").run().ok();
    let result: Value = output.json();
    assert_eq!(result["result"], "whole at last", "{result:#}");
    through.nothing_leaked();
}

#[test]
fn errors_reach_the_client_as_the_upstream_told_them() {
    let through = Through::new("{}");
    std::fs::create_dir_all(through.stage.world.path("project")).expect("a project");
    for (status, part) in [(401, "401"), (404, "model"), (529, "529")] {
        let output = through.turn(&format!("#fail {status}")).run().fails();
        let result: Value = output.json();
        let said = result["result"].as_str().expect("a result").to_lowercase();
        assert_eq!(result["is_error"], true, "{result:#}");
        assert!(said.contains(part) || result["api_error_status"] == status, "{result:#}");
    }
    through.nothing_leaked();
}
