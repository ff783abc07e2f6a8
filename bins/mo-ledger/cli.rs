//! The command line of mo-ledger, as a table.

use shared::args::{Command, Flag, Program};

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
            flags: &[JSON, QUIET],
        },
        Command {
            name: "rebuild",
            operands: "",
            takes: (0, 0),
            about: "count all transcripts again, keeping what only the ledger still knows",
            flags: &[JSON, QUIET],
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
    more: "\
examples:
  mo-ledger update
  cat session.jsonl | mo-ledger count --json
  find . -name '*.jsonl' | mo-ledger count

files:
  ~/.claude-workers/.usage/ledger.json   the sums, for jq and scripts
  ~/.claude-workers/.usage/              the counted messages
",
};
