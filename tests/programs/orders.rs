//! Who may steer a run: whoever can write beside its socket, so no worker in a sandbox.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use serde_json::Value;
use support::{Run, Running, World, wait_for};

use crate::identity::make;

/// In Claude Code's place: with a target it gives orders to that one, as often as `mo-spawn` itself would help it to;
/// otherwise it works until it is told to end.
const SCRIPT: &str = r#"
[ -n "$TARGET" ] || { : > "$HOME/up"; exec sleep 1000; }
"$MO" ps --json >/dev/null && echo "it sees what runs"
ls "$XDG_RUNTIME_DIR/mo" | grep -q "^$TARGET$" && echo "it sees the socket"
"$MO" stop "$TARGET" 2>&1; echo "stop $?"
"$MO" tell "$TARGET" 'touch escaped' 2>&1; echo "tell $?"
(: > "$XDG_RUNTIME_DIR/mo/0123456789abcdef0123456789abcdef") 2>/dev/null && echo "it writes a proof"
echo over
"#;

struct Scene {
    world: World,
}

impl Scene {
    fn new() -> Self {
        let world = World::new();
        make(&world, "w", true);
        world.fake("claude", SCRIPT);
        for name in ["here", "there"] {
            std::fs::create_dir(world.path(name)).unwrap();
        }
        Self { world }
    }

    fn spawn(&self, words: &[&str]) -> Run {
        let run = self.world.command(env!("CARGO_BIN_EXE_mo-spawn")).args(words.iter().copied());
        // Processes are compared by their true times.
        run.without("MODEL_ORCHESTRATION_NOW")
    }

    /// A run that works, and its id.
    fn target(&self) -> (Running, String) {
        let run = self.spawn(&["w", "--task", "-"]).stdin("work").cwd(self.world.path("there")).spawn();
        wait_for("the worker", || self.world.path("up").exists().then_some(()));
        let list: Value = self.spawn(&["ps", "--json"]).run().ok().json();
        let id = list["dispatches"][0]["id"].as_str().unwrap().to_owned();
        (run, id)
    }

    /// What a worker says that tries to steer this run.
    fn worker(&self, flags: &[&str], target: &str) -> String {
        let run = self.spawn(&[flags, &["w", "-p", "x"]].concat()).cwd(self.world.path("here"));
        let run = run.var("TARGET", target).var("MO", env!("CARGO_BIN_EXE_mo-spawn"));
        run.run().ok().text()
    }

    fn socket(&self, id: &str) -> PathBuf {
        self.world.home().with_file_name("run").join("mo").join(id)
    }

    /// The answer to a line of one's own.
    fn answer(&self, id: &str, line: &str) -> Value {
        let mut stream = UnixStream::connect(self.socket(id)).unwrap();
        writeln!(stream, "{line}").unwrap();
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    }

    fn runs(&self, id: &str) -> bool {
        let list: Value = self.spawn(&["ps", "--json"]).run().ok().json();
        list["dispatches"].as_array().unwrap().iter().any(|one| one["id"] == id)
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_worker_in_a_sandbox_steers_no_other_run() {
    let scene = Scene::new();
    let (run, id) = scene.target();
    let said = scene.worker(&["--sandbox"], &id);
    // It could look, so that what it could not do means something.
    assert!(said.starts_with("it sees what runs\nit sees the socket\n"), "{said}");
    assert!(
        said.contains("no order can be given from here") && said.contains("steers no other run"),
        "{said}"
    );
    assert!(said.contains("tell 78\n") && said.contains("stop 78\n"), "{said}");
    assert!(said.ends_with("over\n") && !said.contains("writes a proof"), "{said}");
    assert!(scene.runs(&id));
    scene.spawn(&["stop", &id]).run().ok().stdout_is(&format!("{id} cancelled\n"));
    run.wait().code(130);
}

#[test]
fn a_worker_without_a_sandbox_could_have_done_it() {
    let scene = Scene::new();
    let (run, id) = scene.target();
    let said = scene.worker(&[], &id);
    assert!(said.contains("stop 0\n") && said.ends_with("it writes a proof\nover\n"), "{said}");
    run.wait().code(130);
}

#[test]
fn an_order_that_anybody_could_give_is_not_obeyed() {
    let scene = Scene::new();
    let (run, id) = scene.target();
    let folder = scene.socket("");
    let proof = "p".repeat(32);
    std::fs::write(folder.join(&proof), format!("{id}\n{{\"do\":\"stop\"}}")).unwrap();
    std::fs::write(folder.with_file_name("elsewhere"), format!("{id}\n{{\"do\":\"stop\"}}")).unwrap();
    for line in [
        r#"{"do":"stop"}"#.to_owned(),
        r#"{"do":"stop","proof":""}"#.to_owned(),
        r#"{"do":"stop","proof":"../elsewhere"}"#.to_owned(),
        format!(r#"{{"do":"finish","proof":"{proof}"}}"#),
        format!(r#"{{"do":"tell","text":"x","proof":"{proof}"}}"#),
    ] {
        let answer = scene.answer(&id, &line);
        assert_eq!((&answer["ok"], &answer["error"]), (&false.into(), &"no order without its proof".into()));
    }
    assert!(scene.runs(&id) && folder.join(&proof).exists());
    let answer = scene.answer(&id, &format!(r#"{{"do":"stop","proof":"{proof}"}}"#));
    assert_eq!(answer["ok"], true, "{answer}");
    run.wait().code(130);
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
}

#[test]
fn a_sandbox_around_the_sockets_or_what_others_obey_is_refused() {
    let scene = Scene::new();
    let run = scene.world.home().with_file_name("run");
    std::fs::create_dir_all(run.join("mo")).unwrap();
    let link = scene.world.path("link");
    std::os::unix::fs::symlink(&run, &link).unwrap();
    let home = scene.world.home().to_owned();
    let root = scene.world.root();
    for place in [&run, &run.join("mo"), &link, &home, &root, &root.join("w"), &"/tmp".into(), &"/".into()] {
        let tried = scene.spawn(&["--sandbox", "w", "-p", "x"]).cwd(place).run();
        tried.code(78).stdout_is("").stderr_has("out of the worker's reach").stderr_has("--worktree");
    }
}
