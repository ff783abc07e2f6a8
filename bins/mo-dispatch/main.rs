//! mo-dispatch: many tasks to many workers, as an MCP server on standard input and output. It drives mo-spawn and never
//! Claude Code itself.

mod look;
mod schedule;
mod server;
mod show;
mod tools;
mod work;

use std::process::ExitCode;

use shared::args::{Command, Program, Request};
use shared::error::Result;
use shared::exit::Exit;
use shared::program;
use shared::say::Say;
use shared::world::World;

const NAME: &str = "mo-dispatch";

static PROGRAM: Program = Program {
    name: NAME,
    about: "an MCP server that gives tasks to workers, many at once",
    commands: &[Command {
        name: "",
        operands: "",
        takes: (0, 0),
        about: "an MCP server that gives tasks to workers, on standard input and output until the client has gone",
        flags: &[],
    }],
    flags: &[],
    takes_keys: false,
    more: "\
The plugin registers it, so that it starts with every session of Claude Code; elsewhere:
  claude mcp add mo-dispatch -- mo-dispatch

files:
  $CLAUDE_WORKERS_ROOT/.dispatch/config.json       permission_mode, timeout_minutes, cooldown_minutes,
                                                   frontier and overage (block or allow), daily_usd
  $CLAUDE_WORKERS_ROOT/.dispatch/MONTH/ID.json     one record a task

exit codes: 0 the client has gone, 64 wrong use, 78 mo-spawn is not beside it",
};

fn main() -> ExitCode {
    let say = Say::new(NAME);
    program::end(say, run(say))
}

fn run(say: Say) -> Result<Exit> {
    match PROGRAM.parse(program::arguments())? {
        Request::Print(text) => say.out(&text).map(|()| Exit::Done),
        Request::Run(_) => server::run(World::of_process(NAME)?),
    }
}
