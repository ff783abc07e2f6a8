//! Workers that are Claude accounts: made, found, preferred, removed; what is theirs and what stays Claude Code's own.

use serde_json::Value;
use support::{Run, World};

/// A Claude Code that knows of a login by a file in its directory, and tells where it was asked to look.
const CLAUDE: &str = r#"
dir=${CLAUDE_CONFIG_DIR:-$HOME/.claude}
case "$*" in
"auth status --json")
    if [ -n "$ANTHROPIC_AUTH_TOKEN$ANTHROPIC_API_KEY$CLAUDE_CODE_OAUTH_TOKEN" ]; then echo '{"loggedIn": true}'; exit 0; fi
    if [ -e "$dir/.credentials.json" ]; then echo '{"loggedIn": true, "planTier": "max_20x"}'; exit 0; fi
    echo '{"loggedIn": false, "authMethod": "none"}'; exit 1 ;;
"auth login") mkdir -p "$dir"; echo secret-token > "$dir/.credentials.json" ;;
*) echo "set: ${CLAUDE_CONFIG_DIR-nothing}" ;;
esac
"#;

fn world() -> World {
    let world = World::new();
    world.fake("claude", CLAUDE);
    world
}

fn worker<'a>(world: &World, words: impl IntoIterator<Item = &'a str>) -> Run {
    world.command(env!("CARGO_BIN_EXE_mo-worker")).args(words)
}

fn spawn(world: &World, name: &str) -> Run {
    world.command(env!("CARGO_BIN_EXE_mo-spawn")).args([name, "-p", "x"])
}

fn listed(world: &World) -> Vec<(String, String, bool)> {
    let list: Value = worker(world, ["list", "--json"]).run().ok().json();
    let rows = list["workers"].as_array().unwrap().iter();
    rows.map(|row| {
        let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        (text("name"), text("state"), row["preferred"] == true)
    })
    .collect()
}

#[test]
fn an_account_is_made_logged_in_by_claude_code_and_used_once_several_are_on() {
    let world = world();
    let made = worker(&world, ["create", "work", "--account", "--tier", "opus"]).run().ok();
    assert!(made.errors().contains("mo-worker accounts on"), "{}", made.whole());
    assert_eq!(world.mode(".claude-work"), 0o700);
    spawn(&world, "work").run().code(78);
    worker(&world, ["login", "work"]).run().code(78);
    let notice = worker(&world, ["accounts", "on"]).run().ok();
    assert!(notice.errors().contains("terms"), "{}", notice.whole());
    assert_eq!(listed(&world), [("work".into(), "logged-out".into(), false)]);
    worker(&world, ["check", "work"]).run().code(77);
    worker(&world, ["login", "work"]).run().ok();
    assert_eq!(listed(&world), [("work".into(), "unchecked".into(), false)]);
    let dir = world.path(".claude-work");
    spawn(&world, "work").run().ok().stdout_is(&format!("set: {}\n", dir.display()));
    worker(&world, ["accounts", "off"]).run().ok();
    spawn(&world, "work").run().code(78);
    assert_eq!(listed(&world), [("work".into(), "off".into(), false)]);

    let ours: Vec<_> = world.files().into_iter().filter(|path| path.starts_with(".claude-work/")).collect();
    assert_eq!(
        ours,
        [std::path::Path::new(".claude-work/.credentials.json")],
        "nothing of ours is written there"
    );
    for path in world
        .files()
        .into_iter()
        .filter(|path| path.starts_with(".claude-workers/") && !world.path(path).is_dir())
    {
        assert!(!String::from_utf8_lossy(&world.bytes(&path)).contains("secret-token"), "{path:?}");
    }
}

#[test]
fn the_default_account_needs_no_leave_and_is_named_by_no_variable() {
    let world = world();
    world.write(".claude/.credentials.json", "token");
    let dir = world.path(".claude");
    worker(&world, ["create", "own", "--account", "--config-dir", dir.to_str().unwrap()]).run().ok();
    let run = spawn(&world, "own").var("CLAUDE_CONFIG_DIR", "/elsewhere").var("ANTHROPIC_API_KEY", "trap");
    run.run().ok().stdout_is("set: nothing\n");
    let again = worker(&world, ["create", "again", "--account", "--config-dir", dir.to_str().unwrap()]);
    assert!(again.run().code(64).errors().contains("worker `own` is that account"));
    let gone = worker(&world, ["remove", "own", "--yes", "--with-login"]).run().code(64);
    assert!(gone.errors().contains("not ours to remove"), "{}", gone.whole());
    worker(&world, ["remove", "own", "--yes"]).run().ok();
    assert_eq!(world.read(".claude/.credentials.json"), "token");
}

#[test]
fn logins_are_found_and_get_legal_names() {
    let world = world();
    for dir in [".claude-Work", ".claude-main", ".claude-Work_", ".claude-workers/x"] {
        world.write(format!("{dir}/.credentials.json"), "token");
    }
    world.write(".claude-mac/.claude.json", r#"{"oauthAccount": {"emailAddress": "a@b"}}"#);
    world.write(".claude-empty/note", "");
    std::os::unix::fs::symlink(world.path(".claude-Work"), world.path(".claude-link")).unwrap();
    let found = worker(&world, ["import"]).run().ok();
    let text = found.text();
    for line in [
        "~/.claude-Work: is worker `work` now",
        "~/.claude-Work_: is worker `work-account` now",
        "~/.claude-main: is worker `main-account` now",
        "~/.claude-mac: is worker `mac` now",
        "~/.claude-empty: holds no login, left out",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(!text.contains("link") && !text.contains("claude-workers"), "{text}");
    let again = worker(&world, ["import"]).run().ok();
    assert!(again.text().contains("~/.claude-Work: is worker `work` already"), "{}", again.whole());
    worker(&world, ["remove", "mac", "--yes", "--with-login"]).run().code(64);
    worker(&world, ["remove", "mac", "--yes"]).run().ok();
    assert!(world.path(".claude-mac/.claude.json").exists());
}

#[test]
fn an_accounts_directory_goes_only_when_asked_for_and_made_by_us() {
    let world = world();
    worker(&world, ["accounts", "on"]).run().ok();
    worker(&world, ["create", "a", "--account"]).run().ok();
    worker(&world, ["login", "a"]).run().ok();
    worker(&world, ["rename", "a", "b"]).run().ok();
    spawn(&world, "b").run().ok().stdout_is(&format!("set: {}\n", world.path(".claude-a").display()));
    worker(&world, ["remove", "b", "--yes"]).run().ok();
    assert!(world.path(".claude-a/.credentials.json").exists());
    worker(&world, ["create", "a", "--account"]).run().ok();
    worker(&world, ["remove", "a", "--yes", "--with-login"]).run().code(64);
    worker(&world, ["create", "c", "--account"]).run().ok();
    worker(&world, ["login", "c"]).run().ok();
    worker(&world, ["remove", "c", "--yes", "--with-login"]).run().ok();
    assert!(!world.path(".claude-c").exists());
}

#[test]
fn one_worker_at_most_is_preferred() {
    let world = world();
    for name in ["one", "two"] {
        crate::identity::make(&world, name, true);
        worker(&world, ["prefer", name]).run().ok();
    }
    let preferred =
        || listed(&world).into_iter().filter(|(_, _, preferred)| *preferred).map(|(name, ..)| name);
    assert_eq!(preferred().collect::<Vec<_>>(), ["two"]);
    worker(&world, ["prefer"]).run().ok();
    assert_eq!(preferred().count(), 0);
    worker(&world, ["prefer", "nobody"]).run().code(64);
}

#[test]
fn what_an_account_cannot_be_is_refused() {
    let world = world();
    for words in [
        &["--account", "--sonnet", "m"][..],
        &["--account", "--preset", "zai"],
        &["--account", "--base-url", "https://elsewhere.example"],
        &["--account", "--config-dir", "/dev/null"],
        &["--account", "--tier", "huge"],
        &["--preset", "zai", "--tier", "opus"],
        &["--preset", "zai", "--config-dir", "/x"],
    ] {
        worker(&world, ["create", "x"].into_iter().chain(words.iter().copied())).run().code(64);
    }
    let inside = world.path(".claude-workers/inside");
    worker(&world, ["create", "x", "--account", "--config-dir", inside.to_str().unwrap()]).run().code(64);
    assert!(listed(&world).is_empty());
}

#[test]
fn a_provider_has_no_plan_usage_and_says_so() {
    let world = world();
    crate::identity::make(&world, "glm", true);
    let usage = |words: &[&str]| world.command(env!("CARGO_BIN_EXE_mo-spawn")).args(words).run().ok();
    assert!(usage(&["glm", "--usage"]).text().contains("no plan usage"));
    let document: Value = usage(&["glm", "--usage", "--json"]).json();
    assert_eq!((document["kind"].as_str(), &document["reading"]), (Some("provider"), &Value::Null));
}

/// A Claude Code that says nothing before it is asked, and writes down what it was asked and how it was started.
const ASKED: &str = r#"
case "$*" in *stream-json*) ;; *) exit 1;; esac
read -r line || exit 1
printf '%s\n' "$line" > "$HOME/question"
printf '%s\n' "$*" > "$HOME/words"
env > "$HOME/variables"
pwd > "$HOME/place"
echo '{"type":"control_response","response":{"subtype":"success","request_id":"mo-usage","response":{"rate_limits_available":true,"rate_limits":{"five_hour":{"utilization":40,"resets_at":"2096-10-02T07:06:40Z"}}}}}'
read -r rest
"#;

#[test]
fn a_question_for_usage_scans_no_transcripts_and_makes_no_other_traffic() {
    let world = World::new();
    world.fake("claude", ASKED);
    worker(&world, ["create", "work", "--account", "--tier", "opus"]).run().ok();
    worker(&world, ["accounts", "on"]).run().ok();
    let ask = || world.command(env!("CARGO_BIN_EXE_mo-spawn")).args(["work", "--usage", "--json"]).run().ok();
    let told: Value = ask().json();
    assert_eq!(told["reading"]["windows"][0]["percent"], 40.0, "{told:#}");
    let question: Value = serde_json::from_str(&world.read("question")).unwrap();
    let request = &question["request"];
    assert_eq!(
        (request["subtype"].as_str(), &request["skip_behaviors"]),
        (Some("get_usage"), &Value::Bool(true))
    );
    assert!(world.read("variables").lines().any(|line| line == "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"));
    let words = world.read("words");
    for word in ["--strict-mcp-config", "--no-session-persistence", "--setting-sources local"] {
        assert!(words.contains(word), "{words}");
    }
    assert_ne!(world.read("place").trim(), world.home().to_str().unwrap(), "no project has a say");
    std::fs::remove_file(world.path("question")).unwrap();
    ask();
    assert!(!world.path("question").exists(), "asked once, and kept");
}
