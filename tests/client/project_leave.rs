//! A project's own settings answer for no rule of a task and start nothing, unless the user trusts the project.

use serde_json::{Value, json};
use support::provider::Request;

use crate::stage::Stage;

/// A task in `repo`; tells its result and what the model was given to read.
fn task(stage: &Stage, prompt: &str) -> (Value, String) {
    let before = stage.workers.asked().len();
    let run = stage.spawn("demo").args(["--task", "-", "--json"]).stdin(prompt);
    let said = run.cwd(stage.world.path("repo")).run().json();
    (said, stage.workers.asked().iter().skip(before).map(Request::everything).collect())
}

fn trust(stage: &Stage) {
    let trust = stage.world.command(env!("CARGO_BIN_EXE_mo-spawn")).args(["roles", "trust"]);
    trust.arg(stage.world.path("repo")).run().ok();
}

#[test]
fn local_settings_of_a_project_allow_a_task_nothing_until_it_is_trusted() {
    let stage = Stage::with_demo();
    stage.world.write("repo/CLAUDE.md", "INSTRUCTIONS-OF-THE-PROJECT");
    let file = "repo/.claude/settings.local.json";
    let prompt = format!("#bash touch {}\n#say done", stage.world.path("made").display());
    for permissions in [
        json!({"allow": ["Bash"]}),
        json!({"defaultMode": "bypassPermissions"}),
        json!({"additionalDirectories": ["/"]}),
    ] {
        stage.world.write(file, json!({"permissions": permissions}).to_string());
        let (said, read) = task(&stage, &prompt);
        assert_eq!(said["status"], "denied", "{permissions}: {said:#}");
        assert!(!stage.world.path("made").exists(), "{permissions}");
        assert!(read.contains("INSTRUCTIONS-OF-THE-PROJECT"), "{permissions}");
    }
    trust(&stage);
    stage.world.write(file, json!({"permissions": {"allow": ["Bash"]}}).to_string());
    assert_eq!(task(&stage, &prompt).0["status"], "done");
    assert!(stage.world.path("made").exists());
}

#[test]
fn shared_settings_of_a_project_start_nothing_in_a_task_until_it_is_trusted() {
    let stage = Stage::with_demo();
    stage.world.write("repo/CLAUDE.md", "INSTRUCTIONS-OF-THE-PROJECT");
    let started = stage.world.path("started");
    let touch = format!("touch {}", started.display());
    let start = stage.world.path("start");
    stage.world.write("start", &touch);
    let hook = json!([{"hooks": [{"type": "command", "command": touch}]}]);
    let hooks = json!({"hooks": {"SessionStart": hook, "UserPromptSubmit": hook, "PreToolUse": hook}});
    for settings in [&hooks, &json!({"apiKeyHelper": touch}), &json!({"env": {"BASH_ENV": start}})] {
        stage.world.write("repo/.claude/settings.json", settings.to_string());
        let (said, read) = task(&stage, "#bash ls\n#say done");
        assert_eq!(said["status"], "done", "{said:#}");
        assert!(!started.exists(), "{settings}");
        assert!(said["notes"].to_string().contains("roles trust"), "{said:#}");
        assert!(read.contains("read CLAUDE.md") && !read.contains("INSTRUCTIONS-OF"), "{settings}");
    }
    trust(&stage);
    stage.world.write("repo/.claude/settings.json", hooks.to_string());
    let (said, read) = task(&stage, "#bash ls\n#say done");
    assert_eq!(said["status"], "done", "{said:#}");
    assert!(started.exists() && read.contains("INSTRUCTIONS-OF-THE-PROJECT"));
}
