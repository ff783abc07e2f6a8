//! `mo-ledger watch`: a report that stays up to date on a terminal.

use shared::args::{Flag, Matches};
use shared::costs::Costs;
use shared::error::Result;
use shared::exit::Exit;
use shared::ledger::{Budget, Ledger};
use shared::screen::Screen;
use shared::world::World;

use crate::calendar::Calendar;
use crate::selection::{self, Selection};
use crate::sums::{By, Sums};
use crate::{fresh, report};

/// The flags.
pub const FLAGS: &[Flag] = &[
    report::BY,
    selection::SINCE,
    selection::UNTIL,
    selection::LAST,
    selection::TIMEZONE,
    selection::WORKER,
    selection::PROJECT,
];

/// Shows the report until the user has seen enough.
pub fn run(world: &World, matches: &Matches) -> Result<Exit> {
    let by = report::by(matches)?.unwrap_or(By::Worker);
    let zone = matches.value("timezone");
    Selection::of(matches, &Calendar::of(zone)?, world.clock.now())?;
    let screen = Screen::enter(world, "`mo-ledger report` prints the same table once")?;
    let mut shown = None;
    loop {
        let outcome = fresh::update(world, &Budget::HOOK, false)?;
        // A span like the last 12 hours moves with the clock.
        let now = (outcome.generation, world.clock.now().as_second() / 60);
        // Where another process counts just now, the next look shows what it found.
        if shown.is_none() || (!outcome.busy && shown != Some(now)) {
            let mut calendar = Calendar::of(zone)?;
            let selection = Selection::of(matches, &calendar, world.clock.now())?;
            let (ledger, costs) = (Ledger::open(world)?, Costs::load(world).0);
            let sums = Sums::of(&ledger, &costs, &selection, &mut calendar)?;
            screen.draw(&format!("{}\nq ends\n", report::table(&sums, by, false)))?;
            shown = Some(now);
        }
        if screen.is_over() {
            return Ok(Exit::Done);
        }
    }
}
