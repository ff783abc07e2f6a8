//! The reports as a user gets them: folders with a home, the commands to run in it, and what they must say.

use serde_json::Value;
use std::path::Path;
use support::golden::{Case, differences, walk};
use support::{Output, World};

/// Runs mo-ledger in a sealed world.
pub fn mo_ledger(world: &World, words: &[&str], stdin: &str) -> Output {
    world.command(env!("CARGO_BIN_EXE_mo-ledger")).args(words.iter().copied()).stdin(stdin).run().ok()
}

fn check(case: &Case, run: &Value) -> Vec<String> {
    let words: Vec<&str> =
        run["words"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    let what = words.join(" ");
    let output = mo_ledger(&case.world, &words, run["stdin"].as_str().unwrap_or_default());
    let mut wrong = Vec::new();
    if let Some(expected) = run.get("json") {
        wrong.extend(differences(&what, expected, &output.json()));
        // Nothing may be there that was not added up by hand.
        let found: Value = output.json();
        for by in ["by_worker", "by_model", "by_session", "by_day", "by_hand"] {
            let names = |value: &Value| {
                value
                    .get(by)
                    .and_then(Value::as_object)
                    .map(|lines| lines.keys().cloned().collect::<Vec<_>>())
            };
            if let Some(expected) = names(expected) {
                wrong.extend(
                    (Some(&expected) != names(&found).as_ref())
                        .then(|| format!("{what}: other names in {by}")),
                );
            }
        }
    }
    for (stream, text) in [("stdout", output.text()), ("stderr", output.errors())] {
        if let Some(expected) = run.get(stream).and_then(Value::as_str) {
            wrong.extend((text != expected).then(|| format!("{what}: {stream} is {text:?}")));
        }
    }
    wrong
}

#[test]
fn every_report_says_what_was_added_up_by_hand() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ledger/reports");
    walk(&cases, 1, |case| {
        let runs = case.expect["runs"].as_array().ok_or("no runs")?;
        let mut wrong: Vec<String> = runs.iter().flat_map(|run| check(case, run)).collect();
        let published = case.world.read(".claude-workers/.usage/ledger.json");
        let published = serde_json::from_str(&published).map_err(|error| error.to_string())?;
        wrong.extend(differences("ledger.json", &case.expect["ledger"], &published));
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n  ")) }
    });
}

/// A home with one manager and one message of each model.
fn used(models: &[&str]) -> World {
    let world = World::new();
    let rows = models.iter().enumerate().map(|(at, model)| {
        let row = serde_json::json!({"type": "assistant", "sessionId": "s", "uuid": format!("u{at}"), "cwd": "/w,\"x\"",
            "timestamp": "2026-11-30T08:00:00.000Z", "message": {"id": format!("m{at}"), "model": model,
            "usage": {"input_tokens": 1_000_000, "output_tokens": 0}}});
        format!("{row}\n")
    });
    world.write(".claude/projects/-w/s.jsonl", rows.collect::<String>());
    world
}

#[test]
fn own_prices_lie_over_the_bundled_ones_and_a_broken_file_is_told_by_line() {
    let world = used(&["claude-opus-5-5", "qwen3-coder:30b"]);
    let cost = |stdin: &str| -> Value {
        let output = mo_ledger(&world, &["report", "--json"], stdin);
        output.json::<Value>()["totals"].clone()
    };
    assert_eq!((&cost("")["cost_usd"], &cost("")["partial"]), (&4.0.into(), &true.into()));
    let own = r#"{"models": {"qwen3*": {"input": 0.25, "output": 1}}}"#;
    world.write(".claude-workers/prices.json", own);
    assert_eq!((&cost("")["cost_usd"], cost("").get("partial")), (&4.25.into(), None));
    world.write(".claude-workers/prices.json", "{\n\"models\": {\n\"qwen3*\": {\"input\": 1}\n}}");
    let output = mo_ledger(&world, &["report", "--by", "model"], "");
    assert!(output.text().contains("$4.00+"), "{}", output.whole());
    let told = output.errors();
    assert!(told.contains("prices.json:3: prices of `qwen3*`: missing field `output`"), "{told}");
    assert!(told.contains("no price is known for qwen3-coder:30b"), "{told}");
    let check = world.command(env!("CARGO_BIN_EXE_mo-ledger")).args(["check", "--json"]).run().code(1);
    assert_eq!(check.json::<Value>()["unpriced"], serde_json::json!(["qwen3-coder:30b"]));
}

#[test]
fn an_export_holds_each_message_once_in_both_formats() {
    let world = used(&["claude-opus-5-5", "=cmd|\u{1b}[31m\u{202e}\n"]);
    let rows: Vec<Value> = mo_ledger(&world, &["export"], "").json_lines();
    let mut ids: Vec<_> = rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    assert_eq!(ids, ["m0", "m1"]);
    let first = rows.iter().find(|row| row["id"] == "m0").unwrap();
    let expected = serde_json::json!({"at": "2026-11-30T08:00:00.000Z", "day": "2026-11-30", "worker": "main",
        "model": "claude-opus-5-5", "session": "s", "manager_session": null, "project": "/w,\"x\"", "input": 1_000_000,
        "output": 0, "fresh": 1_000_000, "cost_usd": 4.0, "without_id": false});
    assert_eq!(differences("row", &expected, first), Vec::<String>::new());
    let csv = mo_ledger(&world, &["export", "--format", "csv"], "").text();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 3, "{csv:?}");
    assert!(
        lines
            .iter()
            .any(|line| line.contains(",claude-opus-5-5,s,,\"/w,\"\"x\"\"\",1000000,0,0,0,0,1000000,4,"))
    );
    assert!(lines.iter().any(|line| line.contains(",\" =cmd| [31m\",")), "{csv:?}");
    assert!(!csv.contains(['\u{1b}', '\u{202e}']));
    let none = mo_ledger(&world, &["export", "--worker", "nobody"], "");
    assert!(none.stdout.is_empty());
    for (words, part) in [
        (["export", "--format", "xml"], "take ndjson or csv"),
        (["report", "--by", "mood"], "session, worker, model"),
        (["report", "--last", "soon"], "like 7d"),
        (["report", "--timezone", "Mars"], "Europe/Vienna"),
        (["report", "--since", "soon"], "2026-11-01"),
    ] {
        world
            .command(env!("CARGO_BIN_EXE_mo-ledger"))
            .args(words)
            .run()
            .code(64)
            .stdout_is("")
            .stderr_has(part);
    }
}

#[test]
fn a_user_without_any_history_is_told_so_and_nothing_fails() {
    let world = World::new();
    for words in [&["report"][..], &["savings"], &["report", "--by", "model", "--last", "7d"]] {
        let output = mo_ledger(&world, words, "");
        assert!(
            output.stdout.is_empty() && output.errors().starts_with("mo-ledger: no"),
            "{}",
            output.whole()
        );
    }
    let output = mo_ledger(&world, &["statusline"], "{\"session_id\": 7");
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
    let totals: Value = mo_ledger(&world, &["report", "--json"], "").json();
    assert_eq!(totals["totals"]["messages"], 0);
    let off = world
        .command(env!("CARGO_BIN_EXE_mo-ledger"))
        .arg("statusline")
        .var("MODEL_ORCHESTRATION_SAVINGS", "off");
    off.stdin("{}").run().ok().stdout_is("");
}
