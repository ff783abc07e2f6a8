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
