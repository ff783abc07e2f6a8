//! `mo-spawn stop`: ends dispatches. A managed one is asked through its socket, any other gets a signal, but only
//! a process that is proved to be the one of the record.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use shared::args::Matches;
use shared::control::{self, Request};
use shared::dispatch_id::DispatchId;
use shared::dispatches;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::outcome;
use shared::process;
use shared::record::{Record, Status};
use shared::world::World;

/// How long mo-spawn gets to end its worker: its own grace, and some time to write the record.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a Claude Code without a mo-spawn gets to end by itself.
const GRACE: Duration = Duration::from_secs(10);
/// Pauses between looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Stops each of them; one that had ended is no failure.
pub fn run(world: &World, matches: &Matches) -> Result<Exit> {
    let found: Vec<_> =
        operands(matches)?.iter().map(|id| dispatches::find(&world.paths, id)).collect::<Result<Vec<_>>>()?;
    let mut exit = Exit::Done;
    for (path, record) in found {
        match stop(world, &path, &record) {
            Ok(status) => world.say.line(&format!("{} {}", record.id, status.name()))?,
            Err(error) => {
                world.say.error(&error);
                exit = error.exit();
            }
        }
    }
    Ok(exit)
}

/// The operands as text.
pub fn operands(matches: &Matches) -> Result<Vec<&str>> {
    (0..matches.operands().len()).map(|at| matches.operand(at)).collect()
}

fn stop(world: &World, path: &Path, record: &Record) -> Result<Status> {
    if let Some(status) = record.status.filter(|status| status.is_final()) {
        return Ok(status);
    }
    if !ask(world, record)? {
        signal(record, Signal::TERM);
    }
    if let Some(status) = ended(world, path, PATIENCE)? {
        return Ok(status);
    }
    signal(record, Signal::KILL);
    ended(world, path, GRACE)?.ok_or_else(|| {
        let pid = record.pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
        Error::new(Exit::CouldNot, format!("{}{pid} does not end", record.id))
            .hint("`mo-spawn ps` shows what is left")
    })
}

/// Whether it was asked and does it. Where it may not be asked, it may not be signalled either.
fn ask(world: &World, record: &Record) -> Result<bool> {
    let id = DispatchId::parse(&record.id).ok().filter(|_| record.args_mode == "managed");
    let Some(id) = id else { return Ok(false) };
    match control::ask(&control::socket(&world.env, &id), &Request::Stop) {
        Ok(answer) => Ok(answer.ok),
        Err(error) if error.exit() == Exit::Config => Err(error),
        Err(_) => Ok(false),
    }
}

/// To mo-spawn, which ends what is below it; to Claude Code where mo-spawn has gone.
fn signal(record: &Record, signal: Signal) {
    let reached = record
        .supervisor
        .as_ref()
        .is_some_and(|of| process::signal_proven(of.pid, of.start_time.as_deref(), signal));
    if !reached && let Some(pid) = record.pid {
        process::signal_proven(pid, record.start_time.as_deref(), signal);
    }
}

/// How it ended, within this time.
fn ended(world: &World, path: &Path, patience: Duration) -> Result<Option<Status>> {
    let start = Instant::now();
    loop {
        if let Some(status) = settled(world, path)? {
            return Ok(Some(status));
        }
        if start.elapsed() >= patience {
            return Ok(None);
        }
        thread::sleep(PAUSE);
    }
}

/// How it ended; a record that nobody is left to close is closed.
pub fn settled(world: &World, path: &Path) -> Result<Option<Status>> {
    let Some(record) = Record::read(path)? else { return Ok(Some(Status::Lost)) };
    if let Some(status) = record.status.filter(|status| status.is_final()) {
        return Ok(Some(status));
    }
    let projects = outcome::projects(&world.paths, &record)?;
    if outcome::settle(path, &projects, world.clock.now())? {
        return Ok(Record::read(path)?.and_then(|record| record.status));
    }
    Ok(None)
}
