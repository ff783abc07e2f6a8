//! mo-dispatch: many tasks to many workers, as an MCP server on standard input and output. It drives mo-spawn and never
//! Claude Code itself.

mod alone;
mod look;
mod policy;
mod schedule;
mod server;
mod show;
mod tools;
mod top;
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

beside the server:
  mo-dispatch top [--json|--once]                  workers, plans, tasks and today's money
  mo-dispatch policy show|install|remove           the texts for managers and workers; a block in CLAUDE.md

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
    let words: Vec<_> = program::arguments().collect();
    if alone::takes(words.first()) {
        return alone::run(say);
    }
    if policy::takes(words.first()) {
        return policy::run(say, words);
    }
    if top::takes(words.first()) {
        return top::run(say, words);
    }
    match PROGRAM.parse(words)? {
        Request::Print(text) => say.out(&text).map(|()| Exit::Done),
        Request::Run(_) => server::run(World::of_process(NAME)?),
    }
}
