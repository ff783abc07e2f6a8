//! At the start of a session: the rules of delegation and the workers there are.

use shared::child_env;
use shared::env;
use shared::error::Result;
use shared::world::World;
use shared::{bin_link, roster};

use crate::answer::{Answer, Context};
use crate::{ended, event, inventory, log, rules, savings};

/// More than 10,000 characters Claude Code puts into a file and shows a short piece of.
const MOST: usize = 9_000;

/// Kept free of rules, however long a user's own are: rules without workers are of no use.
const FOR_WORKERS: usize = 3_000;

/// Answers the event.
pub fn run(world: &World) -> Result<()> {
    let bytes = event::bytes()?;
    if child_env::depth(&world.env) > 0 {
        return Ok(());
    }
    let event = event::parse(&bytes)?;
    if world.paths.root()?.is_dir()
        && let Err(error) = bin_link::keep(world)
    {
        // The rules hold without the link.
        log::note(world, "session-start", &error);
    }
    let said =
        ended::forget_old(world).and_then(|()| savings::start_line(world, &event.session_id, &event.source));
    let system_message = said.unwrap_or_else(|error| {
        log::note(world, "session-start", &error);
        None
    });
    Answer { system_message, hook_specific_output: context(world)? }.give(world)
}

/// The text for the model, unless the user switched it off.
fn context(world: &World) -> Result<Option<Context>> {
    if world.env.is_off(env::DELEGATION) {
        return Ok(None);
    }
    let roster = roster::read(&world.paths)?;
    let (with, without) = rules::parts(&rules::read(world)?, MOST - FOR_WORKERS);
    let mut text = if inventory::is_usable(&roster) {
        let room = MOST.saturating_sub(with.chars().count());
        rules::fill(&with, &inventory::lines(&roster, room))
    } else if roster.is_empty() {
        without
    } else {
        let room = MOST.saturating_sub(without.chars().count() + 2);
        format!("{without}\n\n{}", inventory::lines(&roster, room))
    };
    if let Some((cut, _)) = text.char_indices().nth(MOST) {
        text.truncate(cut);
    }
    Ok((!text.is_empty()).then_some(Context { hook_event_name: "SessionStart", additional_context: text }))
}
