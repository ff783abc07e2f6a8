//! Claude Code's process in managed mode: its three streams are ours. What it says comes into the inbox.

use std::io::{self, PipeWriter, Read, Write};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal};
use shared::claude;
use shared::error::Result;
use shared::flatten::flatten;
use shared::lock::Lock;

use super::frame::Frame;
use super::inbox::{Input, helper};
use super::lines::{Line, Lines};
use crate::keeper::{self, Job, Orders, Streams};
use crate::launch::Launch;
use crate::sandbox::Sandbox;

/// What is kept of what it prints on standard error: the end.
const KEPT: usize = 4096;

/// So much may be printed without anybody looking at the limit.
const UNTOLD: u64 = 256 << 10;

/// A running Claude Code.
#[derive(Debug)]
pub struct Client {
    /// Which of our processes it is, from 1.
    pub number: u32,
    /// Its process, which leads its own group.
    pub pid: u32,
    /// Nothing once its standard input has ended.
    to: Option<Sender<Vec<u8>>>,
    complaints: Arc<Mutex<Vec<u8>>>,
    /// Whether it has ended.
    pub gone: bool,
    /// Whether it has closed its standard input.
    pub deaf: bool,
    /// How it ended, where that is known.
    pub status: Option<ExitStatus>,
    /// Whether it says no more.
    pub silent: bool,
}

impl Client {
    /// Starts it under its keeper, with the first thing it is told.
    pub fn start(
        launch: &Launch,
        sandbox: Option<&Sandbox>,
        number: u32,
        first: Vec<u8>,
        place: Option<&Lock>,
        inbox: &SyncSender<Input>,
        printed: &Arc<AtomicU64>,
    ) -> Result<Self> {
        let failed = |error: &io::Error| claude::cannot_run(&launch.program, error);
        let (theirs, stdin) = io::pipe().map_err(|error| failed(&error))?;
        let streams = Streams { stdin: theirs.into(), stdout: Stdio::piped(), stderr: Stdio::piped() };
        let orders = Orders::new(launch.dispatch.as_ref().map(ToString::to_string), launch.keep_background)
            .within(sandbox);
        let (to, messages) = mpsc::channel();
        // Before anything else, so that it is there when it is looked for.
        let _ = to.send(first);
        let hears = inbox.clone();
        helper(move || {
            if write(stdin, &messages).is_err() {
                let _ = hears.send(Input::Deaf(number));
            }
        })?;
        let mut kept =
            keeper::start(&Job::of(launch), &orders, streams, place).map_err(|error| failed(&error))?;
        let pid = kept.pid;
        let complaints = Arc::new(Mutex::new(Vec::new()));
        if let Some(stdout) = kept.keeper.stdout.take() {
            let (inbox, printed) = (inbox.clone(), Arc::clone(printed));
            helper(move || listen(number, stdout, &printed, &inbox))?;
        }
        if let Some(stderr) = kept.keeper.stderr.take() {
            let (kept, printed) = (Arc::clone(&complaints), Arc::clone(printed));
            helper(move || keep(stderr, &printed, &kept))?;
        }
        let inbox = inbox.clone();
        helper(move || {
            let ended = kept.wait().map(|ended| ended.status);
            let _ = inbox.send(Input::Ended(number, ended));
        })?;
        Ok(Self {
            number,
            pid,
            to: Some(to),
            complaints,
            gone: false,
            deaf: false,
            status: None,
            silent: false,
        })
    }

    /// Says something, if it still listens.
    pub fn say(&self, line: Vec<u8>) {
        if let Some(to) = &self.to {
            let _ = to.send(line);
        }
    }

    /// Ends its standard input: it does what is left and ends.
    pub fn hang_up(&mut self) {
        self.to = None;
    }

    /// Signals its whole group.
    pub fn signal(&self, signal: Signal) {
        let group = i32::try_from(self.pid).ok().and_then(Pid::from_raw).filter(|_| !self.gone);
        if let Some(group) = group {
            // One that has just ended needs no signal.
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }

    /// The last line of what it printed on standard error.
    pub fn complaint(&self) -> Option<String> {
        let kept = self.complaints.lock().ok()?;
        let text = String::from_utf8_lossy(&kept);
        let mut lines =
            text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("[claude-code:"));
        lines.next_back().map(|line| flatten(line, 300))
    }
}

fn write(mut stdin: PipeWriter, messages: &Receiver<Vec<u8>>) -> io::Result<()> {
    messages.iter().try_for_each(|message| stdin.write_all(&message))
}

fn listen(number: u32, stdout: impl Read, printed: &AtomicU64, inbox: &SyncSender<Input>) {
    let mut lines = Lines::of(stdout);
    let mut told = 0;
    while let Ok(Some(line)) = lines.next(printed) {
        let frame = match line {
            Line::Whole(line) => Frame::of(line),
            Line::Cut(head) => Frame::of_cut(head),
        };
        // What says nothing wakes nobody up, unless it is a flood.
        let now = printed.load(Ordering::Relaxed);
        if matches!(frame, Frame::Other) && now - told < UNTOLD {
            continue;
        }
        told = now;
        if inbox.send(Input::Frame(number, Box::new(frame))).is_err() {
            return;
        }
    }
    let _ = inbox.send(Input::Silent(number));
}

fn keep(mut stderr: impl Read, printed: &AtomicU64, kept: &Mutex<Vec<u8>>) {
    let mut piece = [0; KEPT];
    while let Ok(length @ 1..) = stderr.read(&mut piece) {
        printed.fetch_add(length as u64, Ordering::Relaxed);
        let Ok(mut kept) = kept.lock() else { return };
        kept.extend(piece.iter().take(length));
        let surplus = kept.len().saturating_sub(KEPT);
        kept.drain(..surplus);
    }
}
