//! How many runs of one worker there may be at once, over all sessions of the user: a lock each.

use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::lock::Lock;
use shared::paths::Paths;
use shared::worker::Worker;

/// Takes one of the worker's places for as long as the returned lock lives; nothing where there is no limit.
pub fn take(paths: &Paths, worker: &Worker) -> Result<Option<Lock>> {
    let Some(limit) = worker.profile.max_parallel else { return Ok(None) };
    let directory = paths.dispatch()?.join("slots");
    shared::file::create_private_dir(&directory)?;
    for number in 0..limit {
        if let Some(lock) = Lock::try_acquire(&directory.join(format!("{}.{number}", worker.name)))? {
            return Ok(Some(lock));
        }
    }
    Err(Error::new(Exit::Busy, format!("worker `{}` is at its limit of {limit} at once", worker.name))
        .hint("wait until a run of it ends, or raise max_parallel in its worker.json"))
}
