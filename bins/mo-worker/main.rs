//! mo-worker: the identities that do the work: make, list, show, check, rename, remove them.

mod cancel;
mod check;
mod create;
mod doctor;
mod endpoint;
mod list;
mod plan;
mod remove;
mod reply;
mod rename;
mod round_trip;
mod running;
mod seed;
mod shim;
mod show;
mod shown;
mod taken;
mod trash;

use std::process::ExitCode;

use shared::args::{Command, Flag, Matches, Program};
use shared::error::Result;
use shared::exit::Exit;
use shared::name::Name;
use shared::program;
use shared::world::World;

const JSON: Flag = Flag { long: "json", value: "", about: "as one JSON document" };

static PROGRAM: Program = Program {
    name: "mo-worker",
    about: "make and look after workers: isolated Claude Code identities",
    commands: &[
        Command {
            name: "create",
            operands: "NAME",
            takes: (1, 1),
            about: "make a worker",
            flags: plan::FLAGS,
        },
        Command {
            name: "list",
            operands: "",
            takes: (0, 0),
            about: "all workers and how far they are",
            flags: &[JSON],
        },
        Command {
            name: "show",
            operands: "NAME",
            takes: (1, 1),
            about: "one worker, with its models",
            flags: &[JSON],
        },
        Command {
            name: "check",
            operands: "NAME",
            takes: (1, 1),
            about: "prove a worker live: one real answer per tier",
            flags: check::FLAGS,
        },
        Command {
            name: "rename",
            operands: "OLD NEW",
            takes: (2, 2),
            about: "give a worker another name",
            flags: &[],
        },
        Command {
            name: "remove",
            operands: "NAME",
            takes: (1, 1),
            about: "remove a worker and its history",
            flags: remove::FLAGS,
        },
        Command {
            name: "doctor",
            operands: "",
            takes: (0, 0),
            about: "is everything in its place?",
            flags: doctor::FLAGS,
        },
    ],
    flags: &[],
    takes_keys: false,
    more: "\
examples:
  mo-worker create glm --preset zai
  mo-key glm
  mo-worker check glm
  mo-worker create local --preset ollama --sonnet qwen3-coder:30b --context-window sonnet=128k

files:
  $CLAUDE_WORKERS_ROOT (default ~/.claude-workers)/NAME/

exit codes: 0 done, 1 could not (doctor: something needs you), 64 wrong use, 65 a broken file, 69 the provider cannot serve, 74 could not
write, 75 the worker is busy, 77 the key is missing or refused, 78 wrong model, URL or configuration,
130 cancelled",
};

fn main() -> ExitCode {
    program::run(&PROGRAM, work)
}

fn work(world: &World, matches: &Matches) -> Result<Exit> {
    let name = |at| Name::parse(matches.operand(at)?);
    match matches.command() {
        "create" => create::run(world, &name(0)?, matches),
        "list" => list::run(world, matches.has("json")),
        "show" => show::run(world, &name(0)?, matches.has("json")),
        "check" => check::run(world, &name(0)?, matches),
        "rename" => rename::run(world, &name(0)?, &name(1)?),
        "remove" => remove::run(world, &name(0)?, matches.has("yes")),
        _ => doctor::run(world, matches),
    }
}
