//! One check: a command that judges the work. It runs in the worker's directory and environment, but without its key,
//! under a keeper of its own: it ends with mo-spawn, and what it leaves running ends with it.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use shared::error::{Error, Result};
use shared::exit::Exit;

use super::inbox::{Input, helper};
use crate::keeper::{self, Job, Kept, Orders, Streams};
use crate::launch::Launch;
use crate::sandbox::Sandbox;

/// The longest a check may take.
pub const LIMIT: Duration = Duration::from_secs(600);
/// How many lines are kept: the last.
const LINES: usize = 200;
/// The most bytes of a line that are kept.
const WIDTH: usize = 1000;
/// How long the last lines may take to come once the command has ended.
const LAST: Duration = Duration::from_millis(500);

/// A check at work.
#[derive(Debug)]
pub struct Running {
    group: Option<Pid>,
    tail: Arc<Mutex<Tail>>,
    /// When it began.
    pub began: Instant,
}

impl Running {
    /// Starts the command; its end comes into the inbox.
    pub fn start(
        command: &str,
        launch: &Launch,
        sandbox: Option<&Sandbox>,
        inbox: &SyncSender<Input>,
    ) -> Result<Self> {
        let (output, kept) = shell(command, launch, sandbox)
            .map_err(|error| Error::new(Exit::CouldNot, "cannot run sh for a check").because(&error))?;
        let group = i32::try_from(kept.pid).ok().and_then(Pid::from_raw);
        let tail = Arc::new(Mutex::new(Tail::default()));
        let (lines, inbox) = (Arc::clone(&tail), inbox.clone());
        helper(move || read(output, &lines))?;
        let last = Arc::clone(&tail);
        helper(move || wait(kept, &last, &inbox))?;
        Ok(Self { group, tail, began: Instant::now() })
    }

    /// Ends it and everything in its group.
    pub fn kill(&self) {
        if let Some(group) = self.group {
            // One that has ended needs no signal.
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
    }

    /// The last lines until now.
    pub fn tail(&self) -> String {
        self.tail.lock().map(|tail| tail.text()).unwrap_or_default()
    }
}

/// The code as a shell tells it.
pub fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}

/// Starts it under a keeper of its own, so that it ends with us, and what it leaves running with it.
fn shell(command: &str, launch: &Launch, sandbox: Option<&Sandbox>) -> io::Result<(PipeReader, Kept)> {
    let (output, both) = io::pipe()?;
    let nothing = File::open("/dev/null")?;
    let streams = Streams { stdin: nothing.into(), stdout: both.try_clone()?.into(), stderr: both.into() };
    let plain = launch.env.decisions().filter(|decision| !decision.secret);
    let job = Job {
        program: Path::new("/bin/sh"),
        arguments: vec![OsStr::new("-c"), OsStr::new(command)],
        env: plain.filter_map(|one| Some((one.name.as_os_str(), one.value.as_deref()?))).collect(),
        directory: &launch.directory,
    };
    let orders = Orders::new(launch.dispatch.as_ref().map(ToString::to_string), false).within(sandbox);
    Ok((output, keeper::start(&job, &orders, streams, None)?))
}

/// Waits until it and all below it are gone, and for its last lines.
fn wait(kept: Kept, tail: &Mutex<Tail>, inbox: &SyncSender<Input>) {
    let ended = kept.wait().map(|ended| ended.status);
    let until = Instant::now() + LAST;
    while Instant::now() < until && tail.lock().is_ok_and(|tail| !tail.complete) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let _ = inbox.send(Input::Checked(ended));
}

fn read(mut output: impl Read, tail: &Mutex<Tail>) {
    let mut piece = [0; 4096];
    loop {
        let length = match output.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(length) => length,
        };
        let Ok(mut tail) = tail.lock() else { return };
        tail.take(piece.get(..length).unwrap_or_default());
    }
    if let Ok(mut tail) = tail.lock() {
        tail.complete = true;
    }
}

/// The last lines of an output, in bounded memory.
#[derive(Debug, Default)]
struct Tail {
    lines: VecDeque<Vec<u8>>,
    line: Vec<u8>,
    left_out: u64,
    complete: bool,
}

impl Tail {
    fn take(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = match part.split_last() {
                Some((b'\n', text)) => (text, true),
                _ => (part, false),
            };
            let room = WIDTH.saturating_sub(self.line.len());
            self.line.extend(text.iter().take(room));
            if ends {
                if self.lines.len() == LINES {
                    self.lines.pop_front();
                    self.left_out += 1;
                }
                self.lines.push_back(std::mem::take(&mut self.line));
            }
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        if self.left_out > 0 {
            text.push_str(&format!("[{} lines before]\n", self.left_out));
        }
        let last = Some(&self.line).filter(|line| !line.is_empty());
        for line in self.lines.iter().chain(last) {
            text.push_str(&String::from_utf8_lossy(line));
            text.push('\n');
        }
        shared::flatten::paragraphs(&text, usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_are_kept_and_a_long_one_is_cut() {
        let mut tail = Tail::default();
        for number in 0..1000 {
            tail.take(format!("line {number}\n").as_bytes());
        }
        tail.take(&vec![b'x'; 1 << 20]);
        let text = tail.text();
        assert!(text.starts_with("[800 lines before]\nline 800\n"), "{text}");
        assert!(text.ends_with(&format!("line 999\n{}", "x".repeat(WIDTH))));
    }

    #[test]
    fn colours_and_hidden_characters_do_not_pass() {
        let mut tail = Tail::default();
        tail.take("\u{1b}[31mred\u{202e}\r\n".as_bytes());
        assert_eq!(tail.text(), " [31mred");
    }
}
