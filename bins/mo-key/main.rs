//! mo-key: takes a worker's key on standard input or at a hidden prompt and stores it for the owner alone.

mod given;
mod prompt;
mod stale;
mod store;

use std::process::ExitCode;

use shared::args::{Command, Flag, Matches, Program};
use shared::error::Result;
use shared::exit::Exit;
use shared::program;
use shared::world::World;

static PROGRAM: Program = Program {
    name: "mo-key",
    about: "store a worker's key, without it ever standing on a command line",
    commands: &[Command {
        name: "",
        operands: "NAME",
        takes: (1, usize::MAX),
        about: "store a worker's key, without it ever standing on a command line",
        flags: &[
            Flag {
                long: "from-command",
                value: "CMD",
                about: "store this shell command instead; it prints the key at each launch",
            },
            Flag { long: "remove", value: "", about: "forget the key" },
        ],
    }],
    flags: &[],
    takes_keys: true,
    more: "\
examples:
  mo-key glm                                  (asks; what you type is not shown)
  mo-key glm < key.txt
  mo-key glm --from-command 'pass show glm'   (the key never touches this disk)

files:
  $CLAUDE_WORKERS_ROOT/NAME/settings.json     mode 0600; only the key in it changes

exit codes: 0 stored, 64 wrong use, 65 this is no key, or a file of the worker is broken, 74 could not read
or write, 75 another program holds the lock, 78 a file of the worker is not its own, 130 cancelled",
};

fn main() -> ExitCode {
    program::run(&PROGRAM, work)
}

fn work(world: &World, matches: &Matches) -> Result<Exit> {
    let name = given::name(world, matches)?;
    match (matches.has("remove"), matches.value("from-command")) {
        (true, Some(_)) => Err(given::both()),
        (true, None) => store::forget(world, &name),
        (false, Some(command)) => store::command(world, &name, command),
        (false, None) => store::key(world, &name, given::key),
    }
}
