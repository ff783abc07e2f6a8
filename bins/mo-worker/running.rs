//! What a worker runs right now, as its dispatch records and the system say.

use std::path::Path;

use shared::dispatches;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::name::Name;
use shared::outcome;
use shared::record::{Record, Status};
use shared::world::World;

/// Refuses to touch a worker that runs something. A record whose process ended unseen is closed on the way.
pub fn refuse(world: &World, name: &Name, projects: &Path) -> Result<()> {
    for path in dispatches::files(&world.paths)? {
        let Ok(Some(record)) = Record::read(&path) else { continue };
        if record.worker != name.as_str() || record.status != Some(Status::Running) {
            continue;
        }
        if outcome::is_alive(&record) {
            let pid = record.pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
            return Err(Error::new(
                Exit::Busy,
                format!("worker `{name}` is at work: dispatch {}{pid}", record.id),
            )
            .hint("wait until it ends, or stop it, and try again"));
        }
        outcome::settle(&path, projects, world.clock.now())?;
    }
    Ok(())
}
