//! The sub-commands: what is asked of dispatches that were started before. Their words are no names of workers.

pub mod age;
mod attach;
mod logs;
mod ps;
mod resume;
pub mod retention;
mod stop;
mod tell;
mod transcript_tail;
mod twice;
mod wait;

use std::ffi::OsString;

use shared::args::{Command, Flag, Matches, Program, Request};
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::say::Say;
use shared::world::World;

use crate::worktree::listing;

const JSON: Flag = Flag { long: "json", value: "", about: "print JSON for programs" };

/// The command line of the sub-commands.
static PROGRAM: Program = Program {
    name: "mo-spawn",
    about: "look after dispatches",
    commands: &[
        Command {
            name: "ps",
            operands: "",
            takes: (0, 0),
            about: "show what runs and what has just ended",
            flags: ps::FLAGS,
        },
        Command {
            name: "logs",
            operands: "ID",
            takes: (1, 1),
            about: "show what a worker says and does",
            flags: logs::FLAGS,
        },
        Command {
            name: "tell",
            operands: "ID TEXT",
            takes: (2, 2),
            about: "put a message into a running worker's conversation (- reads it from standard input)",
            flags: &[],
        },
        Command {
            name: "resume",
            operands: "ID [TEXT]",
            takes: (1, 2),
            about: "go on with a dispatch that has ended: the same worker session, a new attempt",
            flags: resume::FLAGS,
        },
        Command {
            name: "attach",
            operands: "ID",
            takes: (1, 1),
            about: "let it finish its turn, then open its session on this terminal",
            flags: &[],
        },
        Command {
            name: "stop",
            operands: "ID…",
            takes: (1, usize::MAX),
            about: "end dispatches and everything they started",
            flags: &[],
        },
        Command {
            name: "wait",
            operands: "ID…",
            takes: (1, usize::MAX),
            about: "wait until dispatches have ended; the exit code is the first one's that was not done",
            flags: wait::FLAGS,
        },
        Command {
            name: "worktrees",
            operands: "",
            takes: (0, 0),
            about: "list the work trees of dispatches, and take away those that are merged",
            flags: listing::FLAGS,
        },
    ],
    flags: &[],
    takes_keys: false,
    more: "The beginning of an id is enough where it is unique.",
};

/// Whether this word is a sub-command.
pub fn takes(word: Option<&OsString>) -> bool {
    word.is_some_and(|word| PROGRAM.commands.iter().any(|command| word == command.name))
}

/// Runs one.
pub fn run(say: Say, words: Vec<OsString>) -> Result<Exit> {
    // The one short flag, as everybody knows it from `tail`.
    let words = words.into_iter().map(|word| if word == "-f" { "--follow".into() } else { word });
    let matches = match PROGRAM.parse(words)? {
        Request::Print(text) => return say.out(&text).map(|()| Exit::Done),
        Request::Run(matches) => matches,
    };
    let world = World::of_process(PROGRAM.name)?;
    work(&world, &matches)
}

fn work(world: &World, matches: &Matches) -> Result<Exit> {
    match matches.command() {
        "ps" => ps::run(world, matches),
        "logs" => logs::run(world, matches),
        "tell" => tell::run(world, matches),
        "resume" => resume::run(world, matches),
        "attach" => attach::run(world, matches),
        "stop" => stop::run(world, matches),
        "wait" => wait::run(world, matches),
        "worktrees" => listing::run(world, matches),
        other => Err(Error::new(Exit::Bug, format!("no room for the command `{other}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sub_command_can_be_a_workers_name() {
        for command in PROGRAM.commands {
            assert!(shared::name::Name::parse(command.name).is_err(), "{}", command.name);
        }
    }
}
