//! mo-worker doctor: one thing wrong at a time, told in one line, mended where it may be.

use std::ffi::OsStr;
use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use support::Run;

use crate::house::{HELP, House, claude};
use crate::staff::{KEY, create, file, mo_key, mo_worker, with_workers};
use crate::terminal::on_terminal;
use crate::tree::Tree;

#[test]
fn a_sound_house_has_nothing_to_complain_of_and_looking_changes_nothing() {
    let house = House::healthy();
    let before = Tree::of(house.world.home());
    let output = house.complains(0, &[]);
    for part in [
        "2.1.332 in",
        "known to work",
        &format!("all {} in ~/bin", shared::sibling::PROGRAMS.len()),
        "switched on",
        "live (2026-11-30)",
        "nothing is open",
    ] {
        assert!(output.text().contains(part), "{part}: {}", output.whole());
    }
    assert!(output.text().lines().count() <= 24, "more than a screen: {}", output.whole());
    let columns: Vec<_> = output.text().lines().map(|line| line.find("  ").is_some()).collect();
    assert!(columns.iter().all(|has| *has) && !output.text().contains('\u{1b}'));
    let told: Value = house.doctor(&["--json"]).run().ok().json();
    assert_eq!((&told["version"], &told["healthy"]), (&1.into(), &true.into()));
    assert!(told["lines"].as_array().unwrap().iter().all(|line| line["mark"] == "ok"));
    before.is_still(house.world.home());
}

#[test]
fn claude_code_missing_old_silent_or_without_an_ability_is_told() {
    let house = House::healthy();
    claude(&house.world, "2.9.9", HELP);
    house.complains(0, &[]).stdout_has("newer than");
    claude(&house.world, "2.0.76", &HELP.replace("--include-hook-events", ""));
    house.complains(0, &["older than", "lacks `--include-hook-events`"]);
    claude(&house.world, "2.0.0", &HELP.replace("--session-id", ""));
    house.complains(1, &["older than", "lacks `--session-id`"]).stdout_has("update Claude Code");
    house.world.fake("claude", "exit 3");
    house.complains(1, &["`--version` failed", "`--help` failed"]);
    let mut alone = house.world.vars();
    alone.insert("PATH".into(), house.folder.clone().into());
    let run = Run::new(house.folder.join("mo-worker"), alone, house.world.home()).arg("doctor").run();
    run.code(1).stdout_has("cannot find Claude Code").stdout_has("npm install -g");
}

#[test]
fn programs_that_do_not_belong_together_are_told() {
    let house = House::healthy();
    fs::rename(house.folder.join("mo-key"), house.folder.join("gone")).unwrap();
    house.complains(1, &["missing or broken in ~/bin: mo-key"]).stdout_has("make install");
    let fake = house.world.fake("mo-key", "echo mo-key 0.0.1");
    fs::rename(fake, house.folder.join("mo-key")).unwrap();
    house.complains(1, &["mo-key is 0.0.1"]);
    fs::rename(house.folder.join("gone"), house.folder.join("mo-key")).unwrap();
    let other = house.world.fake("mo-worker", "echo mo-worker 0.0.2");
    house.complains(0, &["PATH has another mo-worker"]).stdout_has("0.0.2");
    fs::remove_file(other).unwrap();
    let path = house.world.vars()[OsStr::new("PATH")]
        .to_string_lossy()
        .replace(&*house.folder.to_string_lossy(), "/nowhere");
    house
        .doctor(&[])
        .var("PATH", path)
        .run()
        .ok()
        .stdout_has("no mo-worker on PATH")
        .stdout_has("add ~/bin to PATH");
}

#[test]
fn a_link_that_leads_nowhere_is_mended() {
    let house = House::healthy();
    let link = house.world.root().join(".bin");
    fs::remove_file(&link).unwrap();
    house.complains(1, &["~/.claude-workers/.bin is missing"]).stdout_has("doctor --fix");
    house.mends("~/.claude-workers/.bin is missing");
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("/nowhere", &link).unwrap();
    house.complains(1, &["leads to /nowhere"]);
    house.mends("~/.claude-workers/.bin leads to /nowhere");
    assert_eq!(fs::read_link(&link).unwrap(), house.folder);
}

#[test]
fn the_plugin_is_found_in_claude_codes_own_books() {
    let house = House::healthy();
    house.plugin("0.0.9", "mo-hook");
    house.complains(0, &["0.0.9 from here, switched on"]);
    house.plugin("0.5.0", "python3 savings.py");
    house.complains(1, &["model-orchestration@here 0.5.0 is the earlier shell plugin"]);
    house.plugin(env!("CARGO_PKG_VERSION"), "mo-hook");
    let project = house.world.path("project");
    house
        .world
        .write("project/.claude/settings.json", r#"{"enabledPlugins": {"model-orchestration@here": false}}"#);
    house.doctor(&[]).cwd(&project).run().ok().stdout_has("switched off").stdout_has("claude plugin enable");
    house.world.write(".claude/plugins/installed_plugins.json", "{\"plugins\": []}");
    house.complains(1, &["installed_plugins.json:1: "]);
    house.world.write(".claude/settings.json", "{}");
    fs::remove_file(house.world.path(".claude/plugins/installed_plugins.json")).unwrap();
    house.complains(0, &["not installed in Claude Code"]);
}

#[test]
fn the_switches_are_told_with_the_place_where_they_were_set() {
    let house = House::healthy();
    let project = house.world.path("project");
    let off = |value: &str| format!(r#"{{"env": {{"MODEL_ORCHESTRATION_DELEGATION": "{value}"}}}}"#);
    house.world.write("project/.claude/settings.json", off("OFF"));
    let run = house.doctor(&[]).cwd(&project).var("MODEL_ORCHESTRATION_SAVINGS", "no").run().ok();
    run.stdout_has(
        "delegation  off: MODEL_ORCHESTRATION_DELEGATION is set in ~/project/.claude/settings.json",
    )
    .stdout_has("savings     off: MODEL_ORCHESTRATION_SAVINGS is set in the environment");
    house.world.write("project/.claude/settings.local.json", off("on"));
    let run = house.doctor(&[]).cwd(&project).run().ok();
    run.stdout_has("on: MODEL_ORCHESTRATION_DELEGATION is set in ~/project/.claude/settings.local.json")
        .stdout_has("overrules `off` in ~/project/.claude/settings.json");
}

#[test]
fn every_state_of_a_worker_is_told() {
    let house = House::healthy();
    let world = &house.world;
    create(world, "fresh");
    house.complains(1, &["worker fresh  needs key"]).stdout_has("`mo-key fresh`");
    mo_key(world, &["fresh"], KEY).run().ok();
    house.complains(0, &["worker fresh  unchecked"]).stdout_has("`mo-worker check fresh`");
    let profile = world.read(file("glm", "worker.json"));
    world.write(
        file("fresh", "worker.json"),
        profile
            .replace("\"glm\"", "\"fresh\"")
            .replace("true, \"kind\": \"ok\"", "false, \"kind\": \"quota\""),
    );
    world.set_mode(file("fresh", "worker.json"), 0o600);
    house.complains(1, &["worker fresh  failing: quota"]);
    let whole = world.read(file("fresh", "settings.json"));
    for (text, told) in [
        (whole.replace(&format!("\"{KEY}\""), &format!("\"{KEY}\",,")), "settings.json:3: "),
        (format!("{{\"env\": \"{KEY}\"}}"), "settings.json:1: invalid type"),
        ("[]".to_owned(), "settings.json:1: it is no JSON object"),
    ] {
        world.write(file("fresh", "settings.json"), text);
        house.complains(1, &[told]);
    }
}

#[test]
fn shims_and_names_that_disagree_with_the_directory_are_mended() {
    let house = House::healthy();
    let world = &house.world;
    let run = file("glm", "run");
    let whole = world.read(&run);
    fs::remove_file(world.path(&run)).unwrap();
    house.complains(1, &["its `run` is missing"]);
    house.mends("its `run` is missing");
    assert_eq!((world.read(&run), world.mode(&run)), (whole.clone(), 0o700));
    world.write(&run, whole.replace(" glm ", " kimi "));
    house.complains(1, &["its `run` starts the worker `kimi`"]);
    house.mends("its `run` starts");
    world.write(
        &run,
        "#!/bin/bash\nexport CLAUDE_CONFIG_DIR=\"$(cd \"$(dirname \"$0\")\" && pwd)\"\nexec claude \"$@\"\n",
    );
    house.complains(0, &["its `run` is the earlier plugin's"]);
    house.mends("its `run` is the earlier plugin's");
    assert_eq!(world.read(&run), whole);
    world.write(&run, "#!/bin/sh\nexec nice mo-spawn glm \"$@\"\n");
    house.doctor(&["--fix"]).run().ok();
    house.complains(0, &["its `run` is not ours"]);
    assert!(world.read(&run).contains("nice"));
    world.write(&run, whole);
    let profile = world.read(file("glm", "worker.json"));
    world.write(
        file("glm", "worker.json"),
        profile.replace("\"name\": \"glm\"", "\"name\": \"kimi\", \"later\": 1"),
    );
    house.complains(0, &["its worker.json calls it `kimi`"]);
    house.mends("its worker.json calls it");
    assert_eq!(
        world.read(file("glm", "worker.json")),
        profile.replace("\"name\": \"glm\"", "\"name\": \"glm\", \"later\": 1"),
        "what a later version wrote stays"
    );
}

#[test]
fn a_key_on_disk_beside_a_command_is_told() {
    let house = House::healthy();
    let world = &house.world;
    let profile = world.read(file("glm", "worker.json"));
    world.write(
        file("glm", "worker.json"),
        profile.replace("\"key_command\": null", "\"key_command\": [\"pass\"]"),
    );
    house.complains(1, &["its key comes from a command, and one is stored"]);
}

#[test]
fn a_mistake_in_the_dispatchers_settings_is_told() {
    let house = House::healthy();
    let settings = ".claude-workers/.dispatch/config.json";
    house.world.write(settings, r#"{"version": 1, "daily_uds": 5}"#);
    house.world.set_mode(settings, 0o600);
    house.world.set_mode(".claude-workers/.dispatch", 0o700);
    house.complains(1, &["config.json:1: there is no setting `daily_uds`: did you mean `daily_usd`?"]);
}

#[test]
fn modes_that_are_too_open_are_counted_and_closed() {
    let house = House::healthy();
    let world = &house.world;
    for path in
        [".dispatch/2026-11/d-x.json", ".dispatch/2026-11/d-x.prompt", "presets.json", "glm/.claude.json"]
    {
        world.write(format!(".claude-workers/{path}"), "{}");
        world.set_mode(format!(".claude-workers/{path}"), 0o640);
    }
    for (path, mode) in
        [("", 0o755), ("glm", 0o750), ("glm/settings.json", 0o604), ("glm/worker.json", 0o644)]
    {
        world.set_mode(format!(".claude-workers/{path}"), mode);
    }
    fs::create_dir_all(world.path("elsewhere")).unwrap();
    world.write("elsewhere/open", "mine");
    world.set_mode("elsewhere/open", 0o666);
    std::os::unix::fs::symlink(world.path("elsewhere/open"), world.path(".claude-workers/.dispatch/link"))
        .unwrap();
    // The two directories that the test made are open as well.
    house.complains(1, &["10 open to other users: "]).stdout_has("… 7 more");
    house.mends("10 open to other users");
    for (path, mode) in [
        ("", 0o700),
        ("glm", 0o700),
        ("glm/settings.json", 0o600),
        ("glm/.claude.json", 0o600),
        (".dispatch/2026-11/d-x.prompt", 0o600),
    ] {
        assert_eq!(world.mode(format!(".claude-workers/{path}")), mode, "{path}");
    }
    assert_eq!(world.mode("elsewhere/open"), 0o666, "a symlink was followed");
}

#[test]
fn a_project_that_would_redirect_workers_is_told_by_names_only() {
    let house = House::healthy();
    let settings = format!(
        r#"{{"env": {{"ANTHROPIC_BASE_URL": "https://{KEY}", "ANTHROPIC_DEFAULT_OPUS_MODEL": "x", "CLAUDE_CODE_USE_BEDROCK": "1", "EDITOR": "vi"}}}}"#
    );
    house.world.write("project/.claude/settings.local.json", settings);
    let run = house
        .doctor(&[])
        .cwd(house.world.path("project"))
        .run()
        .ok()
        .stdout_lacks(KEY)
        .stdout_lacks("EDITOR");
    run.stdout_has("sets ANTHROPIC_BASE_URL, ANTHROPIC_DEFAULT_OPUS_MODEL, CLAUDE_CODE_USE_BEDROCK");
    house.world.write("project/.claude/settings.local.json", "{\n\"env\": {,}}");
    house.doctor(&[]).cwd(house.world.path("project")).run().code(1).stdout_has("settings.local.json:2: ");
}

#[test]
fn half_made_things_go_once_they_are_old() {
    let house = House::healthy();
    let world = &house.world;
    let now: jiff::Timestamp = support::world::NOW.parse().unwrap();
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(now.as_second().unsigned_abs());
    let age = |path: &str, hours: u64| {
        let time = now - Duration::from_secs(3600 * hours);
        fs::File::open(world.path(path)).unwrap().set_modified(time).unwrap();
    };
    for (path, hours) in [(".new-old/settings.json", 2), (".trash-new/worker/settings.json", 0)] {
        world.write(format!(".claude-workers/{path}"), KEY);
        age(&format!(".claude-workers/{}", path.split('/').next().unwrap()), hours);
    }
    world.write(file("glm", ".mo-Ab12"), KEY);
    age(&file("glm", ".mo-Ab12"), 2);
    house.complains(1, &["left half-made, maybe with a key inside: ~/.claude-workers/.new-old, ~/.claude-workers/glm/.mo-Ab12"]);
    house.mends("left half-made");
    assert!(world.root().join(".trash-new").exists() && !world.root().join(".new-old").exists());
}

#[test]
fn what_the_earlier_plugin_left_is_told() {
    let house = House::healthy();
    let world = &house.world;
    world.write(".claude-workers/.usage/ledger.json", r#"{"sessions": {}}"#);
    world.write(
        file("old", "settings.json"),
        format!(r#"{{"env": {{"ANTHROPIC_AUTH_TOKEN": "{KEY}", "ANTHROPIC_BASE_URL": "https://h"}}}}"#),
    );
    world.write(file("old", "run"), "#!/bin/bash\nexport CLAUDE_CONFIG_DIR=x\n");
    house.doctor(&["--fix"]).run().ok();
    house
        .complains(0, &["ledger.json is not ours", "made by the earlier plugin: works, unchecked"])
        .stdout_has("`mo-ledger update`");
    assert!(world.read(file("old", "run")).contains("mo-spawn"));
    assert!(!world.path(file("old", "worker.json")).exists());
}

#[test]
fn a_new_user_is_told_what_to_do_first() {
    let house = House::new();
    house
        .complains(0, &["not installed in Claude Code", "there are none yet"])
        .stdout_has("mo-worker create");
    assert!(!house.world.root().exists());
    let run = house.doctor(&["--fix"]).without("HOME").run().code(1).stderr_is("");
    run.stdout_has("neither HOME nor CLAUDE_WORKERS_ROOT is set");
}

#[test]
fn colour_is_for_terminals() {
    let house = House::healthy();
    let program = house.folder.join("mo-worker");
    let on_screen = |run: Run| {
        let mut running = run.spawn();
        running.wait_for_stdout("savings");
        running.wait().ok().text()
    };
    assert!(on_screen(on_terminal(&house.world, &program, &["doctor"])).contains("\u{1b}[32mok"));
    let plain = on_terminal(&house.world, &program, &["doctor"]).var("NO_COLOR", "1");
    assert!(!on_screen(plain).contains('\u{1b}'));
}

#[test]
fn a_reader_that_left_is_no_failure() {
    let world = with_workers(&["glm"]);
    mo_worker(&world, &["doctor"]).stdout_closed().run().code(1);
}
