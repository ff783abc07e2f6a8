//! `mo-spawn tell`: a message into a running worker's conversation.

use std::io::Read;

use shared::args::Matches;
use shared::control::{self, Request};
use shared::dispatch_id::DispatchId;
use shared::dispatches;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::record::Status;
use shared::world::World;

/// The longest message; its line must fit the channel, escapes included.
const LONGEST: u64 = 512 * 1024;

/// Sends it and waits until the worker's side has taken it.
pub fn run(world: &World, matches: &Matches) -> Result<Exit> {
    let (_, record) = dispatches::find(&world.paths, matches.operand(0)?)?;
    let text = text(matches.operand(1)?)?;
    if let Some(status) = record.status.filter(|status| status.is_final()) {
        return Err(Error::new(Exit::CouldNot, format!("{} has ended: {}", record.id, status.name()))
            .hint(format!("go on with it: mo-spawn resume {} TEXT", record.id)));
    }
    if record.args_mode != "managed" {
        return Err(Error::new(Exit::CouldNot, format!("{} takes no messages while it runs", record.id))
            .hint("only a managed dispatch (mo-spawn NAME --task FILE) does"));
    }
    let id = DispatchId::parse(&record.id)?;
    let answer = control::ask(&control::socket(&world.env, &id), &Request::Tell { text })?;
    match answer.error {
        None if answer.ok => {
            world.say.note(&format!("{} has it", record.worker));
            Ok(Exit::Done)
        }
        error => Err(Error::new(Exit::CouldNot, format!("{} did not take the message", record.id))
            .caused_by(error.unwrap_or_else(|| answer.status.map_or("no reason", Status::name).to_owned()))),
    }
}

fn text(typed: &str) -> Result<String> {
    let text = if typed == "-" {
        let mut text = String::new();
        std::io::stdin()
            .take(LONGEST + 1)
            .read_to_string(&mut text)
            .map_err(|error| Error::new(Exit::Io, "cannot read standard input").because(&error))?;
        text
    } else {
        typed.to_owned()
    };
    if text.trim().is_empty() {
        return Err(Error::new(Exit::Usage, "the message is empty").hint("usage: mo-spawn tell ID TEXT"));
    }
    if text.len() as u64 > LONGEST {
        return Err(Error::new(Exit::Usage, format!("the message is longer than {} KiB", LONGEST / 1024))
            .hint("put it into a file and tell the worker to read that"));
    }
    Ok(text)
}
