//! Keeps the house tidy: what every file must have, which room may use which, what the documents promise.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read the tree has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The most lines of a room.
const LONGEST: usize = 400;
/// The most lines of a program's table of contents, its command line's table aside.
const LONGEST_MAIN: usize = 60;

fn top() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    fs::read_to_string(top().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All files below these folders with this ending, relative to the top.
fn files(folders: &[&str], ending: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| top().join(folder)).collect();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(top()).unwrap().to_string_lossy().into_owned();
            if entry.file_type().unwrap().is_dir() {
                if !name.ends_with("/target") {
                    open.push(path);
                }
            } else if name.ends_with(ending) {
                found.push((name, fs::read_to_string(&path).unwrap_or_default()));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "nothing below {folders:?}");
    found
}

fn sources() -> Vec<(String, String)> {
    files(&["bins", "shared", "tests", "fuzz", "examples"], ".rs")
}

fn none(what: &str, bad: &[String]) {
    assert!(bad.is_empty(), "{what}:\n  {}", bad.join("\n  "));
}

#[test]
fn every_file_says_what_it_holds() {
    let bad: Vec<_> =
        sources().into_iter().filter(|(_, text)| !text.starts_with("//! ")).map(|(name, _)| name).collect();
    none("the first line must be `//! ` and what the room holds", &bad);
}

#[test]
fn rooms_are_small() {
    let mut bad = Vec::new();
    for (name, text) in sources() {
        let lines = text.lines().count();
        if lines > LONGEST {
            bad.push(format!("{name}: {lines} lines"));
        }
        if name.starts_with("bins/") && name.ends_with("/main.rs") {
            let table = text
                .find("\nstatic PROGRAM")
                .map_or(0, |from| text[from..].split("\n};").next().unwrap_or_default().lines().count());
            if lines - table > LONGEST_MAIN {
                bad.push(format!("{name}: {lines} lines, {table} of them its command line"));
            }
        }
    }
    none("split it: one noun a file", &bad);
}

/// What must not stand in the sources, where it may, and why.
const BANNED: &[(&str, &[&str], &str)] = &[
    ("#[allow(", &[], "say `#[expect(lint, reason = \"…\")]`"),
    ("#![allow(", &[], "say `#![expect(lint, reason = \"…\")]`"),
    ("#[ignore", &[], "a test that does not run is none"),
    ("should_panic", &[], "say which error is expected"),
    ("todo!(", &[], "finish it"),
    ("unimplemented!(", &[], "finish it"),
    ("fs2::", &["shared/lock.rs"], "locks are taken in one room"),
    ("atty::", &["shared/terminal.rs"], "terminals are asked about in one room"),
    ("which::", &["shared/search.rs"], "programs are looked for in one room"),
    ("ureq", &["bins/mo-preset/"], "only network programs link a network client"),
    (
        "tokio",
        &["bins/mo-dispatch/", "bins/mo-proxy/", "tests/proxy/", "examples/upstream"],
        "the small programs link no async runtime",
    ),
    ("rmcp", &["bins/mo-dispatch/"], "one program speaks MCP"),
    ("unsafe {", &["shared/ledger/"], "unsafe code stands in one room at most"),
];

#[test]
fn what_is_banned_stands_nowhere_else() {
    let mut bad = Vec::new();
    for (name, text) in sources().into_iter().filter(|(name, _)| name != "tests/tidy.rs") {
        for (word, allowed, why) in BANNED {
            if text.contains(word) && !allowed.iter().any(|place| name.starts_with(place)) {
                bad.push(format!("{name}: `{word}`: {why}"));
            }
        }
    }
    none("banned", &bad);
}

#[test]
fn tests_wait_for_conditions_and_never_sleep() {
    let waits = ["tests/support/src/patience.rs"];
    let tests = files(&["tests"], ".rs").into_iter();
    let bad: Vec<_> = tests
        .filter(|(name, text)| {
            text.contains("thread::sleep") && !waits.contains(&name.as_str()) && name != "tests/tidy.rs"
        })
        .map(|(name, _)| name)
        .collect();
    none("wait with support::patience instead of sleeping", &bad);
}

/// The modules of a file, in its order.
fn modules(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.trim().trim_start_matches("pub ").strip_prefix("mod "));
    lines.filter_map(|rest| rest.strip_suffix(';')).map(str::to_owned).collect()
}

#[test]
fn a_room_uses_only_rooms_listed_above_it() {
    let order = modules(&text("shared/lib.rs"));
    let mut bad = Vec::new();
    for (name, text) in files(&["shared"], ".rs") {
        let room =
            name.trim_start_matches("shared/").split('/').next().unwrap().trim_end_matches(".rs").to_owned();
        let Some(own) = order.iter().position(|module| *module == room) else { continue };
        // Tests may look anywhere.
        let code = text.split("#[cfg(test)]").next().unwrap();
        for used in code.split("crate::").skip(1) {
            let used: String =
                used.chars().take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_').collect();
            if order.iter().position(|module| *module == used).is_some_and(|at| at > own) {
                bad.push(format!("{name} uses {used}, which stands below it in shared/lib.rs"));
            }
        }
    }
    none("dependency order", &bad);
}

#[test]
fn a_program_uses_no_other_programs_code() {
    let bad: Vec<_> = files(&["bins"], ".rs")
        .into_iter()
        .filter(|(_, text)| text.contains("#[path") || text.contains("include!("))
        .map(|(name, _)| name)
        .collect();
    none("what two programs need is a noun in shared/", &bad);
}

/// The names of the tables `[[kind]]` in Cargo.toml.
fn targets(kind: &str) -> Vec<String> {
    let manifest = text("Cargo.toml");
    let tables = manifest.split("[[").filter(|table| table.starts_with(&format!("{kind}]]")));
    tables.filter_map(|table| table.split("name = \"").nth(1)?.split('"').next().map(str::to_owned)).collect()
}

#[test]
fn the_documents_know_every_program_and_every_target() {
    let (readme, makefile) = (text("README.md"), text("Makefile"));
    let mut bad = Vec::new();
    for program in targets("bin") {
        for document in ["README.md", "ARCHITECTURE.md"] {
            if !text(document).contains(&program) {
                bad.push(format!("{document} does not name {program}"));
            }
        }
    }
    for target in readme
        .split("make ")
        .skip(1)
        .filter_map(|rest| rest.split(|letter: char| !letter.is_ascii_lowercase() && letter != '-').next())
    {
        let is_word = ["", "a", "it", "the", "sure", "one"].contains(&target);
        if !is_word && !makefile.contains(&format!("\n{target}:")) {
            bad.push(format!("README.md says `make {target}`, and the Makefile has no such target"));
        }
    }
    none("documents", &bad);
}

#[test]
fn every_dependency_is_accounted_for() {
    let known = text("docs/dependencies.md");
    let mut bad = Vec::new();
    for manifest in ["Cargo.toml", "tests/support/Cargo.toml"] {
        let manifest = text(manifest);
        for section in manifest.split("\n[").filter(|section| {
            section.starts_with("dependencies]") || section.starts_with("dev-dependencies]")
        }) {
            for name in
                section.lines().skip(1).filter_map(|line| line.split_once(" = ")).map(|(name, _)| name)
            {
                if name != "support"
                    && !known.contains(&format!("| {name} "))
                    && !known.contains(&format!("| `{name}` "))
                {
                    bad.push(format!("{name} has no row in docs/dependencies.md"));
                }
            }
        }
    }
    none("dependencies", &bad);
}

/// The names of all tests.
fn tests() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (_, text) in sources() {
        for after in text.split("#[test]").skip(1) {
            let name = after.split("fn ").nth(1).and_then(|rest| rest.split('(').next());
            names.extend(name.map(str::to_owned));
        }
    }
    names
}

#[test]
fn every_test_that_a_document_names_exists() {
    let tests = tests();
    let mut bad = Vec::new();
    for document in ["ARCHITECTURE.md", "docs/flaws.md"] {
        let text = fs::read_to_string(top().join(document)).unwrap_or_default();
        for named in text.split("test `").skip(1).filter_map(|rest| rest.split('`').next()) {
            if !tests.contains(named) {
                bad.push(format!("{document}: there is no test `{named}`"));
            }
        }
    }
    none("documents", &bad);
}

/// Claude Code counts a hook's timeout in seconds: 5000 would be more than an hour.
#[test]
fn a_hook_waits_for_seconds() {
    let hooks = text("hooks/hooks.json");
    let timeouts: Vec<u64> = hooks
        .split("\"timeout\":")
        .skip(1)
        .map(|rest| {
            rest.trim_start().chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
        })
        .collect();
    assert_eq!(timeouts.len(), hooks.matches("\"type\": \"command\"").count());
    assert!(
        !timeouts.is_empty() && timeouts.iter().all(|seconds| (1..=60).contains(seconds)),
        "{timeouts:?}"
    );
}

#[test]
fn no_golden_case_is_forgotten_or_half_made() {
    let mut bad = Vec::new();
    let cases = top().join("tests/ledger/cases");
    for entry in fs::read_dir(&cases).into_iter().flatten().flatten() {
        for part in ["in", "expect.json", "why.md"] {
            if !entry.path().join(part).exists() {
                bad.push(format!("{} lacks {part}", entry.path().display()));
            }
        }
    }
    none("golden cases", &bad);
}

#[test]
fn the_files_that_users_look_for_are_there() {
    let wanted = [
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "PRIVACY.md",
        "LICENSE",
        "Makefile",
        "plugin/.claude-plugin/plugin.json",
        "plugin/README.md",
        "plugin/LICENSE",
        ".claude-plugin/marketplace.json",
        "hooks/hooks.json",
    ];
    let bad: Vec<_> =
        wanted.into_iter().filter(|path| !Path::new(&top().join(path)).exists()).map(str::to_owned).collect();
    none("missing", &bad);
    let version = |path: &str| {
        text(path).split("\"version\": \"").nth(1).and_then(|rest| rest.split('"').next()).map(str::to_owned)
    };
    assert_eq!(version("plugin/.claude-plugin/plugin.json").as_deref(), Some(env!("CARGO_PKG_VERSION")));
}
