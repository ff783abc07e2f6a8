//! `mo-spawn roles`: what holds in a directory, who may widen it, and what is told.

use serde_json::Value;
use support::{Run, World};

/// A project's file that wishes for everything.
const GREEDY: &str = "---\ndescription: Better.\ntools: Read, Bash, WebFetch\npermission: bypassPermissions\n---\nDo \u{1b}[31mit.\n";

fn roles(world: &World, words: &[&str]) -> Run {
    let run = world.command(env!("CARGO_BIN_EXE_mo-spawn")).arg("roles").args(words.iter().copied());
    run.cwd(world.path("repo"))
}

fn world() -> World {
    let world = World::new();
    std::fs::create_dir_all(world.path("repo/.git")).unwrap();
    world
}

/// The role of this name in the list.
fn listed(world: &World, name: &str) -> Value {
    let list: Value = roles(world, &["--json"]).run().ok().json();
    let roles = list["roles"].as_array().unwrap();
    roles.iter().find(|role| role["name"] == name).unwrap().clone()
}

#[test]
fn without_any_files_ten_bundled_roles_are_listed_and_shown() {
    let world = world();
    let list: Value = roles(&world, &["list", "--json"]).run().ok().stderr_is("").json();
    assert_eq!((&list["version"], list["roles"].as_array().unwrap().len()), (&1.into(), 10));
    let role = listed(&world, "explorer");
    assert_eq!((&role["origin"], &role["permission"]), (&"bundled".into(), &"default".into()));
    roles(&world, &[]).run().ok().stdout_has("security-auditor").stdout_has("acceptEdits");
    roles(&world, &["show", "reviewer"])
        .run()
        .ok()
        .stdout_has("You review; you change nothing")
        .stdout_has("files_touched");
    let shown: Value = roles(&world, &["show", "reviewer", "--json"]).run().ok().json();
    assert!(shown["system_prompt"].as_str().unwrap().contains("\"role\": \"reviewer\""));
    roles(&world, &["--help"]).run().ok().stdout_has("untrust DIR");
    assert_eq!(world.files(), [""; 0].map(std::path::PathBuf::from), "looking makes no files");
}

#[test]
fn a_clone_hands_itself_nothing_until_its_path_is_trusted() {
    let world = world();
    world.write("repo/.claude/roles/explorer.md", GREEDY);
    world.write("repo/.claude/roles/own.md", GREEDY);
    let role = listed(&world, "explorer");
    assert_eq!(
        (&role["permission"], &role["tools"]),
        (&"default".into(), &serde_json::json!(["Read", "Bash"]))
    );
    let role = listed(&world, "own");
    assert_eq!((&role["permission"], &role["tools"]), (&"default".into(), &serde_json::json!(["Read"])));
    assert_eq!(role["origin"], "project");
    let told =
        roles(&world, &[]).run().ok().stdout_has("project, reads only").stdout_has("bundled, narrowed here");
    told.stderr_has("does not get permission bypassPermissions")
        .stderr_has("WebFetch")
        .stderr_lacks("\u{1b}");
    roles(&world, &["show", "own"]).run().ok().stdout_lacks("\u{1b}").stdout_has("Do [31mit.");

    roles(&world, &["trust", "."]).run().ok().stdout_has("trusted");
    let list = world.path(".claude-workers/.roles/trusted.json");
    assert!(std::fs::read_to_string(&list).unwrap().contains(world.path("repo").to_str().unwrap()));
    assert_eq!(world.mode(&list), 0o600);
    assert_eq!(listed(&world, "own")["permission"], "bypassPermissions");
    assert_eq!(listed(&world, "explorer")["origin"], "trusted-project");

    // A clone elsewhere is another path, and the same path again is not trusted for ever.
    std::fs::rename(world.path("repo"), world.path("other")).unwrap();
    std::os::unix::fs::symlink("other", world.path("repo")).unwrap();
    assert_eq!(listed(&world, "own")["origin"], "project");
    std::fs::remove_file(world.path("repo")).unwrap();
    std::fs::rename(world.path("other"), world.path("repo")).unwrap();
    roles(&world, &["untrust", "."]).run().ok();
    assert_eq!(listed(&world, "own")["origin"], "project");
    roles(&world, &["untrust", "."]).run().code(64).stderr_has("was not trusted");
    roles(&world, &["trust", "nowhere"]).run().code(74).stderr_has("no such file");
}

#[test]
fn broken_files_are_told_by_line_and_hide_no_other_role() {
    let world = world();
    world.write(
        ".claude-workers/.roles/mine.md",
        "---\ndescription: Mine.\ntools: Read, Bash(make test)\n---\nMine.\n",
    );
    world.write(".claude-workers/.roles/broken.md", "---\ndescription: x\npermission: all\n---\nx\n");
    let list = roles(&world, &["--json"])
        .run()
        .code(65)
        .stderr_has("broken.md:3: there is no permission mode `all`");
    let list: Value = list.json();
    assert_eq!(
        (list["roles"].as_array().unwrap().len(), list["troubles"].as_array().unwrap().len()),
        (11, 1)
    );
    roles(&world, &["show", "mine"]).run().ok().stdout_has("Read, Bash(make test)").stdout_has("mine (own)");
    roles(&world, &["show", "broken"]).run().code(65).stderr_has("broken.md:3: ");
    roles(&world, &["show", "none"]).run().code(64).stderr_has("analyst, api-designer");
    roles(&world, &["show", "../explorer"]).run().code(64);
    roles(&world, &["frobnicate"]).run().code(64);
}
