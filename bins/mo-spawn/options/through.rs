//! Pass-through: mo-spawn's own words before the worker's name. Everything after it belongs to Claude Code.

use std::ffi::OsString;

use shared::args::{Command, Flag, Program};
use shared::dispatch_id::DispatchId;
use shared::error::Result;
use shared::name::Name;

use super::{NAME, Request, no_name, retries};
use crate::sandbox::Network;

pub(super) static PROGRAM: Program = Program {
    name: NAME,
    about: "run Claude Code as a worker",
    commands: &[Command {
        name: "",
        operands: "[flags] NAME [claude arguments…]",
        takes: (0, 0),
        about: "run Claude Code as a worker",
        flags: &[],
    }],
    flags: &[
        Flag {
            long: "explain",
            value: "",
            about: "print what would run, and which rule decided on each variable",
        },
        Flag { long: "id", value: "ID", about: "the dispatch's id, chosen by the caller" },
        Flag { long: "title", value: "T", about: "the dispatch's title in lists" },
        Flag {
            long: "retries",
            value: "N",
            about: "how often Claude Code itself retries after an API error",
        },
        Flag {
            long: "keep-background",
            value: "",
            about: "leave the worker's background processes running at its end",
        },
        Flag { long: "nested", value: "", about: "run although this already is a worker" },
        Flag {
            long: "sandbox",
            value: "",
            about: "it writes only to its directory, its own and temporary files (docs/sandbox.md)",
        },
        Flag { long: "no-network", value: "", about: "with --sandbox: no port but the provider's" },
    ],
    takes_keys: false,
    more: "\
Everything after NAME is Claude Code's: stdin, stdout, stderr and the exit code are passed through.
On a terminal without -p, mo-spawn becomes Claude Code.

dispatches that were started before:
  mo-spawn ps                       what runs, and what has just ended
  mo-spawn logs ID [--follow]       what a worker says and does
  mo-spawn tell ID TEXT             a message into a running worker's conversation
  mo-spawn resume ID [TEXT]         the same worker session, a new attempt
  mo-spawn attach ID                its session, opened in Claude Code
  mo-spawn stop ID…, wait ID…       end them; wait until they have ended
  mo-spawn worktrees [--prune]      the work trees of dispatches, and whether they are merged
  mo-spawn roles                    what a worker can be good at (--role)

with --task, mo-spawn owns the run: checks and sends back, limits, one result (mo-spawn --task - --help):
  mo-spawn glm --task task.md --check 'cargo test' --timeout 20m --json

examples:
  mo-spawn glm -p 'write a test for src/parse.rs' --model opus --permission-mode acceptEdits
  mo-spawn --explain glm -p hi
  mo-spawn work --usage             (an account's plan usage, --json for scripts)
  mo-spawn glm                      (an interactive session as this worker)

files:
  $CLAUDE_WORKERS_ROOT/NAME/settings.json    the worker (mo-worker create)
  $CLAUDE_WORKERS_ROOT/.dispatch/            a record of each dispatch

exit codes: Claude Code's own; before it starts: 64 wrong use, 75 the worker is at its limit, 77 no key,
78 the worker or Claude Code is missing or broken",
};

/// What the caller wants of mo-spawn itself, and the words for Claude Code.
#[derive(Debug)]
pub struct Options {
    /// The worker.
    pub worker: Name,
    /// Claude Code's arguments.
    pub claude: Vec<OsString>,
    /// The id chosen by the caller.
    pub id: Option<DispatchId>,
    /// The title for lists.
    pub title: Option<String>,
    /// The client's own retries.
    pub retries: Option<u32>,
    /// Whether what the worker left running stays.
    pub keep_background: bool,
    /// Whether a worker may start this one.
    pub nested: bool,
    /// Whether it is confined.
    pub sandbox: Option<Network>,
}

impl Options {
    /// Reads the words before the worker's name, and takes those behind it for Claude Code's.
    pub(super) fn parse(
        own: Vec<OsString>,
        name: Option<OsString>,
        claude: Vec<OsString>,
    ) -> Result<Request> {
        let matches = match PROGRAM.parse(own)? {
            shared::args::Request::Print(text) => return Ok(Request::Print(text)),
            shared::args::Request::Run(matches) => matches,
        };
        let name = name.ok_or_else(no_name)?;
        let mut claude = claude;
        let asked_behind = claude.first().is_some_and(|word| word == "--explain");
        if asked_behind {
            claude.remove(0);
        }
        let options = Self {
            worker: Name::parse(&name.to_string_lossy())?,
            claude,
            id: matches.value("id").map(DispatchId::parse).transpose()?,
            title: matches.value("title").map(str::to_owned),
            retries: matches.value("retries").map(retries).transpose()?,
            keep_background: matches.has("keep-background"),
            nested: matches.has("nested"),
            sandbox: super::sandbox(&matches)?,
        };
        Ok(if asked_behind || matches.has("explain") {
            Request::Explain(options)
        } else {
            Request::Run(options)
        })
    }
}
