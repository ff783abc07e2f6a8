//! mo-spawn's command line: which of its two ways of working it asks for. Before the worker's name stand our own
//! words; after it Claude Code's, unless `--task` makes all of them ours.

mod amount;
mod limits;
mod task;
mod through;

use std::ffi::OsString;

use shared::args::{Flag, Matches, Program};
use shared::error::{Error, Result};
use shared::exit::Exit;

use crate::sandbox::Network;

pub use limits::Limits;
pub use task::{Progress, Source, Task};
pub use through::Options;

/// The program's name.
pub const NAME: &str = "mo-spawn";
/// The flag that selects managed mode.
const TASK: &str = "task";

/// What the command line asks for.
#[derive(Debug)]
pub enum Request {
    /// Help or version.
    Print(String),
    /// Only tell what would be done.
    Explain(Options),
    /// Run Claude Code, and pass everything through.
    Run(Options),
    /// Run a task, and own it.
    Manage(Box<Task>),
}

impl Request {
    /// Reads the command line.
    pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Self> {
        let mut own = Vec::new();
        let mut words = words.into_iter();
        let name = loop {
            let Some(word) = words.next() else { break None };
            let text = word.to_string_lossy();
            if !text.starts_with('-') || text == "-" {
                break Some(word);
            }
            let takes_value = [&through::PROGRAM, &task::PROGRAM].iter().any(|program| {
                text.strip_prefix("--").and_then(|long| flag(program, long)).is_some_and(takes_a_word)
            });
            own.push(word);
            if takes_value {
                own.extend(words.next());
            }
        };
        let rest: Vec<OsString> = words.collect();
        if asks_for_a_task(&own) || asks_for_a_task(&rest) {
            own.extend(rest);
            return Task::parse(own, name);
        }
        Options::parse(own, name, rest)
    }
}

/// Whether a sandbox was asked for, and what of the network is left in it.
fn sandbox(matches: &Matches) -> Result<Option<Network>> {
    match (matches.has("sandbox"), matches.has("no-network")) {
        (false, true) => Err(Error::new(Exit::Usage, "--no-network is for a run with --sandbox")),
        (false, false) => Ok(None),
        (true, true) => Ok(Some(Network::ProviderOnly)),
        (true, false) => Ok(Some(Network::Open)),
    }
}

/// Whether `--task` stands among these words, and only words of ours before it.
fn asks_for_a_task(words: &[OsString]) -> bool {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        let Some(long) = text.strip_prefix("--") else { return false };
        let (long, inline) = long.split_once('=').map_or((long, false), |(long, _)| (long, true));
        match flag(&task::PROGRAM, long) {
            Some(flag) if flag.long == TASK => return true,
            Some(flag) if takes_a_word(flag) && !inline => {
                words.next();
            }
            Some(_) => {}
            None => return false,
        }
    }
    false
}

fn flag(program: &'static Program, long: &str) -> Option<&'static Flag> {
    program.flags.iter().find(|flag| flag.long == long)
}

/// Whether the next word is its value.
fn takes_a_word(flag: &Flag) -> bool {
    !flag.value.is_empty() && !flag.value.starts_with('[')
}

fn no_name() -> Error {
    Error::new(Exit::Usage, "NAME is missing: which worker?")
        .hint("`mo-worker list` shows the workers; usage: mo-spawn NAME [claude arguments…]")
}

/// How often Claude Code itself tries again.
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
        Request::parse(words.iter().map(OsString::from))
    }

    fn is_managed(words: &[&str]) -> bool {
        matches!(parse(words), Ok(Request::Manage(_)))
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

    #[test]
    fn a_task_before_or_behind_the_name_makes_all_words_ours() {
        for words in [
            &["--task", "f", "glm"][..],
            &["glm", "--task", "-"],
            &["glm", "--check", "--x", "--task=f"],
            &["--check", "make test", "glm", "--json", "--model", "opus", "--task", "f"],
        ] {
            assert!(is_managed(words), "{words:?}");
        }
        for words in [
            &["glm", "-p", "--task", "f"][..],
            &["glm", "do it", "--task", "f"],
            &["glm", "--title", "--task"],
            &["--title", "--task", "glm"],
        ] {
            assert!(!is_managed(words), "{words:?}");
        }
    }

    #[test]
    fn a_check_that_is_empty_checks_nothing_and_is_refused() {
        for words in [["--check", ""], ["--check", " "]] {
            let error = parse(&["glm", "--task", "-", words[0], words[1]]).unwrap_err();
            assert_eq!(error.exit(), Exit::Usage, "{words:?}");
        }
        let error = parse(&["glm", "--task"]).unwrap_err();
        assert_eq!(error.what_next(), Some("`mo-spawn --task - --help` lists the flags"));
    }
}
