//! Leave for tools with the real client: what the rules say is what happens.

use serde_json::{Value, json};
use support::Run;
use support::provider::Request;

use crate::stage::Stage;

fn task(stage: &Stage, prompt: &str, flags: &[&str]) -> Run {
    stage.spawn("demo").args(["--task", "-", "--json"]).args(flags.iter().copied()).stdin(prompt)
}

fn denied(said: &Value) -> Vec<&str> {
    said["denials"].as_array().into_iter().flatten().filter_map(|denial| denial["tool"].as_str()).collect()
}

#[test]
fn a_command_is_allowed_as_a_whole_or_not_at_all_and_the_model_hears_why() {
    let stage = Stage::with_demo();
    let prompt =
        "#bash test -d . && touch one\n#bash test -d . ; touch $(echo two)\n#bash test -d . && ls\n#say done";
    let said: Value =
        task(&stage, prompt, &["--allow", "Bash(test:*)", "--allow", "Bash(touch one)"]).run().code(1).json();
    assert_eq!(said["status"], "denied", "{said:#}");
    assert!(stage.world.path("one").exists() && !stage.world.path("two").exists());
    let heard = stage.workers.asked().iter().map(Request::everything).collect::<String>();
    assert!(heard.contains("Allowed are: Bash(test:*), Bash(touch one)"), "{heard}");
}

#[test]
fn what_is_denied_is_denied_also_where_the_client_would_not_ask() {
    for mode in ["acceptEdits", "default"] {
        let stage = Stage::with_demo();
        stage.world.write(".env", "KEY=secret-of-nobody");
        stage.world.write("locked/file", "as it was");
        stage.world.write(
            ".claude-workers/policy.json",
            r#"{"version": 1, "rules": [{"deny": "Read(.env)", "reason": "it holds keys"},
                {"deny": "Edit(locked/**)"}, {"allow": "Read"}, {"allow": "Edit"}]}"#,
        );
        let home = stage.world.home().display();
        let prompt = format!(
            "#read {home}/.env\n#read {home}/locked/file\n#write {home}/locked/new x\n#write {home}/open x\n#say done"
        );
        let said: Value = task(&stage, &prompt, &["--permission-mode", mode]).run().code(1).json();
        assert_eq!(denied(&said), ["Read", "Write"], "{mode}: {said:#}");
        assert!(!stage.world.path("locked/new").exists() && stage.world.path("open").exists(), "{mode}");
        let heard = stage.workers.asked().iter().map(Request::everything).collect::<String>();
        assert!(heard.contains("it holds keys") && !heard.contains("secret-of-nobody"), "{mode}");
    }
}

#[test]
fn leave_to_edit_is_none_to_give_itself_hooks() {
    for mode in ["acceptEdits", "default"] {
        let stage = Stage::with_demo();
        let home = stage.world.home().display();
        let hook = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"touch hooked"}]}]}}"#;
        let prompt = format!(
            "#write {home}/.claude/settings.json {hook}\n#write {home}/.mcp.json {{}}\n#write {home}/open x\n#say done"
        );
        let flags = ["--permission-mode", mode, "--allow", "Edit"];
        let said: Value = task(&stage, &prompt, &flags).run().code(1).json();
        assert_eq!(denied(&said), ["Write", "Write"], "{mode}: {said:#}");
        let held = [".claude/settings.json", ".mcp.json"];
        assert!(held.iter().all(|path| !stage.world.path(path).exists()), "{mode}");
        assert!(stage.world.path("open").exists(), "{mode}");
        let heard = stage.workers.asked().iter().map(Request::everything).collect::<String>();
        assert!(heard.contains("only a rule that names it"), "{mode}: {heard}");
    }
}

#[test]
fn a_policy_with_a_mistake_starts_nothing() {
    let stage = Stage::with_demo();
    stage.world.write("p.json", r#"{"version": 1, "rules": [{"allow": "Bash(ls"}, {"forbid": "Read"}]}"#);
    let run = task(&stage, "#say done", &["--policy", "p.json"]).run();
    run.code(65).stderr_has("rules[0]").stderr_has("rules[1]").stdout_is("");
    task(&stage, "#say done", &["--allow", "Edit(/etc)"]).run().code(64).stderr_has("//etc");
    assert_eq!(stage.questions().len(), 0);
    assert_eq!(json!(stage.records()), json!([]));
}
