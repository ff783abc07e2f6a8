//! mo-worker: the identities that do the work: make, list, show, check, rename, remove them.

mod account;
mod cancel;
mod check;
mod create;
mod doctor;
mod endpoint;
mod import;
mod list;
mod login;
mod plan;
mod prefer;
mod remove;
mod reply;
mod rename;
mod round_trip;
mod running;
mod seed;
mod several;
mod shim;
mod show;
mod shown;
mod standing;
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
            name: "login",
            operands: "NAME",
            takes: (1, 1),
            about: "log an account in, with Claude Code's own login",
            flags: &[],
        },
        Command {
            name: "import",
            operands: "",
            takes: (0, 0),
            about: "make workers of the accounts that are logged in in ~/.claude-*",
            flags: &[],
        },
        Command {
            name: "prefer",
            operands: "[NAME]",
            takes: (0, 1),
            about: "the worker to take when several could; without a name none",
            flags: &[],
        },
        Command {
            name: "accounts",
            operands: "[on|off]",
            takes: (0, 1),
            about: "whether several Claude accounts may be used (default: off)",
            flags: &[],
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
  mo-worker create work --account --tier opus

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
        "login" => login::run(world, &name(0)?),
        "import" => import::run(world),
        "prefer" => prefer::run(world, matches.operand(0).ok().map(Name::parse).transpose()?.as_ref()),
        "accounts" => several::run(world, matches.operand(0).ok()),
        "rename" => rename::run(world, &name(0)?, &name(1)?),
        "remove" => remove::run(world, &name(0)?, matches),
        _ => doctor::run(world, matches),
    }
}
