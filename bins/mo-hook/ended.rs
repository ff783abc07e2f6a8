//! Which dispatches of a session have ended and were not told of yet. A record that mo-dispatch made under a
//! session's old id is put right before this is asked; everything here goes by the session alone.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use shared::document;
use shared::error::{Error, Result};
use shared::file;
use shared::process;
use shared::record::{Process, Status, is_session};
use shared::world::World;

/// With more sessions than this, what was told to those that are gone is forgotten.
const MANY: usize = 200;

/// The dispatches of one session.
#[derive(Debug)]
pub struct Dispatches {
    records: PathBuf,
    told: PathBuf,
}

impl Dispatches {
    /// Those of this session; nothing where it never dispatched anything, which costs one look.
    pub fn of(world: &World, session: &str) -> Result<Option<Self>> {
        if !is_session(session) {
            return Ok(None);
        }
        let records = world.paths.dispatches_of(session)?;
        if !records.is_dir() {
            return Ok(None);
        }
        Ok(Some(Self { records, told: told(world)?.join(session) }))
    }

    /// Those that have ended and were not told of.
    pub fn untold(&self) -> BTreeSet<String> {
        let told = names(&self.told);
        let open = names(&self.records).into_iter().filter(|id| !told.contains(id));
        open.filter(|id| has_ended(&self.records.join(id))).collect()
    }

    /// Notes that these are told now; tells whether any of them was not, also when several hooks run at once.
    pub fn tell(&self, ids: &BTreeSet<String>) -> Result<bool> {
        let failed = |error: io::Error| Error::io("cannot write", &self.told, &error);
        DirBuilder::new().recursive(true).mode(file::PRIVATE_DIR).create(&self.told).map_err(failed)?;
        let mut any = false;
        for id in ids {
            let mark =
                OpenOptions::new().write(true).create_new(true).mode(file::PRIVATE).open(self.told.join(id));
            match mark {
                Ok(_) => any = true,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(any)
    }
}

/// Whether any session ever dispatched anything.
pub fn any(world: &World) -> bool {
    world.paths.dispatches().is_ok_and(|sessions| sessions.is_dir())
}

/// Forgets what was told to sessions whose dispatches are gone.
pub fn forget_old(world: &World) -> Result<()> {
    let told = told(world)?;
    let sessions = names(&told);
    if sessions.len() > MANY {
        for session in sessions {
            if !world.paths.dispatches_of(&session)?.is_dir() {
                // What cannot be removed now will be another time.
                let _ = fs::remove_dir_all(told.join(session));
            }
        }
    }
    Ok(())
}

fn told(world: &World) -> Result<PathBuf> {
    Ok(world.paths.usage()?.join("told"))
}

fn names(directory: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// What of a record tells whether its dispatch has ended; the rest is skipped unread.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Standing {
    status: Option<Status>,
    pid: Option<u32>,
    start_time: Option<String>,
    supervisor: Option<Process>,
}

/// A dispatch that runs in the background has not; one whose processes vanished without a word has.
fn has_ended(record: &Path) -> bool {
    let Ok(Some(standing)) = document::read::<Standing>(record) else { return false };
    let lives = |pid: u32, start: &Option<String>| start.is_some() && process::start_time(pid) == *start;
    match standing.status {
        None | Some(Status::Queued) => false,
        Some(Status::Running) => {
            let supervised = standing.supervisor.as_ref().is_some_and(|one| lives(one.pid, &one.start_time));
            !supervised && !standing.pid.is_some_and(|pid| lives(pid, &standing.start_time))
        }
        Some(_) => true,
    }
}
