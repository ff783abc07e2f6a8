//! Gives a worker another name: its directory, its shim and its profile.

use std::fs;
use std::path::Path;

use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::lock::{self, Lock};
use shared::name::Name;
use shared::usage;
use shared::worker::{PROFILE, SHIM, Worker};
use shared::world::World;

use crate::{running, shim, taken};

/// Renames the worker. It is looked at first, so that a refusal makes nothing, and again under the lock.
pub fn run(world: &World, old: &Name, new: &Name) -> Result<Exit> {
    look(world, old, new)?;
    let _lock = Lock::acquire(&world.paths.workers_lock()?, lock::PATIENCE)?;
    let worker = look(world, old, new)?;
    running::refuse(world, old, &worker.projects())?;
    let place = world.paths.worker(new.as_str())?;
    // All that needs room on the disk is written before anything has another name.
    let root = world.paths.root()?;
    let ready = tempfile::Builder::new()
        .prefix(".new-")
        .tempdir_in(root)
        .map_err(|error| Error::io("cannot write", root, &error))?;
    shim::write(ready.path(), new)?;
    let mut files = vec![SHIM];
    let directory = worker.directory;
    if worker.profile.version > 0 {
        let mut profile = worker.profile;
        profile.name = new.to_string();
        profile.write(ready.path())?;
        files.push(PROFILE);
    }
    moved(&directory, &place)?;
    // The directory is the name; these follow it, and `doctor --fix` makes up for a crash in between.
    for file in files {
        moved(&ready.path().join(file), &place.join(file)).map_err(|error| {
            let next = format!("the worker is `{new}` now; `mo-worker doctor --fix` writes the rest");
            error.hint(next)
        })?;
    }
    usage::rename(&world.paths, old, new)?;
    world.say.note(&format!("worker `{old}` is now `{new}`"));
    Ok(Exit::Done)
}

fn look(world: &World, old: &Name, new: &Name) -> Result<Worker> {
    let worker = Worker::load(&world.paths, old)?;
    taken::refuse(new, &world.paths.worker(new.as_str())?)?;
    Ok(worker)
}

fn moved(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|error| Error::io("cannot rename", from, &error))
}
