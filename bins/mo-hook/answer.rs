//! What a hook says back to Claude Code: context for the model, a notice for the user.

use serde::Serialize;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::world::World;

/// An answer; an empty one is silence.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// Shown to the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_message: Option<String>,
    /// Given to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook_specific_output: Option<Context>,
}

/// Text for the model.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Context {
    /// The event that is answered.
    pub hook_event_name: &'static str,
    /// The text.
    pub additional_context: String,
}

impl Answer {
    /// Writes the answer, in one piece.
    pub fn give(&self, world: &World) -> Result<()> {
        if self.system_message.is_none() && self.hook_specific_output.is_none() {
            return Ok(());
        }
        let text = serde_json::to_string(self)
            .map_err(|error| Error::new(Exit::Bug, "cannot write the answer").caused_by(error))?;
        world.say.line(&text)
    }
}
