//! A ledger that is as new as it can be: brought up to date, then opened. What cannot be brought up to date
//! just now is said, and reported as it stands.

use shared::costs::{Costs, update_ledger};
use shared::error::Result;
use shared::ledger::{Budget, Ledger, Outcome};
use shared::world::World;

use crate::progress::Progress;

/// Brings the ledger up to date, with a bar on a terminal where one is wanted.
pub fn update(world: &World, budget: &Budget, bar: bool) -> Result<Outcome> {
    let progress = Progress::new(world, bar);
    let outcome = update_ledger(world, budget, &|done, total| progress.show(done, total));
    progress.end();
    outcome
}

/// The ledger for a report, and the prices; what is wrong with either is said.
pub fn ledger(world: &World) -> Result<(Ledger, Costs)> {
    match update(world, &Budget::WHOLE, true) {
        Ok(outcome) if outcome.busy => {
            world.say.note("another mo- program is counting; this is the ledger as it was before");
        }
        Ok(outcome) => {
            if let Some(aside) = outcome.set_aside {
                world.say.note(&format!("the store was damaged and is now in {}", aside.display()));
            }
        }
        Err(error) => {
            world.say.error(&error);
            world.say.note("this is the ledger as it was before");
        }
    }
    let (costs, trouble) = Costs::load(world);
    if let Some(error) = trouble {
        world.say.error(&error);
    }
    Ok((Ledger::open(world)?, costs))
}
