//! Turns the use of several Claude accounts on and off, with the notice that goes with it.

use shared::accounts;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::redact::typed;
use shared::world::World;

/// Turns it on or off; without a word, tells.
pub fn run(world: &World, given: Option<&str>) -> Result<Exit> {
    match given {
        None => {
            let state = if accounts::several(&world.paths)? { "on" } else { "off" };
            world.say.line(&format!("several accounts are {state}"))?;
        }
        Some("on") => {
            accounts::set(&world.paths, true, world.clock.now())?;
            world.say.note(accounts::NOTICE);
            world.say.note("several accounts are on; `mo-worker accounts off` turns them off again");
        }
        Some("off") => {
            accounts::set(&world.paths, false, world.clock.now())?;
            world.say.note("several accounts are off: only the default one can be a worker");
        }
        Some(other) => {
            return Err(Error::new(Exit::Usage, format!("`{}` is neither on nor off", typed(other)))
                .hint("`mo-worker accounts` alone tells which it is"));
        }
    }
    Ok(Exit::Done)
}
