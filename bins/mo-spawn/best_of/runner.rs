//! One run that takes part: a managed mo-spawn of its own, in a tree of its own, tied to us.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::Sender;
use std::thread;

use serde_json::Value;
use shared::dispatch_id::DispatchId;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::flatten::flatten;
use shared::name::Name;
use shared::say::Say;

use super::Happened;

/// The most of a result that is read.
const RESULT: u64 = 16 << 20;
/// The longest line of its course that is shown.
const LINE: usize = 500;

/// What a run says of its own branch.
const EARLY: [&str; 2] = ["hint: look: ", "hint: take: "];

/// The run.
#[derive(Debug)]
pub struct Runner {
    /// Its number, from 1.
    pub number: usize,
    /// Who works.
    pub worker: Name,
    /// Its dispatch.
    pub id: DispatchId,
    /// Its result, once it has ended.
    pub ended: Option<Ended>,
    /// What the judge said of it.
    pub score: Option<f64>,
    /// While this is open it runs on.
    cord: Option<ChildStdin>,
    pid: u32,
}

/// How it ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code.
    pub code: u8,
    /// Its result document; nothing where it never came to one.
    pub document: Option<Value>,
}

impl Runner {
    /// Starts it: `words` are what it shares with all others.
    pub fn start(
        program: &Path,
        words: &[OsString],
        number: usize,
        worker: &Name,
        id: DispatchId,
        shown: Option<Say>,
        happened: &Sender<Happened>,
    ) -> Result<Self> {
        let failed =
            |error: std::io::Error| Error::new(Exit::CouldNot, "cannot run").at(program).because(&error);
        let own = ["--id", id.as_str(), "--json", "--tied", "--progress"].map(OsStr::new);
        let mut child = Command::new(program)
            .arg(worker.as_str())
            .args(words)
            .args(own)
            .arg(if shown.is_some() { "plain" } else { "none" })
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A key that a user presses reaches us alone; we end it by letting go of the cord.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let pid = child.id();
        let cord = child.stdin.take();
        if let Some(said) = child.stderr.take() {
            let mark = format!("[{number} {worker}]");
            thread::spawn(move || show(&mark, said, shown));
        }
        let happened = happened.clone();
        thread::spawn(move || happened.send(Happened::Ended(number, watch(child))));
        Ok(Self { number, worker: worker.clone(), id, ended: None, score: None, cord, pid })
    }

    /// Whether it still runs.
    pub fn is_running(&self) -> bool {
        self.ended.is_none()
    }

    /// Whether it did the task, and all checks passed.
    pub fn has_passed(&self) -> bool {
        self.ended.as_ref().is_some_and(|ended| {
            ended.code == 0 && ended.document.as_ref().is_some_and(|document| document["status"] == "done")
        })
    }

    /// Lets go of it: it ends what it started, and itself.
    pub fn stop(&mut self) {
        self.cord = None;
    }

    /// Asks it once more, where letting go was not enough.
    pub fn terminate(&self) {
        if let Some(pid) = i32::try_from(self.pid).ok().and_then(rustix::process::Pid::from_raw) {
            // One that has just ended is what we want.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
    }
}

fn watch(mut child: Child) -> Ended {
    let mut text = Vec::new();
    if let Some(result) = child.stdout.take() {
        let _ = result.take(RESULT).read_to_end(&mut text);
    }
    let code = child.wait().ok().and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok());
    Ended { code: code.unwrap_or(Exit::CouldNot.code()), document: serde_json::from_slice(&text).ok() }
}

/// Its course, each line with its number before it.
fn show(mark: &str, said: impl Read, shown: Option<Say>) {
    for line in BufReader::new(said).split(b'\n').map_while(std::result::Result::ok) {
        let line = flatten(&String::from_utf8_lossy(&line), LINE);
        // Only the winner's branch is there in the end: how to take it is told then.
        let is_early = EARLY.iter().any(|hint| line.starts_with(hint));
        if let Some(say) = shown.filter(|_| !is_early) {
            say.aside(&format!("{mark} {line}\n"));
        }
    }
}
