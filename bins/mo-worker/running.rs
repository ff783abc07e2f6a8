//! What a worker runs right now, as its dispatch records and the system say.

use std::fs;

use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::name::Name;
use shared::outcome;
use shared::record::{Record, Status};
use shared::world::World;

/// Refuses to touch a worker that runs something.
pub fn refuse(world: &World, name: &Name) -> Result<()> {
    let Some(record) = first(world, name)? else { return Ok(()) };
    let pid = record.pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
    Err(Error::new(Exit::Busy, format!("worker `{name}` is at work: dispatch {}{pid}", record.id))
        .hint("wait until it ends, or stop it, and try again"))
}

fn first(world: &World, name: &Name) -> Result<Option<Record>> {
    let months = fs::read_dir(world.paths.dispatch()?).into_iter().flatten().flatten();
    let files = months.filter(|month| month.file_name() != "by-session" && month.file_name() != "slots");
    let mut records = files
        .flat_map(|month| fs::read_dir(month.path()).into_iter().flatten().flatten())
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "json"))
        .filter_map(|file| Record::read(&file.path()).ok().flatten());
    Ok(records.find(|record| {
        record.worker == name.as_str() && record.status == Some(Status::Running) && outcome::is_alive(record)
    }))
}
