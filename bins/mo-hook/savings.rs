//! What the workers saved: a line when a dispatch has ended, and one at the start of a session.

use shared::child_env;
use shared::costs;
use shared::env;
use shared::error::Result;
use shared::ledger::Budget;
use shared::savings::{Savings, not_counted};
use shared::world::World;

use crate::answer::Answer;
use crate::ended::{self, Dispatches};
use crate::event;

/// What a hook may count where nothing was ever counted. Longer histories are left to `mo-ledger rebuild`.
const FIRST: Budget = Budget { max_bytes: 8 << 20, ..Budget::HOOK };

/// After a tool, at a prompt, at the end of a turn: tells of the dispatches that have ended since.
pub fn tell(world: &World) -> Result<()> {
    let bytes = event::bytes()?;
    if world.env.is_off(env::SAVINGS) || child_env::depth(&world.env) > 0 {
        return Ok(());
    }
    // Nearly all events are of sessions that dispatched nothing: those are known before anything is parsed.
    if let Some(session) = event::session_at_a_glance(&bytes)
        && Dispatches::of(world, session)?.is_none()
    {
        return Ok(());
    }
    let session = event::parse(&bytes)?.session_id;
    let Some(dispatches) = Dispatches::of(world, &session)? else { return Ok(()) };
    let untold = dispatches.untold();
    if untold.is_empty() {
        return Ok(());
    }
    let usage = world.paths.usage()?;
    let budget = match Savings::read(&usage, &session) {
        Some(savings) if savings.catching_up => return Ok(()),
        Some(_) => Budget::HOOK,
        None => FIRST,
    };
    if costs::update_ledger(world, &budget, &|_, _| {})?.busy {
        // The next event catches up.
        return Ok(());
    }
    let Some(savings) = Savings::read(&usage, &session).filter(|savings| !savings.catching_up) else {
        return Ok(());
    };
    if !dispatches.tell(&untold)? {
        return Ok(());
    }
    Answer { system_message: savings.notice(), hook_specific_output: None }.give(world)
}

/// The line for the start of a session.
pub fn start_line(world: &World, session: &str, source: &str) -> Result<Option<String>> {
    // A cleared or compacted session has been told.
    if world.env.is_off(env::SAVINGS) || matches!(source, "clear" | "compact") {
        return Ok(None);
    }
    let savings = Savings::read(&world.paths.usage()?, session);
    match savings.filter(|savings| !savings.catching_up) {
        Some(savings) => Ok(savings.start_line()),
        None => Ok(ended::any(world).then(not_counted)),
    }
}
