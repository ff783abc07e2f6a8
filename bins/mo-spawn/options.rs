//! mo-spawn's own words: those before the worker's name. Everything after it belongs to Claude Code.

use std::ffi::OsString;

use shared::args::{Command, Flag, Program};
use shared::dispatch_id::DispatchId;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::name::Name;

/// The program's name.
pub const NAME: &str = "mo-spawn";

static PROGRAM: Program = Program {
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
    ],
    takes_keys: false,
    more: "\
Everything after NAME is Claude Code's: stdin, stdout, stderr and the exit code are passed through.
On a terminal without -p, mo-spawn becomes Claude Code.

dispatches that were started before:
  mo-spawn ps                       what runs, and what has just ended
  mo-spawn logs ID [--follow]       what a worker says and does
  mo-spawn tell ID TEXT             a message into a running worker's conversation
  mo-spawn stop ID…, wait ID…       end them; wait until they have ended

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
}

/// What the command line asks for.
#[derive(Debug)]
pub enum Request {
    /// Help or version.
    Print(String),
    /// Only tell what would be done.
    Explain(Options),
    /// Do it.
    Run(Options),
}

impl Options {
    /// Reads the command line.
    pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Request> {
        let mut own = Vec::new();
        let mut words = words.into_iter();
        let name = loop {
            let Some(word) = words.next() else { break None };
            let text = word.to_string_lossy();
            if !text.starts_with('-') || text == "-" {
                break Some(word);
            }
            let takes_value = PROGRAM
                .flags
                .iter()
                .any(|flag| !flag.value.is_empty() && text.strip_prefix("--") == Some(flag.long));
            own.push(word);
            if takes_value {
                own.extend(words.next());
            }
        };
        let matches = match PROGRAM.parse(own)? {
            shared::args::Request::Print(text) => return Ok(Request::Print(text)),
            shared::args::Request::Run(matches) => matches,
        };
        let name = name.ok_or_else(|| {
            Error::new(Exit::Usage, "NAME is missing: which worker?")
                .hint("`mo-worker list` shows the workers; usage: mo-spawn NAME [claude arguments…]")
        })?;
        let mut claude: Vec<OsString> = words.collect();
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
        };
        Ok(if asked_behind || matches.has("explain") {
            Request::Explain(options)
        } else {
            Request::Run(options)
        })
    }
}

fn retries(typed: &str) -> Result<u32> {
    typed
        .parse()
        .ok()
        .filter(|number| *number <= 100)
        .ok_or_else(|| Error::new(Exit::Usage, format!("--retries `{typed}` is no number from 0 to 100")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Request> {
        Options::parse(words.iter().map(OsString::from))
    }

    #[test]
    fn everything_after_the_name_is_claudes() {
        let Request::Run(options) = parse(&["--title", "t", "glm", "-p", "--title", "--nested"]).unwrap()
        else {
            panic!()
        };
        assert_eq!(options.title.as_deref(), Some("t"));
        assert_eq!(options.claude, ["-p", "--title", "--nested"]);
        assert!(!options.nested);
    }

    #[test]
    fn explain_stands_before_or_right_behind_the_name() {
        for words in [["--explain", "glm", "-p"], ["glm", "--explain", "-p"]] {
            let Request::Explain(options) = parse(&words).unwrap() else { panic!() };
            assert_eq!(options.claude, ["-p"]);
        }
    }

    #[test]
    fn a_wrong_call_is_told() {
        for words in
            [&[][..], &["--title", "t"], &["../x"], &["--frobnicate", "glm"], &["--retries", "-1", "glm"]]
        {
            assert_eq!(parse(words).unwrap_err().exit(), Exit::Usage, "{words:?}");
        }
    }
}
