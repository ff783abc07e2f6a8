//! What a worker runs right now, as its dispatch records and the system say.

use std::fs;
use std::path::{Path, PathBuf};

use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::name::Name;
use shared::outcome;
use shared::record::{Record, Status};
use shared::world::World;

/// Refuses to touch a worker that runs something. A record whose process ended unseen is closed on the way.
pub fn refuse(world: &World, name: &Name, projects: &Path) -> Result<()> {
    for path in files(world)? {
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

/// All dispatch records.
fn files(world: &World) -> Result<Vec<PathBuf>> {
    let months = fs::read_dir(world.paths.dispatch()?).into_iter().flatten().flatten();
    let months = months.filter(|month| month.file_name() != "by-session" && month.file_name() != "slots");
    let files = months.flat_map(|month| fs::read_dir(month.path()).into_iter().flatten().flatten());
    let files = files.map(|file| file.path());
    Ok(files.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect())
}
