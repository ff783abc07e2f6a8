//! Before one of our own MCP tools is called: whose call it is, for the server that cannot know.

use shared::error::Result;
use shared::tool_use;
use shared::world::World;

use crate::event;

/// Notes it.
pub fn note(world: &World) -> Result<()> {
    let event = event::parse(&event::bytes()?)?;
    tool_use::note(&world.paths, &event.tool_use_id, &event.session_id)
}
