//! At the start of a session: the rules of delegation and the workers there are.

use std::path::Path;

use shared::child_env;
use shared::env;
use shared::error::Result;
use shared::record::is_session;
use shared::world::World;
use shared::{bin_link, file, roster, sibling};

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
    if let Err(error) = name_session(world, &event.session_id) {
        log::note(world, "session-start", &error);
    }
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

/// Tells the session's commands which session it is, where the client (2.0.76, 2.1.91) does not itself. The older
/// of them does not put a plugin's programs on PATH either: they come last there, so that none is hidden.
fn name_session(world: &World, session: &str) -> Result<()> {
    let Some(file) = world.env.text(env::CLAUDE_ENV_FILE) else { return Ok(()) };
    if world.env.is_set(env::CLAUDE_CODE_SESSION_ID) || !is_session(session) {
        return Ok(());
    }
    let mut lines = format!("export {}={session}", env::MO_MANAGER_SESSION);
    if let Some(folder) = sibling::folder() {
        let folder = folder.to_string_lossy().replace('\'', r"'\''");
        lines.push_str(&format!("\nexport PATH=\"$PATH\":'{folder}'"));
    }
    file::append_line(Path::new(file), &lines)
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
