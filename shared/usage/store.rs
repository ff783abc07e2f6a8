//! Where readings are kept: `.dispatch/usage/<worker>.json`, for the owner alone, every change under a lock.
//! Beside the reading stands how long the worker cools, and how polling it went.

use std::fs;
use std::io;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Reading, of_event};
use crate::document;
use crate::error::{Error, Result};
use crate::file::{self, Durability};
use crate::flatten::flatten;
use crate::lock::{self, Lock};
use crate::moment::Moment;
use crate::name::Name;
use crate::paths::Paths;

/// The longest reason that is kept.
const LONGEST: usize = 200;

/// Until when a worker is left alone, and why.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Cooling {
    /// Until then.
    pub until: Moment,
    /// Why.
    pub why: String,
}

/// How asking the account for its usage went.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Probing {
    /// When it was last asked.
    pub asked_at: Option<Moment>,
    /// How often in a row it gave nothing.
    pub failures: u32,
}

/// What is kept of one worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Account {
    /// The format: 1.
    pub version: u32,
    /// The worker.
    pub worker: String,
    /// What is known of its usage.
    pub reading: Option<Reading>,
    /// Until when it is left alone.
    pub cooling: Option<Cooling>,
    /// How asking went.
    pub probing: Probing,
}

impl Account {
    /// What keeps the worker from new work now.
    pub fn cooling(&self, now: Timestamp) -> Option<&Cooling> {
        self.cooling.as_ref().filter(|cooling| cooling.until.0 > now)
    }
}

/// What is kept of the worker. A damaged file holds nothing that the next reading does not bring again.
pub fn read(paths: &Paths, worker: &Name) -> Result<Account> {
    Ok(document::read(&path(paths, worker)?).ok().flatten().unwrap_or_default())
}

/// Takes in what a run told by itself; nothing where it told nothing.
pub fn note(paths: &Paths, worker: &Name, info: &Value, now: Timestamp) -> Result<()> {
    of_event(info, now).map_or(Ok(()), |reading| put(paths, worker, reading))
}

/// Takes in a reading; what only an older one knows is kept.
pub fn put(paths: &Paths, worker: &Name, reading: Reading) -> Result<()> {
    change(paths, worker, |account| account.reading = Some(reading.after(account.reading.take())))
}

/// Takes in the answer, or the failure, of a poll.
pub fn probed(paths: &Paths, worker: &Name, reading: Reading) -> Result<()> {
    change(paths, worker, |account| {
        let failed = reading.error.is_some();
        account.probing.asked_at = Some(reading.at);
        account.probing.failures = if failed { account.probing.failures.saturating_add(1) } else { 0 };
        account.reading = Some(reading.after(account.reading.take()));
    })
}

/// Leaves the worker alone until then; `None` for no longer.
pub fn cool(paths: &Paths, worker: &Name, cooling: Option<Cooling>) -> Result<()> {
    change(paths, worker, |account| {
        account.cooling = cooling.map(|cooling| Cooling { why: flatten(&cooling.why, LONGEST), ..cooling });
    })
}

/// Lets the usage follow a worker to its new name.
pub fn rename(paths: &Paths, old: &Name, new: &Name) -> Result<()> {
    let (from, to) = (path(paths, old)?, path(paths, new)?);
    gone_is_fine(fs::rename(&from, &to)).map_err(|error| Error::io("cannot rename", &from, &error))
}

/// Forgets a worker that is no more.
pub fn forget(paths: &Paths, worker: &Name) -> Result<()> {
    let path = path(paths, worker)?;
    gone_is_fine(fs::remove_file(&path)).map_err(|error| Error::io("cannot remove", &path, &error))
}

/// Held by the one process of this machine that polls accounts.
pub fn lock_path(paths: &Paths) -> Result<PathBuf> {
    Ok(directory(paths)?.join(".poll.lock"))
}

fn gone_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn change(paths: &Paths, worker: &Name, change: impl FnOnce(&mut Account)) -> Result<()> {
    let directory = directory(paths)?;
    file::create_private_dir(&directory)?;
    let _lock = Lock::acquire(&directory.join(".lock"), lock::PATIENCE)?;
    let mut account = read(paths, worker)?;
    let before = account.clone();
    (account.version, account.worker) = (1, worker.to_string());
    change(&mut account);
    if account == before {
        return Ok(());
    }
    document::replace(&path(paths, worker)?, &account, Durability::Lazy)
}

fn directory(paths: &Paths) -> Result<PathBuf> {
    Ok(paths.dispatch()?.join("usage"))
}

fn path(paths: &Paths, worker: &Name) -> Result<PathBuf> {
    Ok(directory(paths)?.join(format!("{worker}.json")))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::env::Env;
    use serde_json::json;

    fn home() -> (tempfile::TempDir, Paths, Name) {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::of(&[("HOME", home.path())].into_iter().collect::<Env>());
        (home, paths, Name::parse("work").unwrap())
    }

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    #[test]
    fn readings_add_up_and_are_for_the_owner_alone() {
        let (_home, paths, name) = home();
        let event = |window: &str, share: f64| json!({"rateLimitType": window, "utilization": share});
        note(&paths, &name, &event("five_hour", 0.5), second(0)).unwrap();
        note(&paths, &name, &event("seven_day", 0.25), second(1)).unwrap();
        note(&paths, &name, &json!({"odd": 1}), second(2)).unwrap();
        let windows = read(&paths, &name).unwrap().reading.unwrap().windows;
        let percents: Vec<_> = windows.iter().map(|one| one.percent).collect();
        assert_eq!(percents, [Some(50.0), Some(25.0)]);
        assert!(!file::is_open_to_others(&path(&paths, &name).unwrap()));
        fs::write(path(&paths, &name).unwrap(), "{").unwrap();
        assert_eq!(read(&paths, &name).unwrap(), Account::default());
        forget(&paths, &name).unwrap();
        forget(&paths, &name).unwrap();
    }

    #[test]
    fn a_worker_cools_until_its_time_and_no_longer() {
        let (_home, paths, name) = home();
        let cooling = Cooling { until: second(60).into(), why: "quota\u{1b}[2J".into() };
        cool(&paths, &name, Some(cooling)).unwrap();
        let account = read(&paths, &name).unwrap();
        assert_eq!(account.cooling(second(59)).unwrap().why, "quota [2J");
        assert_eq!(account.cooling(second(60)), None);
        let new = Name::parse("other").unwrap();
        rename(&paths, &name, &new).unwrap();
        assert!(read(&paths, &new).unwrap().cooling(second(0)).is_some());
        cool(&paths, &new, None).unwrap();
        assert_eq!(read(&paths, &new).unwrap().cooling, None);
    }

    #[test]
    fn crowds_of_writers_lose_nothing() {
        let (_home, paths, name) = home();
        let writers: Vec<_> = (0..16)
            .map(|writer| {
                let (paths, name) = (paths.clone(), name.clone());
                thread::spawn(move || {
                    let info = json!({"rateLimitType": format!("w{writer}"), "utilization": 0.1});
                    note(&paths, &name, &info, second(writer)).unwrap();
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        assert_eq!(read(&paths, &name).unwrap().reading.unwrap().windows.len(), 16);
    }

    #[test]
    fn failures_in_a_row_are_counted() {
        let (_home, paths, name) = home();
        let failed = |at| Reading { error: Some("429".into()), ..Reading::empty(second(at)) };
        probed(&paths, &name, failed(0)).unwrap();
        probed(&paths, &name, failed(1)).unwrap();
        assert_eq!(read(&paths, &name).unwrap().probing.failures, 2);
        probed(&paths, &name, Reading::empty(second(2))).unwrap();
        let probing = read(&paths, &name).unwrap().probing;
        assert_eq!((probing.failures, probing.asked_at), (0, Some(second(2).into())));
    }
}
