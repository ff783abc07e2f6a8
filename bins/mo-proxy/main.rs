//! mo-proxy: a local gateway: one Claude Code session, many models, the subscription's login untouched.

mod hex;
mod scan;
mod config;
mod route;
mod transform;
mod limits;
mod turnstile;
mod restraint;
mod markers;
mod compress;
mod agents;
mod wire;
mod upstream;
mod live;
mod token;
mod request_id;
mod stage;
mod gateway;
mod guard;
mod answer;
mod forward;
mod observe;
mod serve;
mod explain;
mod control;

use std::process::ExitCode;

use shared::args::{Command, Flag, Matches, Program};
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::program;
use shared::world::World;

use crate::control::{audit, cost, exec, reload, service, status, stop, top};

const JSON: Flag = Flag { long: "json", value: "", about: "print JSON for programs" };

static PROGRAM: Program = Program {
    name: "mo-proxy",
    about: "a local gateway: one Claude Code session, many models, the subscription's login untouched",
    commands: &[
        Command {
            name: "serve",
            operands: "",
            takes: (0, 0),
            about: "run the gateway in the foreground until SIGTERM",
            flags: &[
                Flag {
                    long: "port",
                    value: "PORT",
                    about: "listen there on 127.0.0.1 (default 3457; 0: any free)",
                },
                Flag { long: "socket", value: "PATH", about: "listen on this unix socket instead" },
            ],
        },
        Command {
            name: "exec",
            operands: "-- claude [arguments…]",
            takes: (1, usize::MAX),
            about: "run Claude Code through the gateway, which is started where none runs",
            flags: exec::FLAGS,
        },
        Command {
            name: "status",
            operands: "",
            takes: (0, 0),
            about: "show what the gateway does at this moment",
            flags: &[JSON],
        },
        Command {
            name: "stop",
            operands: "",
            takes: (0, 0),
            about: "end the gateway once its streams have ended",
            flags: &[Flag { long: "now", value: "", about: "do not wait for its streams" }],
        },
        Command {
            name: "reload",
            operands: "",
            takes: (0, 0),
            about: "let it read its configuration anew; a bad one is told and changes nothing",
            flags: &[],
        },
        Command {
            name: "explain",
            operands: "MODEL",
            takes: (1, 1),
            about: "show where a model's name leads: by which rule, as whom, with what changed",
            flags: &[JSON],
        },
        Command {
            name: "audit",
            operands: "[show|export|verify]",
            takes: (0, 1),
            about: "show, export or verify what was asked of whom",
            flags: audit::FLAGS,
        },
        Command {
            name: "cost",
            operands: "",
            takes: (0, 0),
            about: "show what the traffic cost, and what a subscription's use was worth",
            flags: cost::FLAGS,
        },
        Command {
            name: "top",
            operands: "",
            takes: (0, 0),
            about: "show the gateway at work, on a terminal; q ends it",
            flags: &[],
        },
        Command {
            name: "service",
            operands: "install|uninstall",
            takes: (1, 1),
            about: "let the system start it at login and after failures",
            flags: &[],
        },
    ],
    flags: &[],
    takes_keys: false,
    more: "\
files:
  $CLAUDE_WORKERS_ROOT/.proxy/config.json     what you decided; optional, described in docs/proxy.md
  $CLAUDE_WORKERS_ROOT/.proxy/instance.json   what runs, and where it listens
  $CLAUDE_WORKERS_ROOT/.proxy/token           mode 0600; who can read it may use the gateway's own keys

signals: SIGHUP reads the configuration anew (so does a change of its file); SIGTERM and SIGINT end it once its streams have ended, or after 30 seconds; a second one at once

exit codes: 0 done, 1 no gateway runs, or it did not do it, 64 wrong use, 65 the audit was changed, 69 it does not answer,
74 cannot listen there, 75 it runs already, 78 bad configuration",
};

fn main() -> ExitCode {
    program::run(&PROGRAM, work)
}

fn work(world: &World, matches: &Matches) -> Result<Exit> {
    match matches.command() {
        "serve" => serve::run(world, matches),
        "explain" => explain::run(world, matches.operand(0)?, matches.has("json")),
        "exec" => exec::run(world, matches),
        "status" => status::run(world, matches.has("json")),
        "stop" => stop::run(world, matches.has("now")),
        "reload" => reload::run(world),
        "audit" => audit::run(world, matches),
        "cost" => cost::run(world, matches),
        "top" => top::run(world),
        "service" => service::run(world, matches.operand(0)?),
        other => Err(Error::new(Exit::Bug, format!("no room for the command `{other}`"))),
    }
}
