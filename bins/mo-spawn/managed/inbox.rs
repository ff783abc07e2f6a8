//! Everything that can happen while a task runs comes in here, one thing after the other.

use std::io;
use std::process::ExitStatus;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread;

use shared::control::{Answer, Request};
use shared::error::{Error, Result};
use shared::exit::Exit;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use super::frame::Frame;

/// How much may wait to be looked at: whoever says more waits too, so that a flood needs no memory.
const WAITING: usize = 64;
/// Enough for what these threads do.
const STACK: usize = 256 << 10;

/// Something that happened.
#[derive(Debug)]
pub enum Input {
    /// Claude Code said something; which of our processes it was.
    Frame(u32, Box<Frame>),
    /// It says no more.
    Silent(u32),
    /// It hears no more.
    Deaf(u32),
    /// It ended.
    Ended(u32, io::Result<ExitStatus>),
    /// A check ended.
    Checked(io::Result<ExitStatus>),
    /// Somebody asks something through the control socket.
    Asked(Request, Sender<Answer>),
    /// A signal that means the end.
    Signal,
    /// Whoever started us has gone.
    Orphaned,
}

/// Where it comes in, and how it gets there.
pub fn open() -> (SyncSender<Input>, Receiver<Input>) {
    mpsc::sync_channel(WAITING)
}

/// From now on, signals that mean the end come in.
pub fn watch_signals(inbox: &SyncSender<Input>) -> Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT])
        .map_err(|error| Error::new(Exit::Bug, "cannot watch signals").because(&error))?;
    let inbox = inbox.clone();
    helper(move || {
        for _ in signals.forever() {
            if inbox.send(Input::Signal).is_err() {
                return;
            }
        }
    })
}

/// A thread beside the main one.
pub fn helper(work: impl FnOnce() + Send + 'static) -> Result<()> {
    let started = thread::Builder::new().stack_size(STACK).spawn(work);
    started.map(drop).map_err(|error| Error::new(Exit::Io, "cannot start a thread").because(&error))
}
