//! placeholder

use shared::args::{Flag, Matches};
use shared::error::Result;
use shared::exit::Exit;
use shared::world::World;

pub const FLAGS: &[Flag] = &[Flag { long: "fix", value: "", about: "mend what can be mended" }];

pub fn run(_world: &World, _matches: &Matches) -> Result<Exit> {
    Ok(Exit::Done)
}
