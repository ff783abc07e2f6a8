//! `mo-proxy stop`: ends the gateway that runs, once its streams have ended.

use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use shared::document;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::process;
use shared::world::World;

use crate::serve::Announced;

/// How long it may take: the streams' time, and some for the last words.
const PATIENCE: Duration = Duration::from_secs(40);
/// Pauses between looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Ends it; with `now` without waiting for its streams. The process is known by its start time, so that no other
/// one is ever signalled.
pub fn run(world: &World, now: bool) -> Result<Exit> {
    let path = world.paths.proxy()?.join("instance.json");
    let running = document::read::<Announced>(&path)?
        .filter(|announced| process::is(announced.pid, announced.start_time.as_deref()));
    let Some(announced) = running else {
        world.say.note("no gateway of yours runs");
        return Ok(Exit::Done);
    };
    let signal = || process::signal_proven(announced.pid, announced.start_time.as_deref(), Signal::TERM);
    let start = Instant::now();
    signal();
    let mut again = now;
    while process::is(announced.pid, announced.start_time.as_deref()) {
        if again {
            thread::sleep(PAUSE);
            signal();
            again = false;
        }
        if start.elapsed() > PATIENCE {
            return Err(Error::new(Exit::CouldNot, format!("process {} does not end", announced.pid))
                .hint("`mo-proxy stop --now` does not wait for its streams"));
        }
        thread::sleep(PAUSE);
    }
    world.say.note("the gateway has ended");
    Ok(Exit::Done)
}
