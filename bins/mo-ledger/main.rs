//! mo-ledger: every token counted once. What each command does is in the room of its name.

mod calendar;
mod check;
mod cli;
mod count;
mod export;
mod figures;
mod fresh;
mod progress;
mod rebuild;
mod report;
mod saved;
mod savings;
mod selection;
mod statusline;
mod sums;
mod update;
mod watch;

use std::process::ExitCode;

use shared::args::Matches;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::program;
use shared::world::World;

fn main() -> ExitCode {
    program::run(&cli::PROGRAM, work)
}

fn work(world: &World, matches: &Matches) -> Result<Exit> {
    match matches.command() {
        "update" => update::run(world, matches),
        "rebuild" => rebuild::run(world, matches),
        "count" => count::run(world, matches),
        "check" => check::run(world, matches),
        "report" => report::run(world, matches),
        "savings" => savings::run(world, matches),
        "statusline" => statusline::run(world),
        "export" => export::run(world, matches),
        "watch" => watch::run(world, matches),
        other => Err(Error::new(Exit::Bug, format!("no room for the command `{other}`"))),
    }
}
