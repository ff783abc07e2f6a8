//! Gives a worker another name: its directory, its shim and its profile.

use std::fs;

use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::lock::{self, Lock};
use shared::name::Name;
use shared::worker::Worker;
use shared::world::World;

use crate::{running, shim};

/// Renames the worker.
pub fn run(world: &World, old: &Name, new: &Name) -> Result<Exit> {
    let _lock = Lock::acquire(&world.paths.workers_lock()?, lock::PATIENCE)?;
    let worker = Worker::load(&world.paths, old)?;
    running::refuse(world, old, &worker.projects())?;
    let place = world.paths.worker(new.as_str())?;
    if fs::symlink_metadata(&place).is_ok() {
        return Err(Error::new(Exit::CouldNot, format!("the name `{new}` is taken:")).at(&place));
    }
    fs::rename(&worker.directory, &place)
        .map_err(|error| Error::io("cannot rename", &worker.directory, &error))?;
    // The directory is the name; these two follow it, and `doctor --fix` makes up for a crash in between.
    shim::write(&place, new)?;
    if worker.profile.version > 0 {
        let mut profile = worker.profile;
        profile.name = new.to_string();
        profile.write(&place)?;
    }
    world.say.note(&format!("worker `{old}` is now `{new}`"));
    Ok(Exit::Done)
}
