//! `mo-spawn attach`: a dispatch taken over by hand: its turn is finished first, then its session opens interactively.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use shared::args::Matches;
use shared::control::{self, Request};
use shared::dispatch_id::DispatchId;
use shared::dispatches;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::record::{Record, Status};
use shared::sibling;
use shared::world::World;

use super::stop::settled;

/// Pauses between looks.
const PAUSE: Duration = Duration::from_millis(100);

/// Takes it over; returns only when that fails.
pub fn run(world: &World, matches: &Matches) -> Result<Exit> {
    let (path, record) = dispatches::find(&world.paths, matches.operand(0)?)?;
    let session = session(&record)?;
    if !(world.terminal.stdin && world.terminal.stdout) {
        return Err(Error::new(Exit::Usage, "attach needs a terminal")
            .hint(format!("without one: mo-spawn tell {} TEXT, or mo-spawn logs -f {0}", record.id)));
    }
    if !record.status.is_some_and(Status::is_final) {
        if record.args_mode != "managed" {
            return Err(Error::new(Exit::Busy, format!("{} runs, and takes no orders", record.id))
                .hint(format!("end it first: mo-spawn stop {}", record.id)));
        }
        let id = DispatchId::parse(&record.id)?;
        control::ask(&control::socket(&world.env, &id), &Request::Finish)?;
        world.say.note(&format!("{} finishes its turn", record.worker));
        while settled(world, &path)?.is_none() {
            thread::sleep(PAUSE);
        }
    }
    let own = sibling::own()?;
    let error = Command::new(&own)
        .args([record.worker.as_str(), "--resume", session])
        .current_dir(place(&record)?)
        .exec();
    Err(Error::io("cannot run", &own, &error))
}

/// The session that goes on.
fn session(record: &Record) -> Result<&str> {
    record.worker_sessions.last().map(String::as_str).ok_or_else(|| {
        Error::new(Exit::CouldNot, format!("{} has no session that could go on", record.id))
            .hint("dispatch the task anew")
    })
}

/// Where it worked: its own work tree as long as that is there.
fn place(record: &Record) -> Result<PathBuf> {
    let place = PathBuf::from(record.worktree.as_ref().unwrap_or(&record.cwd));
    if place.is_dir() {
        return Ok(place);
    }
    Err(Error::new(Exit::CouldNot, "the directory it worked in is gone:")
        .at(&place)
        .hint("a session goes on in its own directory only"))
}
