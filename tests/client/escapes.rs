//! A confined worker prepares what git obeys, for the git of ours that comes after it: none of it may run outside.

#![cfg(target_os = "linux")]

use serde_json::Value;

use crate::stage::Stage;

/// A stage with a repository whose configuration each work tree may have its own of.
fn stage() -> Stage {
    let stage = Stage::with_demo();
    let script = "mkdir victim && echo kept > .bashrc && git init -q -b main repo && cd repo \
        && git config user.name u && git config user.email u@x && git config extensions.worktreeConfig true \
        && mkdir sub && echo a > a && echo b > sub/b && git add . && git commit -qm first";
    stage.world.command("/bin/sh").args(["-c", script]).run().ok();
    stage
}

/// A filter that leaves a mark outside, with all that it sees of the environment.
fn filter(stage: &Stage) -> String {
    let victim = stage.world.path("victim").display().to_string();
    format!("filter.x.clean \"sh -c 'env > {victim}/escaped; cat'\"")
}

/// Does this in the sandbox, then whatever of ours looks at what is left. Tells what came of the run.
#[track_caller]
fn tried(stage: &Stage, place: &str, flags: &[&str], commands: &str, words: &str) -> Value {
    let home = stage.world.home().display();
    // What the worker itself may not do.
    let commands = format!("touch {home}/victim/direct 2>/dev/null\n{commands}");
    let run = |task: String| {
        let base = ["--task", "-", "--sandbox", "--json", "--permission-mode", "bypassPermissions"];
        let run = stage.spawn("demo").args(base).args(flags.iter().copied()).cwd(stage.world.path(place));
        run.var("ANTHROPIC_API_KEY", "the-managers-own").stdin(task).run()
    };
    let said: Value = run(format!("#bash <<DONE\n{commands}\nDONE\n#say {words}")).json();
    let untouched = |when: &str| {
        let left = std::fs::read_dir(stage.world.path("victim")).expect("it is there").count();
        assert_eq!((left, stage.world.read(".bashrc").as_str()), (0, "kept\n"), "{when}: {said:#}");
    };
    untouched("after the run");
    stage.world.command(env!("CARGO_BIN_EXE_mo-spawn")).args(["worktrees", "--all"]).run();
    untouched("after a look at the trees");
    run("#say again".to_owned());
    untouched("after another run there");
    stage.nothing_is_left();
    said
}

#[test]
fn a_submodule_of_its_own_making_is_not_obeyed() {
    let stage = stage();
    let filter = filter(&stage);
    let absolute = format!(
        "E=$PWD/evil; git init -q $E; cd $E; echo '* filter=x' > .git/info/attributes; echo q > q; git add q
git -c user.name=w -c user.email=w@x commit -qm q; git config {filter}; echo changed > q; cd ..
git update-index --add --cacheinfo 160000,$(git -C $E rev-parse HEAD),sub2; mkdir sub2; echo z > sub2/q
git config -f .gitmodules \"submodule.$E/.git.path\" sub2; echo evil/ > .gitignore"
    );
    tried(&stage, "repo", &["--worktree"], &absolute, "done");
    let absorbed = format!(
        "E=$(git rev-parse --absolute-git-dir)/modules/x; mkdir -p $(dirname $E); git init -q --separate-git-dir $E sub2
cd sub2; echo '* filter=x' > $E/info/attributes; echo q > q; git add q
git -c user.name=w -c user.email=w@x commit -qm q; git config {filter}; cd ..
git update-index --add --cacheinfo 160000,$(git -C sub2 rev-parse HEAD),sub2; echo z > sub2/q
git config -f .gitmodules submodule.x.path sub2; git add .gitmodules
git -c user.name=w -c user.email=w@x commit -qm all"
    );
    tried(&stage, "repo", &["--worktree"], &absorbed, "done");
}

#[test]
fn git_writes_through_no_link_and_waits_at_no_pipe() {
    let stage = stage();
    let home = stage.world.home().display().to_string();
    let links = format!(
        "G=$(git rev-parse --absolute-git-dir); ln -sf {home}/.bashrc $G/COMMIT_EDITMSG; mkdir -p $G/logs
rm -f $G/logs/HEAD; ln -s {home}/.bashrc $G/logs/HEAD; echo new > new"
    );
    let said = tried(&stage, "repo", &["--worktree"], &links, "touch /tmp/never");
    assert_eq!(said["status"], "done", "its work is committed all the same: {said:#}");
    let notes = said["notes"].to_string();
    assert!(notes.contains("COMMIT_EDITMSG") && notes.contains("put back"), "{said:#}");
    let pipe = "G=$(git rev-parse --absolute-git-dir); mkfifo $G/COMMIT_EDITMSG; echo new > new2";
    assert_eq!(tried(&stage, "repo", &["--worktree"], pipe, "done")["status"], "done");
}

#[test]
fn the_trees_own_configuration_is_put_back_before_anybody_looks() {
    let stage = stage();
    let filter = filter(&stage);
    let commands = format!(
        "G=$(git rev-parse --absolute-git-dir); git config -f $G/config.worktree {filter}
echo '* filter=x' > .gitattributes; echo z > a"
    );
    let flags = ["--worktree", "--check", "true", "--files", "a", "--files", ".gitattributes"];
    assert_eq!(tried(&stage, "repo", &flags, &commands, "done")["status"], "done");
}

#[test]
fn a_repository_planted_where_it_works_is_moved_aside() {
    let stage = stage();
    let filter = filter(&stage);
    let commands = format!(
        "git init -q .; git add b; git -c user.name=w -c user.email=w@x commit -qm q
echo '* filter=x' > .git/info/attributes; git config {filter}; echo z > b"
    );
    let said = tried(&stage, "repo/sub", &[], &commands, "done");
    assert!(said["notes"].to_string().contains(".git.of-the-worker"), "{said:#}");
    assert!(stage.world.path("repo/sub/.git.of-the-worker/config").exists(), "nothing is lost");
    let status = stage.world.command("/usr/bin/git").args(["-C", "repo/sub", "status", "--short"]).run().ok();
    assert!(
        status.text().contains("M b"),
        "it is a part of the repository around it again: {}",
        status.text()
    );
}
