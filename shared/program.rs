//! The life of a program, the same for all: arguments, world, work, exit code.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::args::{Matches, Program, Request};
use crate::error::Result;
use crate::exit::Exit;
use crate::say::Say;
use crate::world::World;

/// Runs a program whose command line is a table.
pub fn run(program: &'static Program, work: fn(&World, &Matches) -> Result<Exit>) -> ExitCode {
    let ended = program.parse(arguments()).and_then(|request| match request {
        Request::Print(text) => Say::new(program.name).out(&text).map(|()| Exit::Done),
        Request::Run(matches) => work(&World::of_process(program.name)?, &matches),
    });
    end(Say::new(program.name), ended)
}

/// Tells a failure and turns the ending into what the system sees.
pub fn end(say: Say, ended: Result<Exit>) -> ExitCode {
    let exit = ended.unwrap_or_else(|error| {
        say.error(&error);
        error.exit()
    });
    exit.into()
}

/// The words after the program's own name.
pub fn arguments() -> impl Iterator<Item = OsString> {
    std::env::args_os().skip(1)
}
