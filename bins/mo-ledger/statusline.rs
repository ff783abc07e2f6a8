//! `mo-ledger statusline`: one short line for Claude Code's status line, from the published file alone.

use std::io::{self, Read};

use serde::Deserialize;
use shared::env;
use shared::error::Result;
use shared::exit::Exit;
use shared::savings::Savings;
use shared::world::World;

/// The most that is read of what Claude Code tells.
const CAP: u64 = 1 << 20;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    session_id: String,
}

/// Prints the line; nothing when there is nothing to say. A status line has no room for trouble.
pub fn run(world: &World) -> Result<Exit> {
    let mut bytes = Vec::new();
    if !world.terminal.stdin {
        let _ = io::stdin().lock().take(CAP).read_to_end(&mut bytes);
    }
    if world.env.is_off(env::SAVINGS) {
        return Ok(Exit::Done);
    }
    let status: Status = serde_json::from_slice(&bytes).unwrap_or_default();
    let savings = world.paths.usage().ok().and_then(|usage| Savings::read(&usage, &status.session_id));
    if let Some(line) = savings.and_then(|savings| savings.status_line()) {
        world.say.line(&line)?;
    }
    Ok(Exit::Done)
}
