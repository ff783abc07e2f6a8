//! Managed mode: a task with everything that bounds and judges it. All words are ours.

use std::ffi::OsString;
use std::path::PathBuf;

use shared::args::{Command, Flag, Matches, Program};
use shared::dispatch_id::DispatchId;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::name::Name;
use shared::tier::Tier;

use crate::best_of::Field;
use crate::sandbox::Network;

use super::limits::Limits;
use super::{NAME, Options, Request, amount, no_name, retries};

/// Where these flags are listed.
const HELP: &str = "`mo-spawn --task - --help` lists the flags";
/// How often a task is tried when nobody says.
const ATTEMPTS: u32 = 2;

pub(super) static PROGRAM: Program = Program {
    name: NAME,
    about: "run a task on a worker, check it, and send it back until it is right",
    commands: &[Command {
        name: "",
        operands: "NAME --task FILE|- [flags]",
        takes: (0, 0),
        about: "run a task on a worker, check it, and send it back until it is right",
        flags: &[],
    }],
    flags: &[
        Flag { long: "task", value: "FILE", about: "the task; - reads it from standard input" },
        Flag { long: "check", value: "CMD", about: "a command that must succeed afterwards (repeatable)" },
        Flag { long: "attempts", value: "N", about: "how often the task is tried (default: 2)" },
        Flag { long: "baseline", value: "", about: "run the checks before, and tell which failed already" },
        Flag { long: "timeout", value: "TIME", about: "the longest it may take, like 20m" },
        Flag { long: "budget-usd", value: "X", about: "the most it may cost, by our price list" },
        Flag { long: "budget-tokens", value: "N", about: "the most fresh tokens it may use, like 200k" },
        Flag { long: "max-turns", value: "N", about: "the most answers of the model" },
        Flag { long: "role", value: "ROLE", about: "the role it plays (mo-spawn roles)" },
        Flag { long: "max-output-bytes", value: "N", about: "the most Claude Code may print, like 50MB" },
        Flag { long: "tier", value: "T", about: "opus, sonnet, haiku or fable: the worker's model of it" },
        Flag { long: "model", value: "M", about: "a model or a tier" },
        Flag { long: "effort", value: "E", about: "how hard it thinks: low, medium, high, xhigh or max" },
        Flag { long: "system-prompt-file", value: "FILE", about: "added to Claude Code's system prompt" },
        Flag {
            long: "worktree",
            value: "[=BASE]",
            about: "work in a git work tree of its own, from HEAD or BASE",
        },
        Flag {
            long: "best-of",
            value: "N|NAMES",
            about: "run it N times, or by each of these: the first that passes wins",
        },
        Flag {
            long: "judge",
            value: "CMD",
            about: "of those that pass, the one for which CMD prints the highest number wins",
        },
        Flag { long: "files", value: "GLOB", about: "the only files it may change (repeatable)" },
        Flag {
            long: "permission-mode",
            value: "M",
            about: "Claude Code's permission mode (default: acceptEdits)",
        },
        Flag {
            long: "allow",
            value: "RULE",
            about: "a tool, or Bash(git diff:*), Edit(src/**): needs no question (repeatable)",
        },
        Flag {
            long: "sandbox",
            value: "",
            about: "it writes only to its work tree, its own and temporary files (docs/sandbox.md)",
        },
        Flag { long: "no-network", value: "", about: "with --sandbox: no port but the provider's" },
        Flag { long: "policy", value: "FILE", about: "rules that allow and deny, as JSON (docs/sandbox.md)" },
        Flag { long: "json", value: "", about: "the result as one JSON document" },
        Flag { long: "detach", value: "", about: "print the id and go on in the background" },
        Flag { long: "progress", value: "HOW", about: "bar, plain or none, on standard error" },
        Flag { long: "events", value: "WHERE", about: "a file, or fd:N: one JSON line an event" },
        Flag { long: "id", value: "ID", about: "the dispatch's id, chosen by the caller" },
        Flag { long: "title", value: "T", about: "the dispatch's title in lists" },
        Flag { long: "tool-use-id", value: "U", about: "the tool use that gave the task away" },
        Flag {
            long: "retries",
            value: "N",
            about: "how often Claude Code itself retries after an API error",
        },
        Flag { long: "continue-from", value: "ID", about: "go on with the worker session of this dispatch" },
        Flag { long: "anew", value: "", about: "with --continue-from: in its place, a session of its own" },
        Flag { long: "tied", value: "", about: "stop when standard input ends or the caller dies" },
        Flag { long: "wait-quota", value: "", about: "wait until a used-up quota is renewed" },
        Flag { long: "keep-background", value: "", about: "leave the worker's background processes running" },
        Flag { long: "nested", value: "", about: "run although this already is a worker" },
        Flag { long: "explain", value: "", about: "print what would run" },
    ],
    takes_keys: false,
    more: "\
Standard output carries the result only: the worker's summary, or with --json one document.

examples:
  mo-spawn glm --task task.md --check 'cargo test' --timeout 20m
  echo 'write a test for src/parse.rs' | mo-spawn glm --task - --check 'cargo test' --json
  mo-spawn glm --task task.md --worktree --check 'cargo test'    (then: git merge mo/ID)
  mo-spawn --best-of glm,kimi --task task.md --check 'cargo test'

files:
  $CLAUDE_WORKERS_ROOT/.dispatch/MONTH/ID.json     the record; beside it ID.prompt and ID.events

exit codes: 0 done, 1 failed, denied or a check failed, 64 wrong use, 69 provider or quota, 74 cannot read or write,
75 a limit was reached, 77 the key is missing or refused, 78 wrong model, URL or configuration, 124 timed out,
130 cancelled",
};

/// Where the task's text comes from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
    /// This text.
    Text(String),
}

/// How the course is shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Progress {
    /// One live line.
    Bar,
    /// A line an event.
    Plain,
    /// Not at all.
    None,
}

/// A task and how it is run.
#[derive(Clone, Debug)]
pub struct Task {
    /// The worker.
    pub worker: Name,
    /// Where the text comes from.
    pub source: Source,
    /// What judges the work.
    pub checks: Vec<String>,
    /// How often it is tried.
    pub attempts: u32,
    /// Whether the checks also run before.
    pub baseline: bool,
    /// What bounds it.
    pub limits: Limits,
    /// What it is to be good at.
    pub role: Option<String>,
    /// What that adds to Claude Code's arguments.
    pub cast: Vec<OsString>,
    /// What it says to the worker.
    pub role_words: Option<String>,
    /// The file that holds all that the worker is told besides the task.
    pub told: Option<PathBuf>,
    /// What it may do without a question, because its role says so.
    pub allowed_by_role: Vec<String>,
    /// A model or tier.
    pub model: Option<String>,
    /// How hard it thinks.
    pub effort: Option<String>,
    /// What is added to the system prompt.
    pub system_prompt: Option<PathBuf>,
    /// Whether the caller does not wait.
    pub detach: bool,
    /// The dispatch whose session goes on.
    pub continue_from: Option<DispatchId>,
    /// Whether it goes on in that one's place only.
    pub anew: bool,
    /// Whether it works in a tree of its own, and from which commit; nothing said is HEAD.
    pub worktree: Option<String>,
    /// Who else does the same side by side.
    pub best_of: Option<Field>,
    /// What says how good their work is.
    pub judge: Option<String>,
    /// The only files it may change.
    pub files: Vec<String>,
    /// Claude Code's permission mode.
    pub permission_mode: Option<String>,
    /// What needs no question.
    pub allow: Vec<String>,
    /// Whether the worker and the checks are confined.
    pub sandbox: Option<Network>,
    /// A file of rules.
    pub policy: Option<PathBuf>,
    /// Whether the result is JSON.
    pub json: bool,
    /// How the course is shown; nothing leaves it to the terminal.
    pub progress: Option<Progress>,
    /// Where events go, beside their file.
    pub events: Option<String>,
    /// The id chosen by the caller.
    pub id: Option<DispatchId>,
    /// The title for lists.
    pub title: Option<String>,
    /// The tool use that gave it away.
    pub tool_use_id: Option<String>,
    /// The client's own retries.
    pub retries: Option<u32>,
    /// Whether it dies with its caller.
    pub tied: bool,
    /// Whether a used-up quota is waited for.
    pub wait_quota: bool,
    /// Whether what the worker left running stays.
    pub keep_background: bool,
    /// Whether a worker may start this one.
    pub nested: bool,
    /// Whether it is only told.
    pub explain: bool,
    /// The command line but for the worker's name.
    pub given: Vec<OsString>,
}

/// What a run that takes part in a contest gets from us instead.
const NOT_SHARED: &[&str] =
    &["task", "best-of", "judge", "json", "progress", "id", "title", "tied", "worktree", "explain", "detach"];

impl Task {
    /// Reads the command line but for the worker's name.
    pub fn parse(words: Vec<OsString>, name: Option<OsString>) -> Result<Request> {
        let matches = match PROGRAM.parse(words.clone()).map_err(with_our_help)? {
            shared::args::Request::Print(text) => return Ok(Request::Print(text)),
            shared::args::Request::Run(matches) => matches,
        };
        let named = name.map(|name| Name::parse(&name.to_string_lossy())).transpose()?;
        let field = matches.value("best-of").map(|said| Field::parse(said, named.as_ref())).transpose()?;
        let first = field.as_ref().and_then(|field| field.workers().first().cloned());
        let worker = named.or(first).ok_or_else(no_name)?;
        let task = Self { best_of: field, given: words, ..Self::of(&matches, worker)? };
        task.refuse_what_does_not_go_together()?;
        Ok(Request::Manage(Box::new(task)))
    }

    fn refuse_what_does_not_go_together(&self) -> Result<()> {
        let wrong = |what| Err(Error::new(Exit::Usage, what));
        let empty = |command: &str| command.trim().is_empty();
        // As of a variable that is not set: a shell would say that it succeeded.
        if self.checks.iter().any(|check| empty(check)) {
            return wrong("--check is an empty command, which checks nothing");
        }
        if self.judge.as_deref().is_some_and(empty) {
            return wrong("--judge is an empty command, which judges nothing");
        }
        match &self.best_of {
            Some(_) if self.id.is_some() => wrong("--id names one dispatch, and --best-of starts several"),
            None if self.judge.is_some() => {
                wrong("--judge is for --best-of: there is nothing to choose from")
            }
            // It runs what the workers wrote, after their sandboxes have gone.
            Some(_) if self.judge.is_some() && self.sandbox.is_some() => {
                wrong("--judge would run outside the --sandbox: make it a --check, or leave one of them out")
            }
            Some(_) if self.detach => wrong("--detach is for one dispatch, and --best-of starts several"),
            _ if self.detach && self.tied => wrong("--detach and --tied exclude each other"),
            _ if self.continue_from.is_some() && (self.worktree.is_some() || self.best_of.is_some()) => {
                wrong("--continue-from goes on where that dispatch was, in its worktree if it had one")
            }
            _ => Ok(()),
        }
    }

    /// The words that every run of a contest gets: all but those that name one run, and a tree of its own.
    pub fn shared_words(&self) -> Vec<OsString> {
        let mut shared = self.given_but(NOT_SHARED);
        let base = self.worktree.as_ref().filter(|base| !base.is_empty());
        let base = base.map(|base| format!("={base}")).unwrap_or_default();
        shared.push(format!("--worktree{base}").into());
        shared
    }

    /// The words as they were given, but these flags.
    pub fn given_but(&self, left_out: &[&str]) -> Vec<OsString> {
        let mut kept = Vec::new();
        let mut words = self.given.iter();
        while let Some(word) = words.next() {
            let text = word.to_string_lossy();
            let long = text.trim_start_matches("--").split('=').next().unwrap_or_default();
            let takes_a_word =
                !text.contains('=') && super::flag(&PROGRAM, long).is_some_and(super::takes_a_word);
            let value = if takes_a_word { words.next() } else { None };
            if !left_out.contains(&long) {
                kept.push(word.clone());
                kept.extend(value.cloned());
            }
        }
        kept
    }

    fn of(matches: &Matches, worker: Name) -> Result<Self> {
        let text = |flag: &str| matches.value(flag).map(str::to_owned);
        let all = |flag: &str| matches.values(flag).map(str::to_owned).collect::<Vec<_>>();
        Ok(Self {
            worker,
            source: match matches.value(super::TASK) {
                Some("-") | None => Source::Stdin,
                Some(path) => Source::File(PathBuf::from(path)),
            },
            checks: all("check"),
            attempts: matches
                .value("attempts")
                .map_or(Ok(ATTEMPTS), |typed| amount::number("attempts", typed, 20))?,
            baseline: matches.has("baseline"),
            limits: Limits::of(matches)?,
            role: text("role"),
            cast: Vec::new(),
            role_words: None,
            told: None,
            allowed_by_role: Vec::new(),
            model: model(matches)?,
            effort: text("effort"),
            system_prompt: matches.value("system-prompt-file").map(PathBuf::from),
            detach: matches.has("detach"),
            continue_from: matches.value("continue-from").map(DispatchId::parse).transpose()?,
            anew: matches.has("anew"),
            worktree: text("worktree"),
            best_of: None,
            judge: text("judge"),
            files: all("files"),
            permission_mode: text("permission-mode"),
            allow: all("allow"),
            sandbox: super::sandbox(matches)?,
            policy: matches.value("policy").map(PathBuf::from),
            json: matches.has("json"),
            progress: matches.value("progress").map(progress).transpose()?,
            events: text("events"),
            id: matches.value("id").map(DispatchId::parse).transpose()?,
            title: text("title"),
            tool_use_id: text("tool-use-id"),
            retries: matches.value("retries").map(retries).transpose()?,
            tied: matches.has("tied"),
            wait_quota: matches.has("wait-quota"),
            keep_background: matches.has("keep-background"),
            nested: matches.has("nested"),
            explain: matches.has("explain"),
            given: Vec::new(),
        })
    }

    /// The same as a launch in pass-through takes it, with these words for Claude Code.
    pub fn through(&self, claude: Vec<OsString>) -> Options {
        Options {
            worker: self.worker.clone(),
            claude,
            id: self.id.clone(),
            title: self.title.clone(),
            retries: self.retries,
            keep_background: self.keep_background,
            nested: self.nested,
            sandbox: self.sandbox,
        }
    }
}

/// The program's name stands for both ways of working: the help that lists these flags is that of a task.
fn with_our_help(error: Error) -> Error {
    match error.what_next() {
        Some(hint) if hint.starts_with("`mo-spawn --help`") => error.clone().hint(HELP),
        _ => error,
    }
}

/// `--tier` is a model's name that must be a tier.
fn model(matches: &Matches) -> Result<Option<String>> {
    match (matches.value("tier"), matches.value("model")) {
        (Some(_), Some(_)) => Err(Error::new(Exit::Usage, "--tier and --model exclude each other")),
        (Some(tier), None) => Tier::parse(tier).map(|tier| Some(tier.name().to_owned())),
        (None, model) => Ok(model.map(str::to_owned)),
    }
}

fn progress(typed: &str) -> Result<Progress> {
    match typed {
        "bar" => Ok(Progress::Bar),
        "plain" => Ok(Progress::Plain),
        "none" => Ok(Progress::None),
        _ => Err(Error::new(Exit::Usage, "--progress is one of bar, plain and none")),
    }
}
