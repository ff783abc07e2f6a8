//! An update stopped at every write, rename, truncation and sync, by a kill or by a power cut: the next one
//! counts right.

use crate::audit::{Audit, line};
use crate::corpus::{Chance, home};
use crate::home::{counted, published, world};
use crate::reference::{File, Known, count_known};
use crate::served::ids;
use shared::ledger::disk::{Disk, RealDisk};
use shared::ledger::{Budget, rebuild_on, update_on};
use std::fs;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use support::golden::differences;

/// A disk that dies at its n-th change, in the middle of it. With a power cut, what was not synced is gone.
#[derive(Default)]
struct Dying {
    after: Option<usize>,
    power_cut: bool,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    changes: usize,
    dead: bool,
    unsynced: Vec<Undo>,
}

/// What a file held before a write that was not synced.
struct Undo {
    file: fs::File,
    inode: u64,
    bytes: Vec<u8>,
}

impl Dying {
    fn at(after: usize, power_cut: bool) -> Self {
        Self { after: Some(after), power_cut, log: Mutex::default() }
    }

    fn changes(&self) -> usize {
        self.log.lock().unwrap().changes
    }

    /// Whether this change still happens whole, in part, or not at all.
    fn step(&self, touched: Option<&fs::File>) -> io::Result<bool> {
        let mut log = self.log.lock().unwrap();
        if log.dead {
            return Err(io::Error::other("dead"));
        }
        if let Some(file) = touched {
            let mut bytes = vec![0; file.metadata()?.len() as usize];
            file.read_exact_at(&mut bytes, 0)?;
            log.unsynced.push(Undo { file: file.try_clone()?, inode: file.metadata()?.ino(), bytes });
        }
        log.changes += 1;
        log.dead = self.after == Some(log.changes - 1);
        Ok(!log.dead)
    }

    fn die(&self) -> io::Error {
        let mut log = self.log.lock().unwrap();
        if self.power_cut {
            while let Some(undo) = log.unsynced.pop() {
                undo.file.set_len(0).unwrap();
                undo.file.write_all_at(&undo.bytes, 0).unwrap();
            }
        }
        io::Error::other("died")
    }
}

impl Disk for Dying {
    fn make_dir(&self, dir: &Path) -> io::Result<()> {
        RealDisk.make_dir(dir)
    }

    fn open(&self, path: &Path, empty: bool) -> io::Result<fs::File> {
        if !empty {
            return if self.log.lock().unwrap().dead {
                Err(io::Error::other("dead"))
            } else {
                RealDisk.open(path, false)
            };
        }
        let old = RealDisk.open(path, false)?;
        if self.step(Some(&old))? { RealDisk.open(path, true) } else { Err(self.die()) }
    }

    fn write(&self, file: &fs::File, bytes: &[u8], offset: u64) -> io::Result<()> {
        if self.step(Some(file))? {
            return RealDisk.write(file, bytes, offset);
        }
        RealDisk.write(file, &bytes[..bytes.len() / 2], offset)?;
        Err(self.die())
    }

    fn set_length(&self, file: &fs::File, length: u64) -> io::Result<()> {
        if self.step(Some(file))? { RealDisk.set_length(file, length) } else { Err(self.die()) }
    }

    fn sync(&self, file: &fs::File) -> io::Result<()> {
        if !self.step(None)? {
            return Err(self.die());
        }
        let inode = file.metadata()?.ino();
        self.log.lock().unwrap().unsynced.retain(|undo| undo.inode != inode);
        RealDisk.sync(file)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        if self.step(None)? { RealDisk.rename(from, to) } else { Err(self.die()) }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        if self.step(None)? { RealDisk.remove(path) } else { Err(self.die()) }
    }
}

/// A home with a ledger that is not up to date: rows were added, a file was replaced, one is gone, a dispatch was
/// recorded, and the audit names workers, of which the ledger knows some.
struct Stale {
    before: tempfile::TempDir,
    expected: serde_json::Value,
}

fn lay(home: &Path, files: &[File]) {
    for file in files {
        let path = home.join(&file.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &file.bytes).unwrap();
    }
}

fn stale() -> Stale {
    let before = tempfile::tempdir().unwrap();
    let mut files = home(&mut Chance::new(7), 40);
    let half: Vec<File> = files
        .iter()
        .enumerate()
        .filter(|(at, _)| at % 5 != 1)
        .map(|(_, file)| File { bytes: file.bytes[..file.bytes.len() * 2 / 3].to_vec(), ..file.clone() })
        .collect();
    lay(before.path(), &half);
    let (mut known, mut audit) = (Known::default(), Audit::at(before.path()));
    let mut serve = |nth: usize| {
        for (session, id) in ids(&files).into_iter().skip(nth).step_by(6) {
            audit.append(&line(&session, &id, Some("kimi")));
            known.served.entry((session, id)).or_default().insert("kimi".to_owned());
        }
        audit.rotate();
    };
    serve(0);
    let world = world(before.path());
    update_on(&RealDisk, &world, &Budget::WHOLE, &|_, _| {}, &|_, _, _| None).unwrap();
    serve(3);
    lay(before.path(), &files);
    let records = before.path().join(".claude-workers/.dispatch/2026-11");
    fs::create_dir_all(&records).unwrap();
    let session = files[0].path.rsplit('/').next().unwrap().trim_end_matches(".jsonl").to_owned();
    let record = serde_json::json!({
        "version": 1, "id": "d-1", "worker": files[0].worker, "manager_session": "the-manager",
        "worker_sessions": [session], "started_at": "2026-11-01T00:00:00Z", "status": "done",
    });
    fs::write(records.join("d-1.json"), record.to_string()).unwrap();
    known.dispatched.insert(session, (files[0].worker.clone(), "the-manager".to_owned()));
    let expected = count_known(&files, &known);
    // Gone after it was counted.
    files.truncate(files.len() - 1);
    Stale { before, expected }
}

/// A copy with the times kept, so that the ledger in it knows the files again by their content alone.
fn copy(from: &Path) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    let done = Command::new("cp").arg("-a").arg(from.join(".")).arg(to.path()).status().unwrap();
    assert!(done.success());
    to
}

type Act = fn(&dyn Disk, &shared::world::World) -> shared::error::Result<()>;

fn update(disk: &dyn Disk, world: &shared::world::World) -> shared::error::Result<()> {
    update_on(disk, world, &Budget::HOOK, &|_, _| {}, &|_, _, _| None).map(|_| ())
}

fn rebuild(disk: &dyn Disk, world: &shared::world::World) -> shared::error::Result<()> {
    rebuild_on(disk, world, &|_, _| {}, &|_, _, _| None).map(|_| ())
}

/// Stops `act` at each of its changes and lets an undisturbed update follow.
fn stop_everywhere(act: Act, prepare: fn(&Path), least: usize) {
    let stale = stale();
    let whole = Dying::default();
    let home = copy(stale.before.path());
    prepare(home.path());
    act(&whole, &world(home.path())).unwrap();
    let changes = whole.changes();
    assert!(changes >= least, "only {changes} changes were seen");
    for power_cut in [false, true] {
        for after in 0..changes {
            let home = copy(stale.before.path());
            prepare(home.path());
            let world = world(home.path());
            let disk = Dying::at(after, power_cut);
            // Removing what no longer counts may fail unseen; everything else must be told.
            let ended = act(&disk, &world);
            assert!(ended.is_err() || after + 1 >= least, "change {after} failed and nobody was told");
            update(&RealDisk, &world).unwrap();
            let wrong = differences("", &stale.expected, &counted(&world));
            assert!(
                wrong.is_empty(),
                "stopped at change {after} of {changes}, power cut {power_cut}: {wrong:#?}"
            );
            let shown = published(&world);
            assert_eq!(shown.totals.fresh, stale.expected["totals"]["fresh"]);
            assert_eq!(shown.sessions.len(), stale.expected["by_manager"].as_object().unwrap().len());
        }
    }
}

#[test]
fn an_update_can_stop_at_any_change() {
    stop_everywhere(update, |_| {}, 8);
}

#[test]
fn a_rebuild_can_stop_at_any_change() {
    stop_everywhere(rebuild, |_| {}, 10);
}

#[test]
fn a_recovery_can_stop_at_any_change() {
    let damage = |home: &Path| {
        let path = home.join(".claude-workers/.usage/state");
        let mut bytes = fs::read(&path).unwrap();
        bytes[60] ^= 1;
        fs::write(&path, bytes).unwrap();
    };
    stop_everywhere(update, damage, 10);
}

#[test]
fn a_damaged_record_is_told_and_history_is_kept() {
    let stale = stale();
    let home = copy(stale.before.path());
    let world = world(home.path());
    update(&RealDisk, &world).unwrap();
    fs::remove_dir_all(home.path().join(".claude")).unwrap();
    let facts = home.path().join(".claude-workers/.usage/facts.0");
    let all = fs::read(&facts).unwrap();
    // A session's record: nothing of it is lost, for the messages say what it says.
    let at = all.chunks(128).rposition(|record| record[0] == 4).unwrap() * 128;
    let mut broken = all.clone();
    broken[at + 30] ^= 1;
    fs::write(&facts, &broken).unwrap();
    fs::remove_file(home.path().join(".claude-workers/.usage/index.0.0")).unwrap();
    let outcome = update_on(&RealDisk, &world, &Budget::HOOK, &|_, _| {}, &|_, _, _| None).unwrap();
    assert!(outcome.set_aside.is_some());
    let found = counted(&world);
    for name in ["totals", "no_id", "by_model", "by_day", "by_session"] {
        let wrong = differences(name, &stale.expected[name], &found[name]);
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

#[test]
fn a_damaged_word_of_the_audit_is_still_on_the_message() {
    let stale = stale();
    let home = copy(stale.before.path());
    let world = world(home.path());
    update(&RealDisk, &world).unwrap();
    fs::remove_dir_all(home.path().join(".claude-workers/.proxy")).unwrap();
    lay(
        home.path(),
        &[File { path: ".claude/projects/-p/new.jsonl".into(), bytes: b"{}\n".into(), ..File::default() }],
    );
    let facts = home.path().join(".claude-workers/.usage/facts.0");
    let mut all = fs::read(&facts).unwrap();
    let words: Vec<usize> = (0..all.len()).step_by(128).filter(|at| all[*at] == 6).collect();
    assert!(!words.is_empty());
    for at in words {
        all[at + 20] ^= 1;
    }
    fs::write(&facts, &all).unwrap();
    fs::remove_file(home.path().join(".claude-workers/.usage/index.0.0")).unwrap();
    let outcome = update_on(&RealDisk, &world, &Budget::HOOK, &|_, _| {}, &|_, _, _| None).unwrap();
    assert!(outcome.set_aside.is_some());
    let wrong = differences("", &stale.expected, &counted(&world));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_change_passes_the_disk_by() {
    let stale = stale();
    let home = copy(stale.before.path());
    let disk = Dying::default();
    update(&disk, &world(home.path())).unwrap();
    let home = copy(stale.before.path());
    let trace = home.path().join("trace");
    let calls = "trace=write,pwrite64,writev,pwritev,pwritev2,rename,renameat,renameat2,ftruncate,truncate,fsync,fdatasync,\
                 msync,unlink,unlinkat,openat,open,creat,link,linkat,symlink,symlinkat,fallocate,copy_file_range";
    let traced = Command::new("strace")
        .args(["-f", "-y", "-s", "0", "-e", calls, "-o"])
        .arg(&trace)
        .arg(env!("CARGO_BIN_EXE_mo-ledger"))
        .args(["update", "--quiet"])
        .env_clear()
        .env("HOME", home.path())
        .status();
    // Not every machine has strace, or lets it trace.
    let Ok(true) = traced.map(|status| status.success()) else { return };
    let text = fs::read_to_string(trace).unwrap();
    let changes: Vec<&str> = text
        .lines()
        .filter(|line| line.contains(".usage/"))
        .filter(|line| !line.contains("openat(") || line.contains("O_TRUNC"))
        .filter(|line| !line.contains("resumed>"))
        .collect();
    assert_eq!(changes.len(), disk.changes(), "{changes:#?}");
}
