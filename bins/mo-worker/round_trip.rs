//! One question to one tier of a worker, and what its answer means.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::process::{Pid, Signal};
use serde::Deserialize;
use shared::api_error::Trouble;
use shared::api_failure::ApiFailure;
use shared::dispatch_id::DispatchId;
use shared::env;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::flatten::flatten;
use shared::record::Record;
use shared::redact::redact;
use shared::sibling;
use shared::tier::Tier;
use shared::worker::Worker;
use shared::world::World;

use crate::cancel::Cancel;
use crate::endpoint;

/// What a live model is asked to say.
const WORD: &str = "mockingbird";
/// Pauses between looks at the answer and at a wish to end.
const PAUSE: Duration = Duration::from_millis(20);
/// So much of a text is looked at before it is cut to be shown.
const LONGEST: usize = 4096;
/// The most of Claude Code's output that is read.
const CAP: u64 = 4 << 20;

/// What came of the question.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Answer {
    /// The word.
    Right,
    /// An answer, but not the word: a model that cannot follow.
    Wrong(String),
    /// An API error, with the client's words.
    Refused(Trouble, String),
    /// Not asked: the endpoint sends elsewhere, in these words.
    Detour(String),
    /// It took too long.
    TooLate(Duration),
    /// No answer that we understand: mo-spawn or Claude Code failed.
    Silent(String),
}

impl Answer {
    /// The kind, for worker.json.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Right => "ok",
            Self::Wrong(_) => "wrong-answer",
            Self::Refused(trouble, _) => trouble.name(),
            Self::Detour(_) => "redirect",
            Self::TooLate(_) => "timeout",
            Self::Silent(_) => "no-answer",
        }
    }

    /// In words. What others said goes through `safe` first.
    pub fn text(&self, safe: impl Fn(&str) -> String) -> String {
        let quoted = |said: &str, max| flatten(&safe(&flatten(said, LONGEST)), max);
        match self {
            Self::Right => "live".to_owned(),
            Self::Wrong(said) => format!("answers, but not what it was asked: {}", quoted(said, 60)),
            // Claude Code's own login is not what a worker lacks.
            Self::Refused(Trouble::Key, words) if words.contains("/login") => Trouble::Key.text().to_owned(),
            Self::Refused(trouble, words) => format!("{}: {}", trouble.text(), quoted(words, 200)),
            Self::Detour(words) => format!("not asked: the endpoint {}", flatten(words, 200)),
            Self::TooLate(after) => format!("no answer within {} s", after.as_secs()),
            Self::Silent(why) => format!("Claude Code gave no answer: {}", quoted(why, 200)),
        }
    }

    /// The exit code it deserves; nothing for a good answer.
    pub fn exit(&self) -> Option<Exit> {
        match self {
            Self::Right => None,
            Self::Refused(trouble, _) => Some(trouble.exit()),
            Self::Detour(_) => Some(Exit::Config),
            Self::TooLate(_) => Some(Exit::TimedOut),
            Self::Wrong(_) | Self::Silent(_) => Some(Exit::CouldNot),
        }
    }
}

/// Claude Code's result in print mode.
#[derive(Deserialize)]
struct Outcome {
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    result: String,
    api_error_status: Option<u16>,
    api_error_type: Option<String>,
}

/// Asks. The user may cancel it meanwhile: nothing is left running then, and nothing behind.
pub fn ask(
    world: &World,
    worker: &Worker,
    tier: Tier,
    patience: Duration,
    cancel: &Cancel,
) -> Result<Answer> {
    let spawn = sibling::find("mo-spawn").ok_or_else(|| {
        Error::new(Exit::Config, "mo-spawn is not beside mo-worker")
            .hint("install the programs again, all into one folder")
    })?;
    // A neutral place: no project's settings, rules or tools have a say.
    let neutral = tempfile::tempdir()
        .map_err(|error| Error::new(Exit::Io, "cannot make a temporary directory").because(&error))?;
    let asked = world.clock.now();
    let id = DispatchId::new(asked);
    let mut child = Command::new(&spawn)
        .args(["--retries", "0", "--title", "check", "--id", id.as_str(), worker.name.as_str(), "-p"])
        .arg(format!("Reply with exactly this word and nothing else: {WORD}"))
        .args(["--model", tier.name(), "--output-format", "json"])
        .current_dir(neutral.path())
        // It is the user's own test, not work that the session gave away.
        .env_remove(env::CLAUDE_CODE_SESSION_ID)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| Error::io("cannot run", &spawn, &error))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let errors = thread::spawn(move || all(stderr));
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(all(stdout)));
    let start = Instant::now();
    let output = loop {
        match receiver.recv_timeout(PAUSE) {
            Ok(output) => break output,
            Err(RecvTimeoutError::Disconnected) => break String::new(),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let cancelled = cancel.refuse();
        if cancelled.is_err() || start.elapsed() >= patience {
            stop(child.id());
            let _ = child.wait();
            return cancelled.map(|()| Answer::TooLate(patience));
        }
    };
    let status = child.wait().map_err(|error| Error::io("cannot wait for", &spawn, &error))?;
    let errors = errors.join().unwrap_or_default();
    match status.code() {
        Some(code @ (64 | 65 | 70 | 74 | 75 | 77 | 78)) if result_line(&output).is_none() => {
            Err(passed_on(code as u8, &errors))
        }
        _ => Ok(match read(&output, &errors) {
            Answer::Refused(trouble, words) => {
                // The record was made from the transcript, where older clients tell more than in their result.
                let trouble = recorded(world, &id, asked).unwrap_or(trouble);
                Answer::Refused(endpoint::narrow(trouble, worker.base_url()), words)
            }
            answer => answer,
        }),
    }
}

/// What mo-spawn made of it.
fn recorded(world: &World, id: &DispatchId, asked: Timestamp) -> Option<Trouble> {
    // A record lies in the month in which it was begun, a moment after it was asked for.
    [asked, world.clock.now()].into_iter().find_map(|month| {
        let record = Record::read(&Record::path(&world.paths, id, month).ok()?).ok()??;
        Trouble::named(&record.error?.kind)
    })
}

/// mo-spawn passes it on, and leaves nothing running; a key command is in its group.
fn stop(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process_group(pid, Signal::TERM);
    }
}

fn all(stream: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // What was read before a failure is all there is.
        let _ = stream.take(CAP).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// mo-spawn itself refused: that says nothing of the provider, and is told in its own words.
fn passed_on(code: u8, errors: &str) -> Error {
    let own: Vec<&str> = errors.lines().filter_map(|line| line.strip_prefix("mo-spawn: ")).collect();
    let hint = errors.lines().find_map(|line| line.strip_prefix("hint: "));
    let what = own.last().copied().unwrap_or("mo-spawn failed and did not say why");
    // What a key command said of itself comes before our words.
    let said = errors.lines().take_while(|line| !line.starts_with("mo-spawn: ")).last();
    let said = said.map(|said| format!(": {}", flatten(&redact(said, None, &[]), 200))).unwrap_or_default();
    let error = Error::new(Exit::Child(code), format!("{what}{said}"));
    hint.map_or(error.clone(), |hint| error.hint(hint))
}

fn result_line(output: &str) -> Option<&str> {
    output.lines().rev().find(|line| line.starts_with('{'))
}

/// What Claude Code's output means.
fn read(output: &str, errors: &str) -> Answer {
    let line = result_line(output).unwrap_or_default();
    let Ok(outcome) = serde_json::from_str::<Outcome>(line) else {
        let said = [errors, output].into_iter().find(|text| !text.trim().is_empty());
        return Answer::Silent(said.unwrap_or("no output").trim().to_owned());
    };
    if outcome.is_error {
        let failure = ApiFailure {
            status: outcome.api_error_status,
            error_type: outcome.api_error_type,
            class: None,
            text: outcome.result,
        };
        let failure = failure.completed();
        return Answer::Refused(failure.trouble(), failure.text);
    }
    if outcome.result.to_lowercase().contains(WORD) {
        return Answer::Right;
    }
    Answer::Wrong(outcome.result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_apart() {
        assert_eq!(read(r#"{"is_error":false,"result":"Mockingbird."}"#, ""), Answer::Right);
        assert_eq!(read(r#"{"result":"hello"}"#, "").kind(), "wrong-answer");
        let refused =
            r#"{"is_error":true,"result":"x","api_error_status":404,"api_error_type":"not_found_error"}"#;
        assert_eq!(read(refused, "").kind(), "model");
        assert_eq!(read(&refused.replace("\"not_found_error\"", "null"), "").kind(), "not-found");
        assert_eq!(read("", "unknown option"), Answer::Silent("unknown option".into()));
        assert_eq!(read("[1]", "").exit(), Some(Exit::CouldNot));
    }
}
