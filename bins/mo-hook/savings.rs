//! What the workers saved: a line when a dispatch has ended, and one at the start of a session.

use std::process::{Command, Stdio};

use shared::child_env;
use shared::env;
use shared::error::{Error, Result};
use shared::savings::{Savings, not_counted};
use shared::sibling;
use shared::world::World;

use crate::answer::Answer;
use crate::ended::{self, Dispatches};
use crate::event;

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
    // The first count is not done yet: the start line says so.
    if Savings::read(&usage, &session).is_some_and(|savings| savings.catching_up) || !count()? {
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

/// Lets mo-ledger count what is new, as far as a hook may wait for it. Whether it did: when another process is
/// counting, the next event catches up. The counting stays out of this program, which starts at every event.
fn count() -> Result<bool> {
    let Some(ledger) = sibling::find("mo-ledger") else { return Ok(false) };
    let status = Command::new(&ledger)
        .args(["update", "--brief", "--quiet"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| Error::io("cannot run", &ledger, &error))?;
    Ok(status.success())
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
