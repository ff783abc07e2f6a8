//! Golden cases: folders of `in/`, optional `then/`, `expect.json` and `why.md`, given one by one to a closure.
//!
//! What a program does with a case and which fields it compares is the closure's business. A symlink in a case is
//! laid as a symlink, also where the checkout stores it as a small text file that holds only its target.

use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::world::World;

/// What stands for "remove the file without this ending" in `then/`.
const DELETE: &str = ".delete";
/// No target of a stored symlink is longer.
const LONGEST_LINK: u64 = 256;

/// One case, its `in/` already laid over an empty home.
#[derive(Debug)]
pub struct Case {
    /// The folder's name.
    pub name: String,
    /// The sealed world whose home holds the case.
    pub world: World,
    /// The content of `expect.json`.
    pub expect: Value,
    dir: PathBuf,
}

impl Case {
    /// Whether there is a second step.
    pub fn has_then(&self) -> bool {
        self.dir.join("then").is_dir()
    }

    /// Lays the second step over the home. False when the case has none.
    #[track_caller]
    pub fn lay_then(&self) -> bool {
        self.has_then() && {
            lay(&self.dir.join("then"), self.world.home());
            true
        }
    }
}

/// Runs every case below `dir` and fails with all that went wrong: a case that the closure refuses or panics in, a
/// folder that lacks a file, an entry that is no case, or fewer cases than `at_least` (some were lost).
#[track_caller]
pub fn walk(dir: &Path, at_least: usize, mut run: impl FnMut(&Case) -> Result<(), String>) {
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("cannot read {}: {error}", dir.display()));
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    folders.sort();
    let mut failures = Vec::new();
    for folder in &folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let outcome = open(folder, &name).and_then(|case| {
            let tried = catch_unwind(AssertUnwindSafe(|| run(&case)));
            tried.unwrap_or_else(|panic| Err(message(panic.as_ref())))
        });
        if let Err(what) = outcome {
            let why = fs::read_to_string(folder.join("why.md")).unwrap_or_default();
            failures.push(format!("{name}: {what}\n  why it is so: {}", why.trim()));
        }
    }
    if folders.len() < at_least {
        failures.push(format!("only {} cases in {}, there were {at_least}", folders.len(), dir.display()));
    }
    assert!(
        failures.is_empty(),
        "{} of {} cases failed\n\n{}",
        failures.len(),
        folders.len(),
        failures.join("\n\n")
    );
}

/// The fields of `expected` that `actual` does not have with the same value, one line each. Fields that only
/// `actual` has are not looked at.
pub fn differences(what: &str, expected: &Value, actual: &Value) -> Vec<String> {
    match expected {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| {
                differences(&format!("{what}.{name}"), value, actual.get(name).unwrap_or(&Value::Null))
            })
            .collect(),
        Value::Array(items) if actual.as_array().is_some_and(|list| list.len() == items.len()) => items
            .iter()
            .enumerate()
            .flat_map(|(index, value)| differences(&format!("{what}[{index}]"), value, &actual[index]))
            .collect(),
        _ if expected == actual => Vec::new(),
        _ => vec![format!("{what}: expected {expected}, found {actual}")],
    }
}

/// Lays a tree over a directory: files replaced, `X.delete` removes X, everything writable.
#[track_caller]
pub fn lay(tree: &Path, over: &Path) {
    if let Err(error) = lay_all(tree, over) {
        panic!("cannot lay {} over {}: {error}", tree.display(), over.display());
    }
}

fn lay_all(tree: &Path, over: &Path) -> io::Result<()> {
    fs::create_dir_all(over)?;
    for entry in fs::read_dir(tree)? {
        let from = entry?.path();
        let name = from.file_name().unwrap_or_default();
        let to = over.join(name);
        if let Some(doomed) = name.to_str().and_then(|name| name.strip_suffix(DELETE)) {
            let doomed = over.join(doomed);
            if doomed.is_dir() { fs::remove_dir_all(doomed)? } else { fs::remove_file(doomed)? }
        } else if let Some(target) = link_target(&from) {
            let _ = fs::remove_file(&to);
            std::os::unix::fs::symlink(target, &to)?;
        } else if from.is_dir() {
            lay_all(&from, &to)?;
        } else {
            // Not copied: a case that was checked out read-only must still be writable when it is laid.
            fs::write(&to, fs::read(&from)?)?;
        }
    }
    Ok(())
}

/// The target, when this is a symlink or a file that a checkout without symlinks wrote for one: nothing but a
/// relative path upwards, without a line end.
fn link_target(path: &Path) -> Option<PathBuf> {
    let facts = fs::symlink_metadata(path).ok()?;
    if facts.is_symlink() {
        return fs::read_link(path).ok();
    }
    if !facts.is_file() || facts.len() > LONGEST_LINK {
        return None;
    }
    let text = fs::read_to_string(path).ok()?;
    let upwards = text == ".." || text.starts_with("../");
    (upwards && !text.contains(char::is_whitespace)).then(|| text.into())
}

fn open(folder: &Path, name: &str) -> Result<Case, String> {
    if !folder.join("in").is_dir() {
        return Err("it has no folder `in`: not a case, or a broken one".into());
    }
    let why = fs::read_to_string(folder.join("why.md")).map_err(|error| format!("why.md: {error}"))?;
    if why.trim().is_empty() {
        return Err("why.md is empty".into());
    }
    let expect = fs::read(folder.join("expect.json")).map_err(|error| format!("expect.json: {error}"))?;
    let expect = serde_json::from_slice(&expect).map_err(|error| format!("expect.json: {error}"))?;
    for entry in fs::read_dir(folder).map_err(|error| error.to_string())?.flatten() {
        let found = entry.file_name();
        if !["in", "then", "expect.json", "why.md"].iter().any(|known| found == *known) {
            return Err(format!("{} is not part of a case", found.display()));
        }
    }
    let world = World::new();
    lay(&folder.join("in"), world.home());
    Ok(Case { name: name.into(), world, expect, dir: folder.into() })
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
        .unwrap_or_else(|| "panicked".into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use serde_json::json;
    use tempfile::TempDir;

    use super::*;

    fn put(dir: &Path, name: &str, text: &str) {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    fn a_case() -> TempDir {
        let dir = tempfile::tempdir().expect("a temporary directory");
        put(dir.path(), "01-a/in/.x/file", "one");
        put(dir.path(), "01-a/in/.x/gone", "x");
        put(dir.path(), "01-a/in/.x/up", "../.x");
        put(dir.path(), "01-a/then/.x/file", "two");
        put(dir.path(), "01-a/then/.x/gone.delete", "");
        put(dir.path(), "01-a/expect.json", r#"{"totals": {"n": 1}}"#);
        put(dir.path(), "01-a/why.md", "because");
        symlink(".x", dir.path().join("01-a/in/real")).expect("a symlink");
        dir
    }

    #[track_caller]
    fn failure(dir: &TempDir, at_least: usize, run: impl FnMut(&Case) -> Result<(), String>) -> String {
        let tried = catch_unwind(AssertUnwindSafe(|| walk(dir.path(), at_least, run)));
        message(tried.expect_err("it must fail").as_ref())
    }

    #[test]
    fn both_steps_are_laid_links_and_removals_included() {
        let mut seen = 0;
        walk(a_case().path(), 1, |case| {
            seen += 1;
            assert_eq!(case.expect["totals"]["n"], 1);
            assert_eq!(case.world.read("real/file"), "one");
            assert_eq!(case.world.read(".x/up/file"), "one");
            assert!(case.lay_then());
            assert_eq!(case.world.read("real/file"), "two");
            assert!(!case.world.path(".x/gone").exists());
            Ok(())
        });
        assert_eq!(seen, 1);
    }

    #[test]
    fn every_failure_is_told_with_its_reason() {
        let dir = a_case();
        put(dir.path(), "02-b/in/file", "");
        let text = failure(&dir, 1, |case| Err(format!("no luck with {}", case.name)));
        for part in ["2 of 2", "no luck with 01-a", "why it is so: because", "02-b: why.md"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert!(failure(&dir, 1, |_| panic!("burst")).contains("burst"));
    }

    #[test]
    fn a_lost_or_half_case_is_a_failure() {
        let dir = a_case();
        assert!(failure(&dir, 2, |_| Ok(())).contains("only 1 cases"));
        put(dir.path(), "01-a/note.txt", "");
        assert!(failure(&dir, 1, |_| Ok(())).contains("note.txt is not part of a case"));
        put(dir.path(), "stray", "");
        assert!(failure(&dir, 1, |_| Ok(())).contains("stray: it has no folder `in`"));
    }

    #[test]
    fn only_expected_fields_are_compared() {
        let expected = json!({"a": 1, "b": {"c": [1, 2]}});
        assert_eq!(differences("t", &expected, &json!({"a": 1, "b": {"c": [1, 2], "d": 0}})), [""; 0]);
        assert_eq!(
            differences("t", &expected, &json!({"b": {"c": [1, 3]}})),
            ["t.a: expected 1, found null", "t.b.c[1]: expected 2, found 3"]
        );
    }
}
