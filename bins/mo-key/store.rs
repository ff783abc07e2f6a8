//! Where a key is kept: in the worker's settings, or as a command in its profile; never in both.

use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::lock::{self, Lock};
use shared::name::Name;
use shared::secret::Secret;
use shared::settings::PLACEHOLDER;
use shared::worker::{Kind, Worker};
use shared::world::World;

use crate::stale;

/// Stores a key. The worker is looked at first, so that nobody types a key in vain.
pub fn key(world: &World, name: &Name, ask: fn(&World, &Name) -> Result<Secret>) -> Result<Exit> {
    refuse_account(&Worker::load(&world.paths, name)?)?;
    let key = ask(world, name)?;
    let _lock = Lock::acquire(&world.paths.workers_lock()?, lock::PATIENCE)?;
    let worker = again(world, name)?;
    // First what the last check said goes: a new key must not be called live, should the second write fail.
    changed(&worker, None)?;
    worker.settings.set(worker.profile.auth.variable(), key.reveal())?;
    world.say.note(&format!("stored the key {} for worker `{name}`", key.masked()));
    world.say.hint(&format!("`mo-worker check {name}` proves that it works"));
    Ok(Exit::Done)
}

/// Stores the command that prints the key; a key that was stored before goes.
pub fn command(world: &World, name: &Name, command: &str) -> Result<Exit> {
    if command.trim().is_empty() {
        return Err(Error::new(Exit::Usage, "the command is empty")
            .hint("give one that prints the key, like 'pass show glm'"));
    }
    refuse_account(&Worker::load(&world.paths, name)?)?;
    let _lock = Lock::acquire(&world.paths.workers_lock()?, lock::PATIENCE)?;
    let worker = again(world, name)?;
    // First the old key goes, and not even a placeholder stays: some versions of Claude Code let settings win over
    // variables.
    worker.settings.unset(worker.profile.auth.variable())?;
    changed(&worker, Some(vec!["/bin/sh".to_owned(), "-c".to_owned(), command.to_owned()]))?;
    world.say.note(&format!("worker `{name}` takes its key from the command at each launch"));
    world.say.hint(&format!("`mo-worker check {name}` proves that it works"));
    Ok(Exit::Done)
}

/// Forgets the key, stored or printed.
pub fn forget(world: &World, name: &Name) -> Result<Exit> {
    refuse_account(&Worker::load(&world.paths, name)?)?;
    let _lock = Lock::acquire(&world.paths.workers_lock()?, lock::PATIENCE)?;
    let worker = again(world, name)?;
    // First the key, so that none comes back from behind a command.
    worker.settings.set(worker.profile.auth.variable(), PLACEHOLDER)?;
    changed(&worker, None)?;
    world.say.note(&format!("worker `{name}` has no key any more"));
    Ok(Exit::Done)
}

/// Under the lock: the worker as it is now, without the remains of an mo-key that was killed.
fn again(world: &World, name: &Name) -> Result<Worker> {
    let worker = Worker::load(&world.paths, name)?;
    refuse_account(&worker)?;
    stale::sweep(&worker.directory);
    Ok(worker)
}

fn refuse_account(worker: &Worker) -> Result<()> {
    match worker.profile.kind {
        Kind::Provider => Ok(()),
        Kind::Account => {
            Err(Error::new(Exit::Usage, format!("worker `{}` is an account: it has no key", worker.name)))
        }
    }
}

/// With another key, what the last check said holds no longer. A worker of the earlier plugin that had no
/// profile, and needs none, still gets none.
fn changed(worker: &Worker, key_command: Option<Vec<String>>) -> Result<()> {
    let mut profile = worker.profile.clone();
    profile.key_command = key_command;
    profile.last_check = None;
    if profile.version == 0 && profile.key_command.is_none() {
        return Ok(());
    }
    profile.version = 1;
    profile.name = worker.name.to_string();
    profile.write(&worker.directory)
}
