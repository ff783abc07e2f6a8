//! The scripted provider as the real Claude Code sees it.

use std::time::Duration;

use serde_json::{Value, json};
use support::provider::{Provider, Request, Usage, directive};
use support::{Output, World, claude};

/// One print-mode turn that may do anything.
fn turn(world: &World, provider: &Provider, prompt: &str) -> Output {
    claude::against(world, provider, "id.secret")
        .args(["-p", prompt, "--output-format", "json", "--permission-mode", "bypassPermissions"])
        .run()
}

fn result(output: &Output) -> Value {
    output.json()
}

#[test]
fn it_says_what_it_is_told_and_both_sides_count_the_same_tokens() {
    let (world, provider) = (World::new(), Provider::start());
    let prompt = "#think well\n#usage 7 70 700 77\n#say hello there";
    let said = result(&turn(&world, &provider, prompt).ok());
    assert_eq!(said["result"], "hello there");
    assert_eq!(provider.total(), Usage { input: 7, cache_creation: 70, cache_read: 700, output: 77 });
    assert_eq!((&said["usage"]["input_tokens"], &said["usage"]["output_tokens"]), (&json!(7), &json!(77)));
    assert_eq!(provider.served()[0].session.as_deref(), said["session_id"].as_str());
    assert!(provider.asked().iter().all(|request| request.key.as_deref() == Some("id.secret")));
}

#[test]
fn it_runs_commands_and_writes_files_turn_by_turn() {
    let (world, provider) = (World::with_odd_path(), Provider::setup().gzip().start());
    let file = world.path("made.txt");
    let prompt = format!("#write {} <<END\nline 1\nEND\n#bash cat made.txt && pwd\n#report", "made.txt");
    let said = result(&turn(&world, &provider, &prompt).ok());
    assert_eq!(std::fs::read_to_string(&file).expect("it was written"), "line 1\n");
    let report = said["result"].as_str().unwrap_or_default();
    assert!(report.starts_with("line 1\n") && report.contains(&*world.home().to_string_lossy()), "{report}");
    assert_eq!(said["num_turns"], 3);
}

#[test]
fn a_prompt_in_base64_survives_a_shell_within_a_shell() {
    let (world, provider) = (World::new(), Provider::start());
    let inner = directive::b64("#say it's \"quoted\" $HOME");
    let said = result(&turn(&world, &provider, &format!("#bash echo '{inner}'\n#report")).ok());
    assert_eq!(said["result"], inner);
    assert_eq!(result(&turn(&world, &provider, &inner).ok())["result"], "it's \"quoted\" $HOME");
}

#[test]
fn a_subagent_works_on_its_own_prompt_and_its_manager_hears_of_it() {
    let (world, provider) = (World::new(), Provider::start());
    let prompt = "#agent general-purpose <<END\n#bash echo $((40 + 2))\n#report\nEND\n#say waiting\n#report";
    let said = result(&turn(&world, &provider, prompt).ok());
    let agents = provider.asked().into_iter().filter(|request| request.agent.is_some());
    assert_eq!(agents.map(|request| request.prompt().1).collect::<Vec<_>>(), [0, 1]);
    assert!(said["result"].as_str().unwrap_or_default().contains("42"), "{said}");
}

#[test]
fn a_wrong_key_is_a_401() {
    let (world, provider) = (World::new(), Provider::setup().keys(["other"]).start());
    let said = result(&turn(&world, &provider, "x").code(1));
    assert_eq!((&said["is_error"], &said["api_error_status"]), (&json!(true), &json!(401)));
    assert!(provider.served().is_empty());
}

#[test]
fn an_overloaded_provider_is_a_529() {
    let (world, provider) = (World::new(), Provider::start());
    let said = result(&turn(&world, &provider, "#fail 529").code(1));
    assert_eq!((&said["is_error"], &said["api_error_status"]), (&json!(true), &json!(529)));
}

#[test]
fn an_unknown_model_is_a_404() {
    let (world, provider) = (World::new(), Provider::setup().models(["glm-5"]).start());
    assert_eq!(result(&turn(&world, &provider, "x").code(1))["api_error_status"], 404);
    let known = claude::against(&world, &provider, "k").args(["-p", "x", "--model", "glm-5"]).run();
    known.ok().stdout_is("ok\n");
}

#[test]
fn a_used_up_plan_is_refused_at_once() {
    let (world, provider) = (World::new(), Provider::start());
    let output = turn(&world, &provider, "#quota five_hour 1900000000").code(1);
    assert_eq!(result(&output)["api_error_status"], 429);
    assert_eq!(provider.asked().len(), 1);
}

#[test]
fn a_hanging_provider_holds_the_client_until_it_is_killed() {
    let (world, provider) = (World::new(), Provider::start());
    let running = claude::against(&world, &provider, "k")
        .args(["-p", "#hang"])
        .patience(Duration::from_secs(20))
        .spawn();
    provider.wait_for("the request", Request::is_message);
    running.signal(15);
    running.wait().code(143);
}
