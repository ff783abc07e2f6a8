//! A report against what happened: the files that git shows, the checks that were run.

use crate::flatten::flatten;
use crate::record::Check;
use crate::report::{Outcome, Report};

/// So many files are named; the others are counted.
const NAMED: usize = 5;

/// Where the report's word differs from what happened, one plain sentence each. `changed` holds the files that git
/// shows, or nothing where nobody could look.
pub fn disagreements(report: &Report, changed: Option<&[String]>, checks: &[Check]) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(changed) = changed {
        files(report, changed, &mut said);
    }
    let failed: Vec<&Check> = checks.iter().filter(|check| !passed(check)).collect();
    if let Some(check) = failed.first() {
        let command = flatten(&check.command, 120);
        if report.status == Outcome::Success {
            said.push(format!("It reports success, and the check `{command}` failed."));
        }
        if report.tests_pass == Some(true) {
            said.push(format!("It says that the tests pass, and the check `{command}` failed."));
        }
    }
    if failed.is_empty() && !checks.is_empty() {
        if report.status == Outcome::Failure {
            said.push("It reports failure, and every check passed.".to_owned());
        }
        if report.tests_pass == Some(false) {
            said.push("It says that tests fail, and every check passed.".to_owned());
        }
    }
    if report.tests_pass == Some(true) {
        if report.tests_run.is_empty() {
            said.push("It says that tests pass and names none that it ran.".to_owned());
        } else if checks.is_empty() {
            let command = flatten(&report.tests_run, 120);
            said.push(format!("Nobody but the worker ran `{command}`: no check was asked for."));
        }
    }
    if report.status == Outcome::Success && !report.blockers.is_empty() {
        said.push("It reports success and names blockers.".to_owned());
    }
    said
}

/// A check without an exit code was ended by a signal or a limit.
fn passed(check: &Check) -> bool {
    check.exit_code == Some(0)
}

fn files(report: &Report, changed: &[String], said: &mut Vec<String>) {
    let changed: Vec<String> = changed.iter().map(|path| flatten(path, 500)).collect();
    let claimed: Vec<String> = report.files_touched.iter().map(|path| plain(path)).collect();
    let same = |claim: &str, path: &str| {
        claim == path
            || (claim.starts_with('/') && claim.ends_with(&format!("/{path}")))
            // From a directory below the repository's top; only where it can mean no other file.
            || (path.ends_with(&format!("/{claim}"))
                && changed.iter().filter(|other| other.ends_with(&format!("/{claim}"))).count() == 1)
    };
    let unchanged = claimed.iter().filter(|claim| !changed.iter().any(|path| same(claim, path)));
    name(unchanged, "It says that it changed", "git shows no change there", said);
    let unlisted = changed.iter().filter(|path| !claimed.iter().any(|claim| same(claim, path)));
    name(unlisted, "It changed", "the report does not list that", said);
}

fn name<'a>(files: impl Iterator<Item = &'a String>, before: &str, behind: &str, said: &mut Vec<String>) {
    let files: Vec<&String> = files.collect();
    let mut names: Vec<String> =
        files.iter().take(NAMED).map(|file| format!("`{}`", flatten(file, 120))).collect();
    if files.len() > NAMED {
        names.push(format!("{} more", files.len() - NAMED));
    }
    if !names.is_empty() {
        said.push(format!("{before} {}, and {behind}.", names.join(", ")));
    }
}

/// A path as git writes it: without `./`, a line number, or a word in brackets behind it.
fn plain(claim: &str) -> String {
    let path = claim.split(" (").next().unwrap_or_default().trim().trim_matches('`');
    let path = path.trim_start_matches("./");
    let digits =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    match path.split_once(':') {
        Some((file, line)) if line.split(':').all(digits) => file.to_owned(),
        _ => path.to_owned(),
    }
}
