//! Claude accounts with the real Claude Code: a login of the tests' own, requests to the scripted provider.

use serde_json::{Value, json};
use support::{Provider, wait_until};

use crate::environment::hostile;
use crate::stage::Stage;

/// The token of the scripted login.
pub(crate) const LOGIN: &str = "sk-ant-oat01-scripted-login";
/// Far ahead, in seconds and in milliseconds.
const RESET: u64 = 4_000_000_000;

/// A stage with a provider that knows the login alone.
pub(crate) fn stage() -> (Stage, Provider) {
    (Stage::new(), Provider::setup().keys([LOGIN]).start())
}

/// Makes an account the way a user does; its directory below home gets a login as Claude Code itself keeps it.
pub(crate) fn account(stage: &Stage, name: &str, directory: &str, provider: &Provider) {
    let create = stage.world.command(env!("CARGO_BIN_EXE_mo-worker")).args(["create", name, "--account"]);
    let url = provider.url();
    create
        .args(["--tier", "sonnet", "--base-url", &url, "--config-dir"])
        .arg(stage.world.path(directory))
        .run()
        .ok();
    let login = json!({"claudeAiOauth": {"accessToken": LOGIN, "refreshToken": "sk-ant-ort01-scripted",
        "expiresAt": RESET * 1000, "scopes": ["user:inference", "user:profile"], "subscriptionType": "max",
        "rateLimitTier": "default_claude_max_20x"}});
    let file = format!("{directory}/.credentials.json");
    stage.world.write(&file, login.to_string());
    stage.world.set_mode(&file, 0o600);
}

pub(crate) fn several(stage: &Stage) {
    stage.world.command(env!("CARGO_BIN_EXE_mo-worker")).args(["accounts", "on"]).run().ok();
}

/// What is known of an account's plan, as the last run told it: nobody needs to be asked.
pub(crate) fn known(stage: &Stage, name: &str, percent: f64, overage: &str) {
    let at = jiff::Timestamp::now();
    let window = json!({"name": "five_hour", "percent": percent, "resets_at": "2096-10-02T07:06:40Z", "at": at.to_string()});
    let reading = json!({"at": at.to_string(), "has_limits": true, "windows": [window], "overage": overage});
    let file = format!(".claude-workers/.dispatch/usage/{name}.json");
    stage.world.write(file, json!({"version": 1, "worker": name, "reading": reading}).to_string());
}

/// Now, in milliseconds since 1970.
pub(crate) fn now() -> u64 {
    std::time::UNIX_EPOCH.elapsed().expect("a clock after 1970").as_millis() as u64
}

/// What the account has used, as its own client last saw it: the client answers from this for a minute.
fn seen(stage: &Stage, directory: &str, limits: &Value) {
    let account = "11111111-1111-4111-8111-111111111111";
    let noted = json!({"hasCompletedOnboarding": true,
        "oauthAccount": {"accountUuid": account, "emailAddress": "a@example.com", "organizationUuid": account},
        "cachedUsageUtilization": {"fetchedAtMs": now(), "accountUuid": account, "utilization": limits}});
    stage.world.write(format!("{directory}/.claude.json"), noted.to_string());
}

fn usage(stage: &Stage, name: &str) -> Value {
    stage.spawn(name).args(["--usage", "--json"]).run().ok().json()
}

#[test]
fn an_account_works_with_its_own_login_and_nothing_of_the_parents() {
    let (stage, provider) = stage();
    account(&stage, "work", ".claude-work", &provider);
    several(&stage);
    let run = stage.spawn("work").args(["-p", "#say done", "--output-format", "json"]);
    hostile(run).run().ok();
    let asked = provider.asked();
    assert!(
        !asked.is_empty() && asked.iter().all(|request| request.key.as_deref() == Some(LOGIN)),
        "{asked:#?}"
    );
    assert!(
        asked.iter().all(|one| one.model.as_deref().is_some_and(|model| model.contains("sonnet"))),
        "{asked:#?}"
    );
    let record = stage.record();
    assert_eq!((&record["kind"], &record["status"]), (&json!("account"), &json!("done")));
    assert!(!stage.world.path(".claude-work/settings.json").exists(), "nothing of ours is written there");
    assert!(!record.to_string().contains(LOGIN));
}

#[test]
fn the_default_account_gets_no_second_configuration() {
    let (stage, provider) = stage();
    account(&stage, "own", ".claude", &provider);
    let look = "#bash tr '\\0' '\\n' < /proc/$PPID/environ | grep -c ^CLAUDE_CONFIG_DIR=\n#report";
    let run = stage.spawn("own").args(["-p", look, "--permission-mode", "bypassPermissions"]);
    assert_eq!(hostile(run).run().ok().text().trim(), "0");
    assert!(stage.world.path(".claude.json").exists() && !stage.world.path(".claude/.claude.json").exists());
}

#[test]
fn a_login_is_seen_checked_and_missed() {
    let (stage, provider) = stage();
    account(&stage, "work", ".claude-work", &provider);
    several(&stage);
    let worker = |words: &[&str]| stage.world.command(env!("CARGO_BIN_EXE_mo-worker")).args(words).run();
    worker(&["check", "work"]).ok();
    // Claude Code is asked, and one that is slow to answer because the machine is busy is told as unknown.
    let tells = |words: &[&str], what: &str| {
        wait_until(what, || worker(words).ok().text().contains(what));
    };
    tells(&["list"], "live");
    tells(&["show", "work"], "logged in (max_20x)");
    std::fs::remove_file(stage.world.path(".claude-work/.credentials.json")).expect("the login goes");
    tells(&["list"], "logged out");
    assert!(worker(&["check", "work"]).code(77).errors().contains("mo-worker login work"));
    stage.spawn("work").args(["--usage"]).run().code(77);
}

#[test]
fn a_projects_settings_cannot_take_an_accounts_login_elsewhere() {
    let (stage, provider) = stage();
    account(&stage, "work", ".claude-work", &provider);
    several(&stage);
    let settings = json!({"env": {"ANTHROPIC_BASE_URL": stage.workers.url()}});
    stage.world.write("project/.claude/settings.json", settings.to_string());
    let run = |words: &[&str]| stage.spawn("work").args(words).cwd(stage.world.path("project")).run();
    assert!(run(&["-p", "#say x"]).code(78).errors().contains("ANTHROPIC_BASE_URL"));
    run(&["-p", "#say x", "--setting-sources", "user"]).ok();
    assert!(stage.workers.requests().is_empty(), "the login went elsewhere");
    assert!(!provider.asked().is_empty());
}

#[test]
fn usage_is_asked_of_claude_code_once_and_kept() {
    let (stage, provider) = stage();
    account(&stage, "work", ".claude-work", &provider);
    several(&stage);
    let limits = |percent: u64| {
        let weekly = |model: &str, percent: u64| {
            json!({"kind": "weekly_scoped", "group": "weekly", "percent": percent,
            "severity": "normal", "resets_at": "2096-10-02T07:06:40Z", "is_active": true,
            "scope": {"model": {"id": null, "display_name": model}, "surface": null}})
        };
        json!({"five_hour": {"utilization": percent, "resets_at": "2096-10-02T07:06:40Z"},
            "limits": [weekly("Opus", 99), weekly("Fable", 5)], "extra_usage": {"is_enabled": true, "monthly_limit": null, "used_credits": 0, "utilization": null}})
    };
    seen(&stage, ".claude-work", &limits(34));
    let first = usage(&stage, "work");
    let windows = first["reading"]["windows"].as_array().expect("windows");
    let told: Vec<_> = windows.iter().map(|one| (one["name"].as_str(), one["percent"].as_f64())).collect();
    let expected = [("five_hour", 34.0), ("seven_day_fable", 5.0), ("seven_day_opus", 99.0)];
    assert_eq!(told, expected.map(|(name, percent)| (Some(name), Some(percent))), "{first:#}");
    assert_eq!((&first["reading"]["overage"], &first["freshness"]), (&json!("enabled"), &json!("fresh")));
    assert_eq!(first["exhausted"], false, "it works at sonnet: {first:#}");

    seen(&stage, ".claude-work", &limits(80));
    assert_eq!(usage(&stage, "work")["reading"]["windows"][0]["percent"], 34.0, "kept for four minutes");
    let text = stage.spawn("work").arg("--usage").run().ok().text();
    assert!(text.contains("7 d Opus") && text.contains("99%") && text.contains("would be billed"), "{text}");
    assert!(provider.asked().is_empty(), "no model was asked");
    assert_eq!(stage.world.mode(".claude-workers/.dispatch/usage/work.json"), 0o600);
    stage.nothing_is_left();
}

#[test]
fn usage_that_cannot_be_read_is_backed_off_and_wipes_nothing() {
    let (stage, provider) = stage();
    account(&stage, "work", ".claude-work", &provider);
    several(&stage);
    // Beyond loopback nothing can be reached: the page gives no answer.
    let ask = || stage.spawn("work").args(["--usage", "--json"]).run().code(69).json::<Value>();
    let failed = ask();
    assert!(
        failed["reading"]["error"].is_string() && failed["reading"]["overage"] == "unknown",
        "{failed:#}"
    );
    assert_eq!(ask()["reading"]["at"], failed["reading"]["at"], "it is not asked again at once");
}

#[test]
fn a_run_by_hand_tells_when_its_plan_refuses() {
    let (stage, provider) = stage();
    account(&stage, "work", ".claude-work", &provider);
    several(&stage);
    let reset = now() / 1000 + 3 * 3600;
    let run = |prompt: &str| stage.spawn("work").args(["-p", prompt]).run();
    run(&format!("#quota five_hour {reset}")).code(1);
    let known: Value =
        serde_json::from_str(&stage.world.read(".claude-workers/.dispatch/usage/work.json")).expect("JSON");
    let window = &known["reading"]["windows"][0];
    assert_eq!((&window["name"], &window["status"]), (&json!("five_hour"), &json!("rejected")), "{known:#}");
    let until: jiff::Timestamp = window["resets_at"].as_str().and_then(|at| at.parse().ok()).expect("a time");
    assert_eq!(until.as_second().cast_unsigned(), reset);
    assert_eq!(stage.record()["status"], "quota");
}

#[test]
fn a_run_tells_its_plan_by_itself() {
    let (stage, provider) = stage();
    account(&stage, "work", ".claude-work", &provider);
    several(&stage);
    // The client believes a reset only within the window's own length.
    let reset = now() / 1000 + 3 * 3600;
    let run = |prompt: &str| {
        let task = stage.spawn("work").args(["--task", "-", "--retries", "0", "--json"]).stdin(prompt);
        hostile(task).run()
    };
    let done: Value = run(&format!("#plan five_hour 0.5 {reset}\n#say x")).ok().json();
    assert_eq!((&done["status"], &done["cost_basis"]), (&json!("done"), &json!("flat")), "{done:#}");
    let told = usage(&stage, "work");
    let window = &told["reading"]["windows"][0];
    assert_eq!((&window["name"], &window["percent"]), (&json!("five_hour"), &json!(50.0)), "{told:#}");
    assert_eq!((&told["reading"]["overage"], &told["exhausted"]), (&json!("off"), &json!(false)));

    run(&format!("#plan five_hour 1 {reset} in-use\n#say x")).ok();
    let billed = usage(&stage, "work");
    assert_eq!(
        (&billed["reading"]["overage"], &billed["exhausted"]),
        (&json!("in-use"), &json!(true)),
        "{billed:#}"
    );

    let refused: Value = run(&format!("#quota five_hour {reset}")).code(69).json();
    assert_eq!(refused["status"], "quota", "{refused:#}");
    assert_eq!(usage(&stage, "work")["reading"]["windows"][0]["status"], "rejected");
    assert!(provider.asked().iter().all(|request| request.key.as_deref() == Some(LOGIN)));
    stage.nothing_is_left();
}
