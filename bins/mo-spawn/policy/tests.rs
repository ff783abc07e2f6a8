//! The whole of the policy: what is let through, against what a real shell does with it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::json;

use super::file::tests::policy;
use super::{Decision, Policy};

fn bash(policy: &Policy, command: &str) -> Decision {
    policy.decide("Bash", &json!({"command": command}), Path::new("/w"))
}

fn allows(policy: &Policy, tool: &str, path: &Path, directory: &Path) -> bool {
    policy.decide(tool, &json!({"file_path": path}), directory) == Decision::Allow
}

#[test]
fn a_compound_command_needs_leave_for_every_part() {
    let policy = policy(&["Bash(git diff:*)", "Bash(ls:*)", "Bash(make && make test)"]);
    for command in
        ["git diff", "git diff | ls", "ls; git diff -- a", "make && make test", "git diff 2>/dev/null"]
    {
        assert_eq!(bash(&policy, command), Decision::Allow, "{command}");
    }
    for command in [
        "git diff; rm -rf x",
        "git diff && rm x",
        "git diff | sh",
        "git diff\nrm x",
        "git diff & rm x",
        "git diff $(rm x)",
        "git diff `rm x`",
        "git diff > x",
        "git diff >/etc/x",
        "git diff < x",
        "x=1 git diff",
        "git diff <(rm x)",
        "git diff # x\nrm x",
        "git diff ${x:=$(rm y)}",
        "make",
        "make && make test; rm x",
        "",
        ";",
        "git diff 'x",
        "\\git commit",
        "(git diff)",
    ] {
        assert_ne!(bash(&policy, command), Decision::Allow, "{command}");
    }
    let Decision::Deny(why) = bash(&policy, "git diff && rm x") else { panic!() };
    assert!(why.contains("`rm x`") && why.contains("Bash(git diff:*)"), "{why}");
}

#[test]
fn a_check_needs_no_leave_unless_a_rule_denies_it() {
    let checks = ["make test && ls $(pwd) > out".to_owned()];
    let free = policy(&["Bash(ls:*)"]).with_checks(&checks);
    assert_eq!(bash(&free, &format!(" {}\n", checks[0])), Decision::Allow);
    for command in ["make test", "make test && ls $(pwd) > out; rm x", "make test && ls $(rm x) > out"] {
        assert_ne!(bash(&free, command), Decision::Allow, "{command}");
    }
    for rule in ["!Bash(make:*)", "!Bash(ls:*)", "!Bash"] {
        assert_ne!(bash(&policy(&[rule]).with_checks(&checks), &checks[0]), Decision::Allow, "{rule}");
    }
}

#[test]
fn the_first_rule_that_stands_for_it_decides() {
    let first = policy(&["!Bash(rm:*)", "Bash"]);
    for command in ["rm x", "ls && rm x", "/bin/rm x", "$x y", "(rm x)", "ls $(rm x)", "git rm x"] {
        assert_ne!(bash(&first, command), Decision::Allow, "{command}");
    }
    for command in ["ls", "git rm-x", "ls > x"] {
        assert_eq!(bash(&first, command), Decision::Allow, "{command}");
    }
    let second = policy(&["Bash(rm build:*)", "!Bash(rm:*)", "Bash(*)"]);
    assert_eq!(bash(&second, "rm build -r"), Decision::Allow);
    assert_ne!(bash(&second, "rm x"), Decision::Allow);
    assert_eq!(bash(&policy(&["Bash", "!Bash(rm:*)"]), "(rm x) $(y)"), Decision::Allow);
    assert_ne!(bash(&policy(&[]), "ls"), Decision::Allow);
}

#[test]
fn a_redirection_needs_leave_for_its_file() {
    let rules = policy(&["Bash(echo:*)", "Edit(out/**)", "Read(in/**)"]);
    for command in ["echo x > out/a", "echo x >> /w/out/a", "echo x < in/a", "echo 2>&1"] {
        assert_eq!(bash(&rules, command), Decision::Allow, "{command}");
    }
    for command in ["echo x > a", "echo x > out/../a", "echo x > $y", "echo x < a", "echo x > out/*", "> a"] {
        assert_ne!(bash(&rules, command), Decision::Allow, "{command}");
    }
    // Where the shell may have gone elsewhere before, only an absolute path is sure.
    let moving = policy(&["Bash(echo:*)", "Bash(cd:*)", "Edit(out/**)"]);
    assert_ne!(bash(&moving, "cd /etc && echo x > out/a"), Decision::Allow);
    assert_eq!(bash(&moving, "cd /etc && echo x > /w/out/a"), Decision::Allow);
    let free = policy(&["!Edit(//etc/**)", "Bash"]);
    assert_ne!(bash(&free, "echo x > /etc/passwd"), Decision::Allow);
    assert_eq!(bash(&free, "echo x > /tmp/x"), Decision::Allow);
}

#[test]
fn other_tools_are_judged_by_name_host_or_kind() {
    let policy = policy(&["WebFetch(domain:docs.rs)", "mcp__x__*", "Agent(Explore)", "!Read(.env)", "Read"]);
    let decide = |tool: &str, input| policy.decide(tool, &input, Path::new("/w")) == Decision::Allow;
    assert!(decide("WebFetch", json!({"url": "https://docs.rs/x"})));
    assert!(!decide("WebFetch", json!({"url": "https://docs.rs.evil.com/"})));
    assert!(!decide("WebFetch", json!({"url": "https://docs.rs@evil.com/"})));
    assert!(decide("mcp__x__y", json!({})) && !decide("mcp__z__y", json!({})));
    assert!(decide("Task", json!({"subagent_type": "Explore"})));
    assert!(!decide("Task", json!({"subagent_type": "general-purpose"})) && !decide("Task", json!({})));
    assert!(
        decide("Read", json!({"file_path": "/w/a"})) && !decide("Read", json!({"file_path": "/w/b/.env"}))
    );
    assert!(!decide("Read", json!({})), "what it reads is not told");
    assert!(!decide("Grep", json!({"pattern": "KEY"})), "a search could come upon it");
    assert!(!decide("Edit", json!({"file_path": "/w/a"})));
}

#[test]
fn a_search_is_let_through_where_it_meets_nothing_denied() {
    let policy = policy(&["!Read(secret/**)", "Read"]);
    let decide = |input| policy.decide("Grep", &input, Path::new("/w")) == Decision::Allow;
    assert!(decide(json!({"pattern": "x", "path": "/w/src"})));
    for input in [json!({"pattern": "x"}), json!({"path": "/w/secret/a"}), json!({"path": "/"})] {
        assert!(!decide(input));
    }
}

#[test]
fn a_symlink_leads_no_rule_astray() {
    let home = tempfile::tempdir().unwrap();
    let top = home.path().canonicalize().unwrap();
    fs::create_dir_all(top.join("src")).unwrap();
    fs::create_dir_all(top.join("other")).unwrap();
    symlink(top.join("other"), top.join("src/out")).unwrap();
    symlink(top.join("src"), top.join("in")).unwrap();
    let rules = policy(&["Edit(src/**)"]);
    assert!(allows(&rules, "Write", &top.join("src/new/file"), &top));
    assert!(allows(&rules, "Write", &top.join("in/a"), &top));
    assert!(!allows(&rules, "Write", &top.join("src/out/a"), &top));
    assert!(!allows(&rules, "Edit", &top.join("src/../other/a"), &top));
    let denied = policy(&["!Edit(other/**)", "Edit"]);
    assert!(!allows(&denied, "Edit", &top.join("src/out/a"), &top));
}

/// A folder with `git`, which does nothing, and `evil`, which leaves a mark, as the only programs.
fn shell(top: &Path) {
    for (name, script) in [("git", "#!/bin/sh\nexit 0\n"), ("evil", "#!/bin/sh\n: > \"$MARK\"\n")] {
        let path = top.join("bin").join(name);
        fs::create_dir_all(top.join("bin")).unwrap();
        fs::create_dir_all(top.join("here")).unwrap();
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Runs it for real; whether anything but `git diff` came of it.
fn does_harm(top: &Path, command: &str) -> bool {
    let (marked, left) = run(top, command);
    marked || left
}

/// Runs it for real; whether `evil` ran, and whether a file was left.
fn run(top: &Path, command: &str) -> (bool, bool) {
    let mut child = Command::new("/bin/bash")
        .args(["--norc", "--noprofile", "-c", command])
        .env_clear()
        .env("PATH", top.join("bin"))
        .env("MARK", top.join("mark"))
        .env("x", "evil")
        .current_dir(top.join("here"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.wait().unwrap();
    let marked = fs::remove_file(top.join("mark")).is_ok();
    let left: Vec<_> = fs::read_dir(top.join("here")).unwrap().flatten().collect();
    for entry in &left {
        let _ = fs::remove_file(entry.path());
    }
    (marked, !left.is_empty())
}

#[test]
fn harm_is_seen() {
    let home = tempfile::tempdir().unwrap();
    shell(home.path());
    for command in ["git diff; evil", "git diff $(evil)", "git diff > f", "evil"] {
        assert!(does_harm(home.path(), command), "{command}");
    }
    assert!(!does_harm(home.path(), "git diff 'evil' > /dev/null"));
}

/// What a shell may read in its own way, and often the program that does harm.
fn pieces() -> impl Strategy<Value = String> {
    let signs = prop::sample::select(vec![
        "\n",
        ";",
        "&",
        "&&",
        "|",
        "||",
        "'",
        "\"",
        "\\",
        "$(",
        ")",
        "(",
        "`",
        "$x",
        "${x}",
        "${x@P}",
        "${",
        "}",
        "{",
        "#",
        ">",
        "<",
        ">>",
        "<<",
        "2",
        ">f",
        ">/dev/null",
        "!",
        "eval",
        "if",
        "then",
        "fi",
        "=",
        "x=",
        "*",
        "~",
        "$'",
        "$\"",
        "\t",
        "\r",
        "a",
        "-",
        "&>",
        "<(",
        "[[",
        "time",
        "diff",
        "git diff",
    ]);
    let piece = prop_oneof![3 => signs, 1 => Just("evil")];
    let spaced =
        (piece, any::<bool>()).prop_map(|(piece, space)| format!("{piece}{}", if space { " " } else { "" }));
    prop::collection::vec(spaced, 1..6).prop_map(|pieces| pieces.concat())
}

/// So many tries.
fn runner(cases: u32) -> TestRunner {
    TestRunner::new(ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() })
}

#[test]
fn what_is_let_through_does_nothing_else_in_a_real_shell() {
    let policy = policy(&["Bash(git diff:*)"]);
    let home = tempfile::tempdir().unwrap();
    shell(home.path());
    let tried = runner(4000).run(&(pieces(), any::<bool>()), |(rest, space)| {
        let command = format!("git diff{}{rest}", if space { " " } else { "" });
        let harmless = bash(&policy, &command) != Decision::Allow || !does_harm(home.path(), &command);
        prop_assert!(harmless, "{command:?}");
        Ok(())
    });
    tried.unwrap();
}

#[test]
fn no_path_leads_out_of_what_is_allowed() {
    let policy = policy(&["Edit(src/**)"]);
    let home = tempfile::tempdir().unwrap();
    let top = home.path().canonicalize().unwrap();
    let directory = top.join("w");
    fs::create_dir_all(directory.join("src/deep")).unwrap();
    fs::create_dir_all(top.join("out")).unwrap();
    symlink(top.join("out"), directory.join("src/link")).unwrap();
    symlink("../..", directory.join("src/deep/up")).unwrap();
    let name = prop::sample::select(vec!["..", ".", "src", "out", "deep", "new", "link", "up", "a"]);
    let tried = runner(2000).run(&prop::collection::vec(name, 1..8), |names| {
        let full = directory.join(names.join("/"));
        if allows(&policy, "Write", &full, &directory) {
            // Where the system itself would put it, as far as the way there exists.
            let parent = full.ancestors().skip(1).find(|parent| parent.exists()).unwrap();
            let real = full.canonicalize().or_else(|_| parent.canonicalize()).unwrap();
            let inside = real.starts_with(directory.join("src")) || directory.join("src").starts_with(&real);
            prop_assert!(
                inside && !real.starts_with(top.join("out")),
                "{} is {}",
                full.display(),
                real.display()
            );
        }
        Ok(())
    });
    tried.unwrap();
}

#[test]
fn what_is_denied_does_not_run_in_a_real_shell() {
    let policy = policy(&["!Bash(evil:*)", "Bash"]);
    let home = tempfile::tempdir().unwrap();
    shell(home.path());
    let tried = runner(1500).run(&pieces(), |command| {
        let held = bash(&policy, &command) != Decision::Allow || !run(home.path(), &command).0;
        prop_assert!(held, "{command:?}");
        Ok(())
    });
    tried.unwrap();
}
