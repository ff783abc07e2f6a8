//! `mo-proxy reload`: the configuration is read anew, after it was found right.

use rustix::process::Signal;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::process;
use shared::world::World;

use super::found::Found;
use crate::route::Routes;

/// Checks the configuration and tells the gateway to read it. A bad one is told here, and the gateway keeps what
/// it has.
pub fn run(world: &World) -> Result<Exit> {
    Routes::load(world)?;
    let found = Found::running(world)?;
    let of = &found.announced;
    if process::signal_proven(of.pid, of.start_time.as_deref(), Signal::HUP) {
        world.say.note("the gateway reads its configuration anew");
        return Ok(Exit::Done);
    }
    Err(Error::new(Exit::CouldNot, "the gateway has just ended").hint("`mo-proxy serve` starts it"))
}
