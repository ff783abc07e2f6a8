//! `mo-ledger rebuild`: counts everything again.

use shared::args::Matches;
use shared::costs::Costs;
use shared::error::Result;
use shared::exit::Exit;
use shared::ledger::rebuild;
use shared::world::World;

use crate::progress::Progress;
use crate::update::tell;

/// Makes the ledger anew from the transcripts that exist.
pub fn run(world: &World, matches: &Matches) -> Result<Exit> {
    let progress = Progress::new(world, !matches.has("quiet"));
    let (costs, trouble) = Costs::load(world);
    let outcome = rebuild(world, &|done, total| progress.show(done, total), &|worker, model, cell| {
        costs.cell(worker, model, cell)
    });
    progress.end();
    if let Some(error) = trouble {
        world.say.error(&error);
    }
    tell(world, matches, &outcome?)
}
