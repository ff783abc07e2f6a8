//! What a worker is told besides its task: our words, its role's and the caller's, and none of them on a command line.

use crate::stage::Stage;

#[test]
fn a_worker_is_told_by_file_what_binds_it() {
    let stage = Stage::with_demo();
    stage.world.write("own.md", "words-of-the-caller for you alone");
    let look = "#bash tr '\\0' ' ' < /proc/$PPID/cmdline\n#report";
    let words =
        ["--role", "implementer", "--system-prompt-file", "own.md", "--permission-mode", "bypassPermissions"];
    let task = stage.spawn("demo").args(["--task", "-", "--allow", "Bash"]).args(words).stdin(look);
    let seen = task.run().text();
    assert!(seen.contains("--append-system-prompt-file"), "{seen}");
    assert!(!seen.contains("words-of-the-caller") && !seen.contains("list of files bind"), "{seen}");
    let first = stage.questions().into_iter().next().expect("a question");
    let told = first.everything();
    let place = |part: &str| told.find(part).unwrap_or_else(|| panic!("{part} was not told"));
    assert!(place("list of files bind you") < place("words-of-the-caller"), "ours, then the caller's");
    let file = stage.world.files().into_iter().find(|path| path.extension().is_some_and(|end| end == "told"));
    assert_eq!(stage.world.mode(file.expect("the file")), 0o600);
}

#[test]
fn a_projects_servers_start_only_for_a_worker_that_may_use_them() {
    let stage = Stage::with_demo();
    let server = r#"{"mcpServers": {"trap": {"command": "/bin/sh", "args": ["-c", "touch started"]}}}"#;
    stage.world.write("project/.mcp.json", server);
    let run = |words: &[&str]| {
        let task = stage.spawn("demo").args(["--task", "-"]).args(words.iter().copied()).stdin("#say x");
        task.cwd(stage.world.path("project")).run().ok();
        stage.world.path("project/started").exists()
    };
    assert!(!run(&[]), "nobody asked for it");
    assert!(run(&["--allow", "mcp__trap"]), "the test's own server does start");
}
