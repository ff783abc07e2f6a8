//! Reports as workers write them, good, careless and hostile.

use super::*;
use crate::record::Check;

/// Every field, in its place.
const WHOLE: &str = r#"{"role": "implementer", "task_type": "fix", "status": "success", "files_touched": ["src/a.rs"],
"tests_run": "cargo test", "tests_pass": true, "key_finding": "It is done.", "blockers": [], "next_action": "merge"}"#;

fn fenced(json: &str) -> String {
    format!("All done, see `src/a.rs`.\n\n```rust\nfn a() {{ /* ``` */ }}\n```\n\n```json\n{json}\n```\n")
}

fn report(json: &str) -> Report {
    parse(&fenced(json)).unwrap()
}

fn checked(passed: bool) -> Vec<Check> {
    let exit_code = Some(if passed { 0 } else { 101 });
    vec![Check { command: "cargo test".into(), exit_code, ..Check::default() }]
}

#[test]
fn a_whole_report_is_read_and_written_alike() {
    let report = report(WHOLE);
    assert_eq!((report.status, report.next_action), (Outcome::Success, NextAction::Merge));
    assert_eq!((report.tests_run.as_str(), report.tests_pass), ("cargo test", Some(true)));
    assert_eq!(super::parse(&serde_json::to_string(&report).unwrap()).unwrap(), report);
    assert_eq!(super::parse(&fenced(WHOLE).replace('\n', "\r\n")).unwrap(), report);
}

#[test]
fn what_is_demanded_is_itself_a_report() {
    let report = parse(&demand("explorer")).unwrap();
    assert_eq!(
        (report.role.as_str(), report.status, report.tests_pass),
        ("explorer", Outcome::Success, None)
    );
}

#[test]
fn careless_writing_is_understood() {
    let report = report(
        r#"{"status": "partial", "files_touched": "a.rs", "tests_run": ["make", "make test"], "tests_pass": null,
        "key_finding": null, "blockers": ["", "no\nnetwork"], "more": {"a": [{"b": "}```{"}]}}"#,
    );
    assert_eq!(report.files_touched, ["a.rs"]);
    assert_eq!((report.tests_run.as_str(), report.tests_pass), ("make; make test", None));
    assert_eq!((report.blockers, report.next_action), (vec!["no network".to_owned()], NextAction::None));
}

#[test]
fn what_is_no_report_is_told_in_a_sentence() {
    for (text, part) in [
        ("nothing", "without a report block"),
        ("```json\n[1]\n```", "no object"),
        ("```json\n{\"status\": \"great\"}\n```", "unknown variant"),
        ("```json\n{\"role\": \"x\"}\n```", "missing field `status`"),
        ("```json\n{\"status\": \"success\", \"status\": \"failure\"}\n```", "duplicate field"),
        ("```json\n{\"status\": \"success\"\n```", "EOF"),
        (&fenced(WHOLE).replace("\"success\"", "\"\\u001b[31m\u{202e}\""), "unknown variant"),
        (&format!("{}\n```json\n{{\"a\": 1}}\n```", fenced(WHOLE)), "missing field"),
        (&format!("```json\n{{\"a\": \"{}\"}}\n```", "x".repeat(LONGEST)), "too long"),
        (&format!("```json\n{}\n```", "{\"a\":".repeat(9000)), "no report"),
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!(error.exit(), Exit::Data);
        let error = error.to_string();
        assert!(error.contains(part) && error.len() < 250 && !error.contains(char::is_control), "{error}");
    }
}

#[test]
fn hostile_text_is_made_harmless_and_bounded() {
    let long = "x".repeat(9000);
    let report = report(&format!(
        r#"{{"status": "failure", "key_finding": "\u001b[31m\u202e{long}", "files_touched": ["a\u001b]0;x\u0007"],
        "blockers": [{}"last"]}}"#,
        "\"b\",".repeat(100)
    ));
    assert!(report.key_finding.chars().count() == 500 && report.key_finding.starts_with("[31mxx"));
    assert_eq!(report.files_touched, ["a ]0;x"]);
    assert_eq!(report.blockers.len(), MOST_BLOCKERS);
}

#[test]
fn an_honest_report_disagrees_with_nothing() {
    let mut report = report(WHOLE);
    let changed = ["src/a.rs".to_owned()];
    for claim in
        ["src/a.rs", "./src/a.rs", "/home/me/repo/src/a.rs", "a.rs", "src/a.rs:12", "`src/a.rs` (new)"]
    {
        report.files_touched = vec![claim.to_owned()];
        assert_eq!(disagreements(&report, Some(&changed), &checked(true)), [""; 0], "{claim}");
    }
    report.files_touched = vec!["anything".to_owned()];
    assert_eq!(disagreements(&report, None, &checked(true)), [""; 0]);
}

#[test]
fn every_difference_is_a_sentence() {
    let mut report = report(WHOLE);
    let said = |report: &Report, changed: &[&str], checks: &[Check]| {
        let changed: Vec<String> = changed.iter().map(ToString::to_string).collect();
        disagreements(report, Some(&changed), checks).join("\n")
    };
    assert_eq!(
        said(&report, &["src/b.rs"], &checked(true)),
        "It says that it changed `src/a.rs`, and git shows no change there.\n\
         It changed `src/b.rs`, and the report does not list that."
    );
    assert_eq!(
        said(&report, &["src/a.rs"], &checked(false)),
        "It reports success, and the check `cargo test` failed.\n\
         It says that the tests pass, and the check `cargo test` failed."
    );
    assert_eq!(
        said(&report, &["src/a.rs"], &[]),
        "Nobody but the worker ran `cargo test`: no check was asked for."
    );
    report.tests_run.clear();
    report.blockers = vec!["x".to_owned()];
    assert_eq!(
        said(&report, &["src/a.rs"], &checked(true)),
        "It says that tests pass and names none that it ran.\nIt reports success and names blockers."
    );
    report.status = Outcome::Failure;
    report.tests_pass = Some(false);
    assert_eq!(
        said(&report, &["src/a.rs"], &checked(true)),
        "It reports failure, and every check passed.\nIt says that tests fail, and every check passed."
    );
    let many: Vec<String> = (0..9).map(|number| format!("f{number}")).collect();
    report.files_touched.clear();
    let said = disagreements(&report, Some(&many), &[]).join("");
    assert!(said.contains("`f4`, 4 more, and the report"), "{said}");
    // Two files of one name: the short claim could mean either.
    report.files_touched = vec!["a.rs".to_owned()];
    let said = disagreements(&report, Some(&["x/a.rs".to_owned(), "y/a.rs".to_owned()]), &[]).join("\n");
    assert!(said.contains("`a.rs`, and git") && said.contains("`x/a.rs`, `y/a.rs`"), "{said}");
}

/// A repeatable source of chance.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 16) % limit.max(1) as u64) as usize
    }
}

/// What messages are made of, and what breaks them.
const PIECES: [&str; 16] = [
    "```json\n",
    "```\n",
    "````\n",
    "~~~json\n",
    "~~~\n",
    "{",
    "}",
    "[",
    "\"",
    "\\",
    "\r\n",
    "\u{202e}",
    "\\ud83d",
    "\"status\": \"success\"",
    "null",
    "🚀",
];

#[test]
fn no_damage_to_a_message_makes_reading_it_panic_or_lie() {
    let seeds = [fenced(WHOLE), demand("x"), fenced("{\"status\": \"failure\"}"), WHOLE.to_owned()];
    let mut read = 0;
    for seed in 0..20_000_u64 {
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut text: Vec<char> = seeds[chance.below(seeds.len())].chars().collect();
        for _ in 0..=chance.below(5) {
            let at = chance.below(text.len() + 1);
            match chance.below(4) {
                0 => drop(text.drain(at..(at + chance.below(9)).min(text.len()))),
                1 => text.truncate(at),
                2 => drop(text.splice(at..at, PIECES[chance.below(PIECES.len())].chars())),
                _ => {
                    let again = text[at..(at + chance.below(200)).min(text.len())].to_vec();
                    text.extend(again);
                }
            }
        }
        let text: String = text.into_iter().collect();
        let Ok(report) = parse(&text) else { continue };
        read += 1;
        // What is read stands in the message as an object that JSON's own parser takes alike.
        assert_eq!(parse(&serde_json::to_string(&report).unwrap()).unwrap(), report, "{text}");
        let shown = disagreements(&report, Some(&["src/a.rs".to_owned()]), &checked(false));
        for line in shown.iter().chain(&report.files_touched).chain([&report.key_finding]) {
            assert!(!line.contains(|letter: char| letter.is_control() || letter == '\u{202e}'), "{line:?}");
        }
        assert!(text.contains(match report.status {
            Outcome::Success => "\"success\"",
            Outcome::Partial => "\"partial\"",
            Outcome::Failure => "\"failure\"",
        }));
    }
    assert!(read > 2_000, "only {read} of the damaged messages still held a report");
}
