//! Names and addresses of somebody else's that lie in a project: none of them leads a worker astray.

use support::Provider;

use crate::stage::{MODEL, Stage, WORKER_KEY};

#[test]
fn a_projects_agent_that_names_a_model_of_anthropics_gets_the_workers_own() {
    let stage = Stage::new();
    let two_models = Provider::setup().keys([WORKER_KEY]).models([MODEL, "glm-small"]).start();
    let create = stage.world.command(env!("CARGO_BIN_EXE_mo-worker")).args(["create", "two", "--base-url"]);
    create.args([two_models.url().as_str(), "--sonnet", MODEL, "--haiku", "glm-small"]).run().ok();
    stage.world.command(env!("CARGO_BIN_EXE_mo-key")).arg("two").stdin(WORKER_KEY).run().ok();
    let agent = "---\nname: foreign\ndescription: an agent\nmodel: claude-opus-4-5\n---\nHelp.\n";
    stage.world.write("project/.claude/agents/foreign.md", agent);
    let prompt = "#agent foreign #say small\n#say waiting\n#say done";
    let spawn = stage.spawn("two").cwd(stage.world.path("project"));
    spawn.args(["-p", prompt, "--permission-mode", "bypassPermissions"]).run().ok();
    let asked = two_models.asked();
    let models: Vec<_> = asked.iter().filter_map(|request| request.model.clone()).collect();
    assert!(asked.iter().any(|request| request.prompt().0 == "#say small"), "the subagent ran");
    assert!(models.iter().all(|model| model == MODEL || model == "glm-small"), "{models:?}");
}
