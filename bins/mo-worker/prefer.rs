//! Which worker is taken when several could: one at most.

use shared::error::Result;
use shared::exit::Exit;
use shared::lock::{self, Lock};
use shared::name::Name;
use shared::roster;
use shared::worker::{Profile, Worker};
use shared::world::World;

/// Prefers this worker and no other; without a name, none.
pub fn run(world: &World, name: Option<&Name>) -> Result<Exit> {
    if let Some(name) = name {
        Worker::load(&world.paths, name)?;
    }
    let _lock = Lock::acquire(&world.paths.workers_lock()?, lock::PATIENCE)?;
    let workers = roster::read(&world.paths)?.into_iter().filter_map(|entry| entry.worker.ok());
    // The old one first: a crash in between leaves none, never two.
    let (mut wanted, others): (Vec<_>, Vec<_>) = workers.partition(|worker| Some(&worker.name) == name);
    for worker in others.into_iter().filter(|worker| worker.profile.preferred) {
        write(worker, false)?;
    }
    for worker in wanted.drain(..).filter(|worker| !worker.profile.preferred) {
        write(worker, true)?;
    }
    match name {
        Some(name) => world.say.note(&format!("worker `{name}` is preferred")),
        None => world.say.note("no worker is preferred"),
    }
    Ok(Exit::Done)
}

fn write(worker: Worker, preferred: bool) -> Result<()> {
    let name = worker.name.to_string();
    Profile { version: 1, name, preferred, ..worker.profile }.write(&worker.directory)
}
