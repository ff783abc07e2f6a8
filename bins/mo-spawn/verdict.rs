//! A run that did not end well, told in a line: Claude Code itself often says nothing on standard error.

use shared::outcome;
use shared::record::{Record, Status};
use shared::world::World;

/// The most denials that are shown.
const SHOWN: usize = 3;

/// Tells it on standard error.
pub fn tell(world: &World, record: &Record) {
    let Some(error) = record.error.as_ref().filter(|error| error.kind != "exit" && error.kind != "stopped")
    else {
        return;
    };
    world.say.note(&format!("{}: {}", record.worker, error.text));
    if record.status == Some(Status::Denied) {
        for denial in record.denials.iter().take(SHOWN) {
            world.say.note(&format!("{}: denied: {} {}", record.worker, denial.tool, denial.what));
        }
        world.say.hint(
            "allow it with --allowedTools 'TOOL' or --permission-mode MODE among Claude Code's arguments",
        );
    }
    if let Some(next) = outcome::what_next(record) {
        world.say.hint(&next);
    }
}
