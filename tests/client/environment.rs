//! A parent's environment full of traps: nothing of it reaches a worker.

use support::Run;

use crate::stage::{MODEL, Stage, WORKER_KEY, dist, first_rule};

/// Variables that would redirect, unlock or identify. Where the value may be anything it says that it is a trap.
const TRAPS: &[(&str, &str)] = &[
    ("CLAUDE_CODE_USE_BEDROCK", "1"),
    ("CLAUDE_CODE_USE_VERTEX", "1"),
    ("CLAUDE_CODE_USE_FOUNDRY", "1"),
    ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9/trap"),
    ("ANTHROPIC_BEDROCK_BASE_URL", "http://127.0.0.1:9/trap"),
    ("ANTHROPIC_VERTEX_PROJECT_ID", "trap-project"),
    ("ANTHROPIC_AUTH_TOKEN", "trap-token"),
    ("ANTHROPIC_API_KEY", "trap-api-key"),
    ("CLAUDE_CODE_OAUTH_TOKEN", "trap-oauth"),
    ("ANTHROPIC_CUSTOM_HEADERS", "x-trap: trap-header"),
    ("ANTHROPIC_MODEL", "trap-model"),
    ("ANTHROPIC_SMALL_FAST_MODEL", "trap-small"),
    ("ANTHROPIC_DEFAULT_OPUS_MODEL", "trap-opus"),
    ("ANTHROPIC_DEFAULT_SONNET_MODEL", "trap-sonnet"),
    ("ANTHROPIC_DEFAULT_HAIKU_MODEL", "trap-haiku"),
    ("CLAUDE_CODE_SUBAGENT_MODEL", "trap-subagent"),
    ("CLAUDE_CONFIG_DIR", "/trap-config"),
    ("CLAUDE_CODE_SESSION_ID", "11111111-1111-4111-a111-111111111111"),
    ("CLAUDE_CODE_CHILD_SESSION", "1"),
    ("CLAUDE_CODE_ENTRYPOINT", "trap-entry"),
    ("CLAUDE_CODE_MESSAGING_SOCKET", "/trap-socket"),
    ("CLAUDE_CODE_MESSAGING_TOKEN", "trap-messaging"),
    ("CLAUDECODE", "1"),
    ("AI_AGENT", "trap-agent"),
    ("AWS_ACCESS_KEY_ID", "trap-aws-id"),
    ("AWS_SECRET_ACCESS_KEY", "trap-aws-secret"),
    ("AWS_SESSION_TOKEN", "trap-aws-session"),
    ("AWS_BEARER_TOKEN_BEDROCK", "trap-bedrock"),
    ("GOOGLE_APPLICATION_CREDENTIALS", "/trap-google"),
    ("DEEPSEEK_API_KEY", "trap-deepseek"),
];

pub(crate) fn hostile(run: Run) -> Run {
    TRAPS.iter().fold(run, |run, (name, value)| run.var(*name, *value))
}

#[test]
fn nothing_of_a_trapped_parent_reaches_the_worker() {
    let stage = Stage::with_demo();
    // The environment of the claude process itself, not only what its Bash tool passes on.
    let look = "if [ -r /proc/$PPID/environ ]; then tr '\\0' '\\n' < /proc/$PPID/environ; else env; fi";
    let prompt = format!("#bash {look}\n#report");
    let run = stage.spawn("demo").args(["-p", &prompt, "--permission-mode", "bypassPermissions"]);
    let seen = hostile(run).run().ok().text();

    assert!(seen.contains(&format!("ANTHROPIC_AUTH_TOKEN={WORKER_KEY}")), "its own key is there: {seen}");
    assert!(seen.contains("MO_WORKER=demo"), "{seen}");
    let caught: Vec<_> = seen.lines().filter(|line| line.contains("trap")).collect();
    assert!(caught.is_empty(), "{caught:#?}");
    for name in ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"] {
        assert!(!seen.contains(name), "{name} is in {seen}");
    }
    for request in stage.workers.requests() {
        assert!(!request.headers.iter().any(|(_, value)| value.contains("trap")), "{:?}", request.headers);
        assert!(request.model.is_none_or(|model| model == MODEL));
    }
}

#[test]
fn a_companys_proxy_stands_before_no_server_of_this_machine() {
    let stage = Stage::with_demo();
    // Whoever believed the variables would find a proxy that refuses everything.
    let proxy = support::Provider::setup().keys(["nobodys"]).start();
    let run = stage.spawn("demo").args(["-p", "#say past the proxy", "--model", "sonnet"]);
    let run =
        ["HTTPS_PROXY", "HTTP_PROXY", "http_proxy"].iter().fold(run, |run, name| run.var(*name, proxy.url()));
    run.var("NO_PROXY", ".corp.example").run().ok().stdout_has("past the proxy");
    assert!(proxy.requests().is_empty(), "{:?}", proxy.requests());
}

#[test]
fn an_explained_environment_is_the_real_one_with_its_secrets_masked() {
    let stage = Stage::with_demo();
    let explained = hostile(stage.spawn("demo").args(["--explain", "-p", "x"])).run().ok();
    let text = explained.text() + &explained.errors();
    assert!(text.contains("ANTHROPIC_BASE_URL") && text.contains(&stage.workers.url()), "{text}");
    assert!(!text.contains(WORKER_KEY) && !text.contains("trap-token"), "a secret is shown: {text}");
    assert!(stage.workers.requests().is_empty(), "nothing is sent");
}

#[test]
fn a_worker_is_told_nothing_of_delegation_and_cannot_nest() {
    let stage = Stage::with_demo();
    let spawn = env!("CARGO_BIN_EXE_mo-spawn");
    let prompt = format!("#bash {spawn} demo -p nested; echo code $?\n#report");
    let run =
        stage.spawn("demo").args(["-p", &prompt, "--permission-mode", "bypassPermissions", "--plugin-dir"]);
    let output = run.arg(dist()).run().ok();
    assert!(!output.text().contains("code 0"), "{}", output.whole());
    let read: String = stage.workers.asked().iter().map(support::provider::Request::everything).collect();
    assert!(!read.contains(&first_rule()), "the rules reached the worker: {read}");
    assert_eq!(stage.records().len(), 1, "only one dispatch was made");
}
