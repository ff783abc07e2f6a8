//! A confined worker tries everything, as a script in Claude Code's place: what must be refused, and what must work.

#[cfg(target_os = "linux")]
use std::net::TcpListener;
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use support::Output;
use support::{Run, World};

use crate::identity::make;
#[cfg(target_os = "linux")]
use crate::strace;

/// Tries each of its lines and notes how it went; then leaves a daemon behind that tries once more.
const TRIES: &str = r#"
attempt() { if (eval "$2") >/dev/null 2>&1; then echo "yes $1"; else echo "no $1"; fi; }
ROOT="$HOME/.claude-workers"
attempt home ': > "$HOME/new"'
attempt truncate ': > "$HOME/keep"'
attempt remove 'rm "$HOME/keep-rm"'
attempt rename 'mv "$HOME/keep-mv" here'
attempt rename-out 'echo x > moved && mv moved "$HOME/moved"'
attempt over 'echo x > over && mv -f over "$HOME/keep"'
attempt hardlink 'ln "$HOME/keep" linked && echo x > linked'
attempt symlink 'ln -s "$HOME/keep" sym && echo x > sym'
attempt symlink-dir 'ln -s "$HOME" symdir && echo x > symdir/new'
attempt proc 'echo x > /proc/self/root"$HOME"/new'
attempt cwd '(cd "$HOME" && echo x > new)'
attempt mkdir 'mkdir "$HOME/dir"'
attempt tmp ': > "$OUTSIDE_TMP/new"'
attempt hook 'echo evil > "$HOME/repo/.git/hooks/post-commit"'
attempt config 'git config user.name evil'
attempt main 'git update-ref refs/heads/main HEAD'
attempt branch 'git branch other'
attempt tag 'git tag evil'
attempt checkout 'echo x > "$HOME/repo/a"'
attempt other-tree 'echo x > "$HOME/other/a"'
attempt settings 'echo {} > "$ROOT/w/settings.json"'
attempt profile 'echo {} > "$ROOT/w/worker.json"'
attempt agent 'mkdir -p "$ROOT/w/agents"; echo x > "$ROOT/w/agents/x.md"'
attempt policy 'echo {} > "$ROOT/policy.json"'
attempt record 'for f in "$ROOT"/.dispatch/*/*.json; do echo {} > "$f"; done'
attempt sudo 'sudo -n true'
attempt work 'echo x > a && mkdir -p deep/er && echo y > deep/er/b && rm a && mv deep/er/b a'
attempt private 'echo x > "$TMPDIR/x" && mktemp'
attempt transcripts 'mkdir -p "$CLAUDE_CONFIG_DIR/projects/-x" && echo x > "$CLAUDE_CONFIG_DIR/projects/-x/y.jsonl"'
attempt null 'echo x > /dev/null'
attempt commit 'git add . && git -c user.name=w -c user.email=w@x commit -qm "by the worker"'
[ -n "$SPARE" ] || attempt signal 'kill -9 $PPID'
(setsid sh -c 'trap "" TERM; while :; do echo x > "$HOME/new" && exit; done' >/dev/null 2>&1 &)
echo over
"#;

/// What must be refused.
const REFUSED: &[&str] = &[
    "home",
    "truncate",
    "remove",
    "rename",
    "rename-out",
    "over",
    "hardlink",
    "symlink",
    "symlink-dir",
    "proc",
    "cwd",
    "mkdir",
    "tmp",
    "hook",
    "config",
    "main",
    "branch",
    "tag",
    "checkout",
    "other-tree",
    "settings",
    "profile",
    "agent",
    "policy",
    "record",
];
/// What must work.
const WORKS: &[&str] = &["work", "private", "transcripts", "null", "commit"];

/// A repository with a work tree as a dispatch has it, and another one.
fn world() -> (World, PathBuf) {
    let world = World::new();
    make(&world, "w", true);
    for name in ["keep", "keep-rm", "keep-mv"] {
        world.write(name, "kept");
    }
    let tree = world.path("trees/one");
    let script = "git init -q -b main repo && cd repo && git config user.name u && git config user.email u@x \
        && echo a > a && git add . && git commit -qm first \
        && git worktree add -q -b mo/d-one ../trees/one && git worktree add -q -b mo/d-two ../other";
    world.command("/bin/sh").args(["-c", script]).run().ok();
    (world, tree)
}

fn spawn(world: &World, tree: &Path) -> Run {
    world.command(env!("CARGO_BIN_EXE_mo-spawn")).args(["--sandbox", "w", "-p", "x"]).cwd(tree)
}

/// The variables that the script needs: where all temporary files are, and whether it spares its parent.
fn trying(run: Run, world: &World, spares: bool) -> Run {
    let run = run.var("OUTSIDE_TMP", world.home().with_file_name("tmp"));
    if spares { run.var("SPARE", "1") } else { run }
}

fn closed_files(world: &World) -> Vec<PathBuf> {
    world.files().into_iter().filter(|path| !is_open(path)).collect()
}

#[track_caller]
fn nothing_was_touched(world: &World, before: &[PathBuf], said: &str, refused: &[&str]) {
    for name in refused {
        assert!(said.contains(&format!("no {name}\n")), "{name}: {said}");
    }
    for name in WORKS {
        assert!(said.contains(&format!("yes {name}\n")), "{name}: {said}");
    }
    assert!(said.ends_with("over\n"), "{said}");
    assert_eq!(world.read("keep"), "kept");
    assert_eq!(before, closed_files(world));
    assert!(world.processes().is_empty(), "{:?}", world.processes());
    let git = world.command("/usr/bin/git").args(["-C", "repo", "log", "--format=%s", "mo/d-one"]);
    git.run().ok().stdout_is("by the worker\nfirst\n");
    // The private directory is gone.
    assert_eq!(std::fs::read_dir(world.home().with_file_name("tmp")).unwrap().count(), 0);
}

/// What may change.
fn is_open(path: &Path) -> bool {
    let text = path.to_string_lossy();
    [
        "trees/one/",
        "repo/.git/objects/",
        "repo/.git/worktrees/one/",
        "repo/.git/refs/heads/mo/",
        "repo/.git/logs/refs/heads/mo/",
        ".claude-workers/.dispatch/",
        ".claude-workers/w/projects/",
    ]
    .iter()
    .any(|open| text.starts_with(open))
}

#[cfg(target_os = "linux")]
#[test]
fn a_confined_worker_writes_nowhere_else() {
    let (world, tree) = world();
    world.fake("claude", TRIES);
    let before = closed_files(&world);
    let said = trying(spawn(&world, &tree), &world, false).run().ok().text();
    nothing_was_touched(&world, &before, &said, &[REFUSED, &["signal", "sudo"]].concat());
}

#[test]
fn without_a_sandbox_all_of_it_would_have_been_done() {
    let (world, tree) = world();
    world.fake("claude", TRIES);
    let run = world.command(env!("CARGO_BIN_EXE_mo-spawn")).args(["w", "-p", "x"]).cwd(&tree);
    let said = trying(run, &world, true).run().ok().text();
    for name in [REFUSED, WORKS].concat() {
        assert!(said.contains(&format!("yes {name}\n")), "{name}: {said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn bubblewrap_takes_over_where_the_kernel_has_no_landlock() {
    let (world, tree) = world();
    world.fake("claude", TRIES);
    let probe = world.command("/usr/bin/env").args(["bwrap", "--ro-bind", "/", "/", "true"]).run();
    let before = closed_files(&world);
    if let Some(output) = (probe.code == Some(0)).then(|| without_landlock(&world, &tree)).flatten() {
        nothing_was_touched(&world, &before, &output.ok().text(), REFUSED);
    }
}

#[test]
fn what_ties_the_work_tree_to_its_repository_is_put_back() {
    let (world, tree) = world();
    world.fake(
        "claude",
        "rm .git; mkdir -p .git/hooks; echo '[core]' > \"$HOME/repo/.git/worktrees/one/config.worktree\"",
    );
    spawn(&world, &tree).run().ok().stderr_has("put back");
    world.command("/usr/bin/git").args(["-C", "trees/one", "status", "--short"]).run().ok().stdout_is("");
    assert!(!world.path("repo/.git/worktrees/one/config.worktree").exists());
}

#[test]
fn the_top_of_a_repository_is_refused() {
    let (world, _) = world();
    world.fake("claude", "echo started");
    let run = spawn(&world, &world.path("repo")).run();
    run.code(78).stdout_is("").stderr_has("hooks").stderr_has("--worktree");
    spawn(&world, &world.path("trees")).run().ok().stdout_is("started\n");
}

/// A worker whose provider is at this URL.
fn worker_at(world: &World, name: &str, url: &str) {
    let create = world.command(env!("CARGO_BIN_EXE_mo-worker")).args(["create", name, "--base-url", url]);
    create.args(["--sonnet", "m"]).run().ok();
    world.command(env!("CARGO_BIN_EXE_mo-key")).arg(name).stdin("key-of-no-account-0123").run().ok();
}

#[cfg(target_os = "linux")]
#[test]
fn without_network_only_the_providers_port_is_left() {
    let (world, tree) = world();
    let [provider, other] = [(), ()].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [open, closed] = [&provider, &other].map(|one| one.local_addr().unwrap().port());
    worker_at(&world, "near", &format!("http://127.0.0.1:{open}"));
    world.fake(
        "claude",
        &format!(
            "for port in {open} {closed}; do bash -c \": > /dev/tcp/127.0.0.1/$port\" 2>/dev/null && echo $port; done; true"
        ),
    );
    let run = |flags: &[&str]| {
        let run = world.command(env!("CARGO_BIN_EXE_mo-spawn")).args(flags.iter().copied());
        run.args(["near", "-p", "x"]).cwd(&tree).run()
    };
    run(&["--sandbox"]).ok().stdout_is(&format!("{open}\n{closed}\n"));
    run(&["--sandbox", "--no-network"]).ok().stdout_is(&format!("{open}\n"));
    run(&["--no-network"]).code(64).stderr_has("--sandbox");
    worker_at(&world, "far", "https://provider.example");
    let far =
        world.command(env!("CARGO_BIN_EXE_mo-spawn")).args(["--sandbox", "--no-network", "far", "-p", "x"]);
    far.cwd(&tree).run().code(78).stdout_is("").stderr_has("--no-network");
}

/// Runs it on a kernel without Landlock, as far as it can tell; nothing where nobody may trace.
#[cfg(target_os = "linux")]
fn without_landlock(world: &World, tree: &Path) -> Option<Output> {
    const CALL: &str = "landlock_create_ruleset";
    strace::of(world, &[])?;
    let run = world.command("/usr/bin/env").args(["strace", "-f", "-qq", "-o", "/dev/null", "-e"]);
    let run = run.args([format!("trace={CALL}"), "-e".to_owned(), format!("inject={CALL}:error=ENOSYS")]);
    let run = run.args(["--", env!("CARGO_BIN_EXE_mo-spawn"), "--sandbox", "w", "-p", "x"]).cwd(tree);
    Some(trying(run, world, true).run())
}

#[cfg(target_os = "linux")]
#[test]
fn where_nothing_confines_nothing_runs() {
    let (world, tree) = world();
    world.fake("claude", "echo it ran");
    // A bubblewrap that may do nothing here, as in many containers.
    world.fake("bwrap", "exit 1");
    if let Some(output) = without_landlock(&world, &tree) {
        output.code(78).stdout_is("").stderr_has("no Landlock").stderr_has("install bubblewrap");
    }
}
