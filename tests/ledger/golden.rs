//! The golden cases: what is counted in each home, after each step.

use crate::home::{counted, updated, world};
use serde_json::Value;
use shared::ledger::rebuild;
use std::path::Path;
use support::golden::{differences, walk};

fn compare(expect: &Value, counted: &Value, step: Option<usize>) -> Vec<String> {
    let mut wrong = Vec::new();
    let steps = expect.get("steps").and_then(Value::as_array);
    if let (Some(steps), Some(step)) = (steps, step) {
        wrong.extend(differences("totals", &steps[step], &counted["totals"]));
    }
    if step.is_some() {
        return wrong;
    }
    for name in ["totals", "no_id", "by_session", "by_worker", "by_model", "by_manager", "by_project"] {
        if let Some(expected) = expect.get(name) {
            wrong.extend(differences(name, expected, &counted[name]));
        }
    }
    wrong
}

#[test]
fn every_case_is_counted_right_also_when_it_is_counted_again() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ledger/cases");
    walk(&cases, 13, |case| {
        let world = world(case.world.home());
        updated(&world);
        let mut wrong = compare(&case.expect, &counted(&world), Some(0));
        if case.lay_then() {
            updated(&world);
            wrong.extend(compare(&case.expect, &counted(&world), Some(1)));
        }
        let all = counted(&world);
        wrong.extend(compare(&case.expect, &all, None));
        assert!(!updated(&world).changed, "nothing is new");
        rebuild(&world, &|_, _| {}, &|_, _, _| None).map_err(|error| error.to_string())?;
        wrong.extend(differences("after a rebuild", &all, &counted(&world)));
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n  ")) }
    });
}
