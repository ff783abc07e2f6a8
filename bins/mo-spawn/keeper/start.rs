//! The start of a stage, by mo-spawn or by the stage above, and what mo-spawn holds of a worker that is kept.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use shared::env;
use shared::lock::Lock;
use shared::process;
use shared::sibling;

use super::orders::Orders;
use super::{Word, channel};
use crate::launch::Launch;

/// How long Claude Code gets to end after it was told to.
pub const GRACE: Duration = Duration::from_secs(10);

/// The worker's three streams.
#[derive(Debug)]
pub struct Streams {
    /// Its standard input, the very same file.
    pub stdin: OwnedFd,
    /// Its standard output.
    pub stdout: Stdio,
    /// Its standard error.
    pub stderr: Stdio,
}

impl Streams {
    /// Our own.
    pub fn inherited() -> io::Result<Self> {
        let stdin = io::stdin().as_fd().try_clone_to_owned()?;
        Ok(Self { stdin, stdout: Stdio::inherit(), stderr: Stdio::inherit() })
    }
}

/// A worker that runs under its keeper.
#[derive(Debug)]
pub struct Kept {
    /// Claude Code's process, which leads its own group.
    pub pid: u32,
    /// The outer keeper; where the worker's streams are pipes, their ends are here.
    pub keeper: Child,
    socket: BufReader<UnixStream>,
    mark: String,
}

/// How it ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Claude Code's own status; of a keeper that was killed, as if it had been Claude Code.
    pub status: ExitStatus,
    /// Whether the keeper was killed, so that nobody saw Claude Code's end.
    pub keeper_lost: bool,
}

impl Kept {
    /// Waits until the worker and, unless they may stay, all processes below it are gone.
    pub fn wait(mut self) -> io::Result<Ended> {
        self.keeper.wait()?;
        // The keeper has gone and its end of the socket with it, so this reads to an end.
        let mut said = String::new();
        self.socket.read_to_string(&mut said)?;
        if let Some(Word::Ended(status)) = said.lines().find_map(Word::read) {
            return Ok(Ended { status: ExitStatus::from_raw(status), keeper_lost: false });
        }
        process::end_descendants(&self.mark, GRACE);
        Ok(Ended { status: ExitStatus::from_raw(Signal::KILL.as_raw()), keeper_lost: true })
    }
}

/// What is started.
#[derive(Debug)]
pub struct Job<'a> {
    /// The program, by its whole path.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: Vec<&'a OsStr>,
    /// All its variables.
    pub env: Vec<(&'a OsStr, &'a OsStr)>,
    /// Where it runs; empty for our own directory.
    pub directory: &'a Path,
}

impl<'a> Job<'a> {
    /// A worker.
    pub fn of(launch: &'a Launch) -> Self {
        Self {
            program: &launch.program,
            arguments: launch.arguments.iter().map(AsRef::as_ref).collect(),
            env: launch.env.variables().collect(),
            directory: &launch.directory,
        }
    }
}

/// Starts it under a keeper; comes back when it runs, or with the system's reason why it does not.
pub fn start(job: &Job, orders: &Orders, streams: Streams, place: Option<&Lock>) -> io::Result<Kept> {
    let mut command = itself()?;
    command.args(orders.words()?).arg(job.program).args(&job.arguments);
    command.env_clear().envs(job.env.iter().copied()).env_remove(env::MO_DISPATCH);
    command.stdout(streams.stdout).stderr(streams.stderr);
    if !job.directory.as_os_str().is_empty() {
        command.current_dir(job.directory);
    }
    let passed: Vec<BorrowedFd> =
        std::iter::once(streams.stdin.as_fd()).chain(place.map(AsFd::as_fd)).collect();
    let (keeper, socket) = below(command, &passed)?;
    let mut kept = Kept { pid: 0, keeper, socket: BufReader::new(socket), mark: orders.mark() };
    let mut line = String::new();
    kept.socket.read_line(&mut line)?;
    match Word::read(&line) {
        Some(Word::Started(pid)) => {
            kept.pid = pid;
            Ok(kept)
        }
        Some(Word::Failed(number)) => {
            kept.keeper.wait()?;
            Err(io::Error::from_raw_os_error(number))
        }
        _ => {
            kept.wait()?;
            Err(io::Error::other("its keeper was killed"))
        }
    }
}

/// Starts the stage below another one.
pub fn start_below(
    orders: &Orders,
    words: &[OsString],
    passed: &[BorrowedFd],
) -> io::Result<(Child, UnixStream)> {
    let mut command = itself()?;
    command.args(orders.below().words()?).args(words);
    below(command, passed)
}

/// This very program, under another name, so that whoever ends all
/// `mo-spawn` leaves the keepers to do their work.
fn itself() -> io::Result<Command> {
    let mut command = Command::new(sibling::itself().map_err(io::Error::other)?);
    command.arg0("mo-keeper");
    Ok(command)
}

/// In a group of its own: a signal for one of us, or a Ctrl-C, is for nobody else.
fn below(mut command: Command, passed: &[BorrowedFd]) -> io::Result<(Child, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    channel::send(&ours, passed)?;
    let child = command.stdin(OwnedFd::from(theirs)).process_group(0).spawn()?;
    Ok((child, ours))
}
