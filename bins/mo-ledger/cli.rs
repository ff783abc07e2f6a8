//! The command line of mo-ledger, as a table.

use shared::args::{Command, Flag, Program};

use crate::{export, report, savings, update, watch};

const JSON: Flag = Flag { long: "json", value: "", about: "print JSON for programs" };
const QUIET: Flag = Flag { long: "quiet", value: "", about: "say nothing when all went well" };

/// The whole command line.
pub static PROGRAM: Program = Program {
    name: "mo-ledger",
    about: "every token of the manager and its workers, counted once and for good",
    commands: &[
        Command {
            name: "update",
            operands: "",
            takes: (0, 0),
            about: "count what is new in all transcripts",
            flags: &[JSON, QUIET, update::BRIEF],
        },
        Command {
            name: "rebuild",
            operands: "",
            takes: (0, 0),
            about: "count all transcripts again, keeping what only the ledger still knows",
            flags: &[JSON, QUIET],
        },
        Command {
            name: "report",
            operands: "",
            takes: (0, 0),
            about: "show what was used, by day, worker, model and more",
            flags: report::FLAGS,
        },
        Command {
            name: "savings",
            operands: "",
            takes: (0, 0),
            about: "show what the workers saved, in tokens and money",
            flags: savings::FLAGS,
        },
        Command {
            name: "statusline",
            operands: "",
            takes: (0, 0),
            about: "print one short line for Claude Code's status line; its JSON comes on standard input",
            flags: &[],
        },
        Command {
            name: "watch",
            operands: "",
            takes: (0, 0),
            about: "show a report that stays up to date, on a terminal; q ends it",
            flags: watch::FLAGS,
        },
        Command {
            name: "export",
            operands: "",
            takes: (0, 0),
            about: "print one row a message, for databases and data frames",
            flags: export::FLAGS,
        },
        Command {
            name: "count",
            operands: "[FILE...|-]",
            takes: (0, usize::MAX),
            about: "count these transcripts alone: files, or rows or file names on standard input",
            flags: &[JSON],
        },
        Command {
            name: "check",
            operands: "",
            takes: (0, 0),
            about: "tell what the ledger saw, and what needs you; ends with 1 if something does",
            flags: &[JSON],
        },
    ],
    flags: &[],
    takes_keys: false,
    more: r#"examples:
  mo-ledger savings
  mo-ledger report --by model --last 7d
  mo-ledger report --by day --since 2026-11-01 --timezone Europe/Vienna --json
  mo-ledger export --format csv > messages.csv
  cat session.jsonl | mo-ledger count --json
  find . -name '*.jsonl' | mo-ledger count

files:
  ~/.claude-workers/.usage/ledger.json   the sums, for jq and scripts
  ~/.claude-workers/.usage/              the counted messages
  ~/.claude-workers/prices.json          your own prices, over the bundled ones: dollars a million tokens
    {"models": {"my-model": {"input": 1, "output": 2, "cache_read": 0.1}, "qwen*": {"input": 0, "output": 0}}}
    (of cache_read, cache_write_5m and cache_write_1h, what is left out costs as input)

Fresh tokens are input, cache writes and output; cache reads stand apart.

exit codes: 0 done, 1 check: something needs you, 64 wrong use, 65 a file of it is broken, 74 cannot read or write,
75 busy, 78 no home directory
"#,
};
