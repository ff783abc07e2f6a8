//! What watches a worker is killed, and no worker outlives it: mo-spawn, its keepers, several of them at once.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use support::patience::{wait_for, wait_until, within};
use support::run::is_running;
use support::{Run, Running, World};

use crate::identity::make;

/// How many kills at random moments, and how many in `make soak`, which sets this variable.
const KILLS: usize = 24;
const SOAK: (&str, usize) = ("MO_SOAK", 1000);
/// The grace time, the last wait, and what a loaded machine adds.
const GRACE: Duration = Duration::from_secs(30);
/// Soon: far below the grace time.
const SOON: Duration = Duration::from_secs(7);

/// Ignores every polite signal, as do its shell child and its daemon.
const STUBBORN: &str = "trap '' TERM INT HUP\n\
    sleep 1000 >/dev/null 2>&1 &\n\
    setsid sh -c 'sleep 1000 & sleep 1000' >/dev/null 2>&1 &\n\
    echo started\nwhile :; do sleep 1000 >/dev/null 2>&1; done";

/// Has the same family and lets itself be told.
const TAME: &str = "sleep 1000 >/dev/null 2>&1 &\n\
    setsid sh -c 'sleep 1000 & sleep 1000' >/dev/null 2>&1 &\n\
    echo started\nwait";

fn world(claude: &str) -> World {
    let world = World::new();
    make(&world, "w", true);
    world.fake("claude", claude);
    world
}

fn spawn(world: &World) -> Run {
    world.command(env!("CARGO_BIN_EXE_mo-spawn")).args(["w", "-p", "x"])
}

fn record(world: &World) -> Value {
    let files = world.files();
    let file = files.iter().find(|path| {
        path.to_string_lossy().contains(".dispatch/2") && path.extension().is_some_and(|end| end == "json")
    });
    serde_json::from_slice(&world.bytes(file.unwrap())).unwrap()
}

/// The keepers, outer and inner.
fn keepers(world: &World) -> (Option<u32>, Option<u32>) {
    let processes = world.processes();
    let of = |stage: &str| {
        let is =
            |line: &str| line.starts_with("mo-keeper ") && line.contains(&format!("\"stage\":\"{stage}\""));
        processes.iter().find(|(_, line)| is(line)).map(|(pid, _)| *pid)
    };
    (of("outer"), of("inner"))
}

fn both(world: &World) -> (u32, u32) {
    wait_for("both keepers", || {
        let (outer, inner) = keepers(world);
        outer.zip(inner)
    })
}

fn kill(pid: u32) {
    // One that has ended meanwhile is as good.
    let _ = kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL);
}

#[track_caller]
fn nothing_is_left(world: &World, limit: Duration) {
    let gone = within(limit, || world.processes().is_empty().then_some(()));
    assert!(gone.is_some(), "left behind: {:#?}", world.processes());
}

/// Who is killed in one go.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Victim {
    Spawn,
    Outer,
    Inner,
}
use Victim::{Inner, Outer, Spawn};

const GROUPS: [&[Victim]; 6] =
    [&[Spawn], &[Outer], &[Inner], &[Spawn, Outer], &[Spawn, Inner], &[Outer, Inner]];

fn kill_all(world: &World, running: &Running, victims: &[Victim]) {
    let (outer, inner) = keepers(world);
    for victim in victims {
        match victim {
            Spawn => kill(running.id()),
            Outer => outer.into_iter().for_each(kill),
            Inner => inner.into_iter().for_each(kill),
        }
    }
}

#[test]
fn a_stubborn_worker_ends_with_whoever_watched_it() {
    let started: Vec<_> = GROUPS
        .iter()
        .map(|victims| {
            let world = world(STUBBORN);
            let mut running = spawn(&world).spawn();
            running.wait_for_stdout("started");
            both(&world);
            wait_until("the whole family", || world.processes().len() >= 9);
            (victims, world, running)
        })
        .collect();
    for (victims, world, running) in &started {
        kill_all(world, running, victims);
    }
    for (victims, world, running) in started {
        nothing_is_left(&world, GRACE);
        let output = running.wait();
        if victims.contains(&Spawn) {
            output.signalled(9);
            continue;
        }
        output.code(137);
        let record = record(&world);
        assert_eq!(record["status"], "cancelled", "{victims:?}: {record:#}");
    }
}

#[test]
fn killed_at_any_moment_whoever_it_is_nothing_is_left_soak() {
    #[expect(clippy::disallowed_methods, reason = "a long run is asked for by the environment")]
    let kills = if std::env::var_os(SOAK.0).is_some() { SOAK.1 } else { KILLS };
    // The same moments every time, spread over the start and the run.
    let mut chance = 0x9e37_79b9_7f4a_7c15_u64;
    let world = world(TAME);
    for round in 0..kills {
        let running = spawn(&world).spawn();
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        within(Duration::from_micros(chance % 40_000), || None::<()>);
        let victims = GROUPS[round % GROUPS.len()];
        kill_all(&world, &running, victims);
        // Where its keepers were not there yet it would go on.
        let _ = kill_process(Pid::from_raw(running.id().cast_signed()).unwrap(), Signal::TERM);
        running.wait();
        let gone = within(SOON, || world.processes().is_empty().then_some(()));
        assert!(gone.is_some(), "round {round}, {victims:?}: {:#?}", world.processes());
    }
}

#[test]
fn the_place_stays_taken_until_the_last_process_is_gone() {
    let world = world(STUBBORN);
    let profile = world.read(".claude-workers/w/worker.json");
    let limited = profile.replace("\"max_parallel\": null", "\"max_parallel\": 1");
    world.write(".claude-workers/w/worker.json", limited);
    let mut first = spawn(&world).spawn();
    first.wait_for_stdout("started");
    first.signal(9);
    // For the whole time of grace.
    spawn(&world).run().code(75).stderr_has("at its limit of 1");
    assert!(!world.processes().is_empty());
    nothing_is_left(&world, GRACE);
    first.wait().signalled(9);
    world.fake("claude", "echo well");
    spawn(&world).run().ok();
}

#[cfg(target_os = "linux")]
#[test]
fn when_all_that_watch_are_killed_at_once_the_kernel_ends_claude() {
    let world = world(STUBBORN);
    let mut running = spawn(&world).spawn();
    running.wait_for_stdout("started");
    let (outer, inner) = both(&world);
    let claude = u32::try_from(record(&world)["pid"].as_u64().unwrap()).unwrap();
    assert!(is_running(claude));
    for pid in [running.id(), outer, inner] {
        kill(pid);
    }
    wait_until("Claude Code's end", || !is_running(claude));
    // What it started is left, and carries the dispatch.
    for (pid, line) in world.processes() {
        let env = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        assert!(String::from_utf8_lossy(&env).contains("MO_DISPATCH=d-"), "{line}");
        kill(pid);
    }
    running.wait().signalled(9);
}

#[test]
fn the_worker_gets_its_three_streams_and_nothing_of_ours() {
    let world = world(
        "trap - TERM; for fd in /proc/$$/fd/*; do echo \"${fd##*/} $(readlink $fd)\"; done > \"$HOME/fds\"\n\
         ps -o pid=,ppid=,pgid=,comm= -p $$,$PPID > \"$HOME/family\"; env > \"$HOME/env\"; cat; exit 9",
    );
    let input = world.write("input", "from the file");
    let profile = world.read(".claude-workers/w/worker.json");
    let limited = profile.replace("\"max_parallel\": null", "\"max_parallel\": 3");
    world.write(".claude-workers/w/worker.json", limited);
    let claude = world.home().with_file_name("fakes").join("claude");
    world.command(claude).stdin_file(&input).run().code(9).stdout_is("from the file");
    // Whatever the shell, and whoever runs this test, has open.
    let alone = world.read("fds").lines().count();
    spawn(&world).stdin_file(&input).run().code(9).stdout_is("from the file");
    let fds = world.read("fds");
    assert!(fds.contains(&format!("0 {}", input.display())), "{fds}");
    assert!(!fds.contains("socket:") && !fds.contains("slots"), "{fds}");
    assert_eq!(fds.lines().count(), alone, "{fds}");
    let (family, pid) = (world.read("family"), record(&world)["pid"].to_string());
    assert!(
        family.lines().any(|line| line.split_whitespace().filter(|word| *word == pid).count() == 2),
        "{family}"
    );
    assert!(family.contains("mo-keeper"), "{family}");
    assert!(world.read("env").contains("MO_DISPATCH=d-"));
}

#[test]
fn a_signal_that_ends_claude_is_told_exactly() {
    for (signal, code) in [("KILL", 137), ("TERM", 143), ("SEGV", 139), ("USR1", 138)] {
        let world = world(&format!("kill -{signal} $$"));
        spawn(&world).run().code(code);
        assert_eq!(record(&world)["exit_code"], code);
    }
}

#[test]
fn nobody_else_is_a_keeper() {
    let world = world("true");
    let keep = || world.command(env!("CARGO_BIN_EXE_mo-spawn")).arg("@keep");
    keep().run().code(64).stderr_has("is for mo-spawn itself");
    let orders = r#"{"stage":"inner","above":1,"dispatch":null,"keep_background":false}"#;
    keep().args([orders, "claude"]).run().code(64).stderr_has("is for mo-spawn itself");
}
