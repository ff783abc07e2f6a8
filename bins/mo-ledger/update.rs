//! `mo-ledger update`: counts what is new.

use serde_json::json;
use shared::args::{Flag, Matches};
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::ledger::{Budget, Outcome, publish};
use shared::world::World;

use crate::fresh;
use crate::progress::bytes;

/// The flag of hooks.
pub const BRIEF: Flag =
    Flag { long: "brief", value: "", about: "as a hook does: at most 64 MiB, and no waiting for others" };

/// What a hook may count where nothing was ever counted. Longer histories are left to `mo-ledger rebuild`.
const FIRST: Budget = Budget { max_bytes: 8 << 20, ..Budget::HOOK };

/// Brings the ledger up to date.
pub fn run(world: &World, matches: &Matches) -> Result<Exit> {
    let outcome = fresh::update(world, &budget(world, matches)?, !matches.has("quiet"))?;
    tell(world, matches, &outcome)
}

fn budget(world: &World, matches: &Matches) -> Result<Budget> {
    if !matches.has("brief") {
        return Ok(Budget::WHOLE);
    }
    let counted = publish::read(&world.paths.usage()?).is_some();
    Ok(if counted { Budget::HOOK } else { FIRST })
}

/// Tells what an update did.
pub fn tell(world: &World, matches: &Matches, outcome: &Outcome) -> Result<Exit> {
    if outcome.busy {
        return Err(Error::new(Exit::Busy, "another mo- program is counting")
            .hint("try again in a moment; it counts the same transcripts"));
    }
    if let Some(aside) = &outcome.set_aside {
        world.say.note(&format!(
            "the store was damaged: it is now in {}, and everything was counted anew",
            aside.display()
        ));
    }
    if matches.has("json") {
        let document = json!({
            "version": 1,
            "changed": outcome.changed,
            "files": outcome.files,
            "rows": outcome.rows,
            "bytes": outcome.bytes,
            "set_aside": outcome.set_aside,
        });
        world.say.line(&document.to_string())?;
    } else if !matches.has("quiet") {
        let (files, rows, size) = (outcome.files, outcome.rows, bytes(outcome.bytes));
        world.say.line(&format!("{files} transcripts, {rows} new rows in {size}"))?;
    }
    Ok(Exit::Done)
}
