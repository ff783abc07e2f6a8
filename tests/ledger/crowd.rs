//! Many processes at once, and processes that are killed: the built program over transcripts that grow.

use crate::audit::{Audit, line};
use crate::corpus::{Chance, home};
use crate::home::{counted, updated, world};
use crate::reference::{File, Known, count_known};
use crate::served::ids;
use shared::ledger::{Budget, update};
use shared::lock::Lock;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::golden::differences;

const KILLS: usize = 100;
/// How many in `make soak`, which sets this variable.
const SOAK: (&str, usize) = ("MO_SOAK", 1000);
const PROCESSES: usize = 32;

fn start(home: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_mo-ledger"))
        .args(["update", "--quiet"])
        .env_clear()
        .env("HOME", home)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Adds a part of each file; true when all are whole.
fn grow(chance: &mut Chance, at: &Path, files: &[File], sizes: &mut [usize]) -> bool {
    for (file, size) in files.iter().zip(sizes.iter_mut()) {
        let left = file.bytes.len() - *size;
        if left == 0 || chance.one_in(2) {
            continue;
        }
        let more = if left < 400 { left } else { 1 + chance.below(left / 3) };
        let path = at.join(&file.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut on_disk = OpenOptions::new().append(true).create(true).open(path).unwrap();
        on_disk.write_all(&file.bytes[*size..*size + more]).unwrap();
        *size += more;
    }
    files.iter().zip(sizes).all(|(file, size)| file.bytes.len() == *size)
}

fn check(at: &Path, files: &[File], known: &Known, what: &str) {
    let world = world(at);
    updated(&world);
    let wrong = differences("", &count_known(files, known), &counted(&world));
    assert!(wrong.is_empty(), "{what}: {wrong:#?}");
}

#[test]
fn processes_that_are_killed_at_any_moment_lose_nothing_soak() {
    #[expect(clippy::disallowed_methods, reason = "a long run is asked for by the environment")]
    let kills = if std::env::var_os(SOAK.0).is_some() { SOAK.1 } else { KILLS };
    let dir = tempfile::tempdir().unwrap();
    let mut chance = Chance::new(99);
    let files = home(&mut chance, kills * 2);
    let mut sizes = vec![0; files.len()];
    let mut longest = Duration::from_millis(10);
    let (mut known, mut audit) = (Known::default(), Audit::at(dir.path()));
    let mut served = ids(&files).into_iter().step_by(2);
    for kill in 0..kills {
        for (session, id) in served.by_ref().take(1 + kill % 2) {
            audit.append(&line(&session, &id, Some("kimi")));
            known.served.entry((session, id)).or_default().insert("kimi".to_owned());
        }
        match kill % 10 {
            3 => audit.rotate(),
            6 => audit.pack(),
            _ => {}
        }
        grow(&mut chance, dir.path(), &files, &mut sizes);
        let mut child = start(dir.path());
        let begun = Instant::now();
        let moment = longest * chance.below(1000) as u32 / 1000;
        // Any instant of its life: nothing can be waited for that would name one.
        while begun.elapsed() < moment && child.try_wait().unwrap().is_none() {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if kill % 10 == 0 {
            let begun = Instant::now();
            assert!(start(dir.path()).wait().unwrap().success());
            longest = begun.elapsed();
        }
    }
    while !grow(&mut chance, dir.path(), &files, &mut sizes) {}
    check(dir.path(), &files, &known, "after the kills");
}

#[test]
fn thirty_two_processes_at_once_lose_no_update() {
    let dir = tempfile::tempdir().unwrap();
    let mut chance = Chance::new(5);
    let files = home(&mut chance, 300);
    let mut sizes = vec![0; files.len()];
    let mut children = Vec::new();
    let mut is_whole = false;
    while !is_whole || children.len() < PROCESSES {
        is_whole = grow(&mut chance, dir.path(), &files, &mut sizes);
        if children.len() < PROCESSES {
            children.push(start(dir.path()));
        }
    }
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    check(dir.path(), &files, &Known::default(), "after all of them");
}

#[test]
fn a_hook_does_not_wait_for_a_long_update() {
    let dir = tempfile::tempdir().unwrap();
    let world = world(dir.path());
    let path = dir.path().join(".claude/projects/-p/s.jsonl");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "{}\n").unwrap();
    let lock = Lock::try_acquire(&{
        fs::create_dir_all(world.paths.usage().unwrap()).unwrap();
        world.paths.usage().unwrap().join("lock")
    });
    let held = lock.unwrap().unwrap();
    let begun = Instant::now();
    assert!(update(&world, &Budget::HOOK).unwrap().busy);
    assert!(begun.elapsed() < Duration::from_secs(5), "far above the deadline even on a busy machine");
    drop(held);
    assert!(update(&world, &Budget::HOOK).unwrap().changed);
}
