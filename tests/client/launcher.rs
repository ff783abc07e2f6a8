//! `mo-proxy exec -- claude` with the real Claude Code and a subscription's login: one command, nothing written into
//! the user's folders, the login at one host, each role at its provider.

use serde_json::{Value, json};
use support::Provider;

use crate::stage::Stage;

/// The token of the scripted login.
const LOGIN: &str = "sk-ant-oat01-scripted-login";
const GLM_KEY: &str = "0123456789abcdef.glm_KEY";

#[test]
fn one_command_runs_the_session_with_its_login_and_the_roles_as_agents() {
    let mut stage = Stage::new();
    let anthropic = Provider::setup().keys([LOGIN]).start();
    let glm = Provider::setup().keys([GLM_KEY]).models(["glm-5.2"]).start();
    let create = stage.world.command(env!("CARGO_BIN_EXE_mo-worker")).args(["create", "glm", "--base-url"]);
    create.args([&glm.url(), "--sonnet", "glm-5.2"]).run().ok();
    stage.world.command(env!("CARGO_BIN_EXE_mo-key")).arg("glm").stdin(GLM_KEY).run().ok();
    let config = json!({"listen": "127.0.0.1:0", "roles": {"explorer": "glm", "reviewer": "glm"}});
    stage.world.write(".claude-workers/.proxy/config.json", config.to_string());
    let login = json!({"claudeAiOauth": {"accessToken": LOGIN, "refreshToken": "sk-ant-ort01-scripted",
        "expiresAt": 4_102_444_800_000_i64, "scopes": ["user:inference", "user:profile"], "subscriptionType": "max"}});
    stage.world.write(".claude/.credentials.json", login.to_string());
    stage.world.set_mode(".claude/.credentials.json", 0o600);
    stage.world.var("MODEL_ORCHESTRATION_ANTHROPIC", anthropic.url());
    let refusing = Provider::setup().keys(["nobodys"]).start();
    let prompt = "#agent mo-explorer <<END\n#say found by the explorer\nEND";
    let output = stage
        .world
        .command(env!("CARGO_BIN_EXE_mo-proxy"))
        .args(["exec", "--", "claude", "-p", prompt, "--output-format", "json"])
        .args(["--permission-mode", "bypassPermissions"])
        .var("ANTHROPIC_API_KEY", "a-key-that-must-not-win")
        // The way to the gateway leads through no company's proxy: it would see the login.
        .var("HTTPS_PROXY", refusing.url())
        .var("HTTP_PROXY", refusing.url())
        .var("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .run()
        .ok();
    let result: Value = output.json();
    assert_eq!(result["is_error"], false, "{result:#}");
    assert!(!glm.requests().is_empty(), "no request of the role came to its provider");
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
    stage.world.command(env!("CARGO_BIN_EXE_mo-proxy")).args(["stop", "--now"]).run().ok();
}
