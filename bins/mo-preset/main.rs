//! `mo-preset`: the catalogue of providers. What each command does is in the room of its name.

mod add;
mod cli;
mod list;
mod ollama;
mod own_file;
mod probe;
mod remove;
mod show;
mod verdict;

use std::process::ExitCode;

use shared::args::Matches;
use shared::catalogue::Catalogue;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::program;
use shared::world::World;

fn main() -> ExitCode {
    program::run(&cli::PROGRAM, work)
}

fn work(world: &World, matches: &Matches) -> Result<Exit> {
    let (catalogue, trouble) = Catalogue::load(world);
    match matches.command() {
        "list" => list::run(world, &catalogue, trouble.as_ref(), matches.has("json")),
        "show" => show::run(world, &catalogue, trouble.as_ref(), matches.operand(0)?, matches.has("json")),
        "add" => add::run(world, &catalogue, matches),
        "remove" => remove::run(world, &catalogue, trouble.as_ref(), matches.operand(0)?),
        "probe" => probe::run(world, &catalogue, trouble.as_ref(), matches),
        other => Err(Error::new(Exit::Bug, format!("no room for the command `{other}`"))),
    }
}
