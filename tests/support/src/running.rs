//! A process that was started and may still run: reading along, signals, the end.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::output::Output;
use crate::patience::{wait_for, within};

/// How long a killed group gets to be gone.
const DYING: Duration = Duration::from_secs(5);

/// A started process, leader of its own group. Dropped while it runs, the group is killed.
#[derive(Debug)]
pub struct Running {
    pub(crate) child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Stream,
    pub(crate) stderr: Stream,
    pub(crate) started: Instant,
    pub(crate) patience: Duration,
    pub(crate) command: String,
    pub(crate) cwd: PathBuf,
    pub(crate) status: Option<ExitStatus>,
}

impl Running {
    /// Its process id, which is also its group's.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has not ended yet.
    pub fn is_alive(&mut self) -> bool {
        self.look().is_none()
    }

    /// Sends bytes to its standard input, which must have been left open.
    #[track_caller]
    pub fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("started without an open standard input");
        stdin.write_all(bytes).and_then(|()| stdin.flush()).expect("it no longer reads its standard input");
    }

    /// Ends its standard input.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// What it has printed until now.
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// What it has printed on standard error until now.
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Waits until standard output holds this.
    #[track_caller]
    pub fn wait_for_stdout(&mut self, needle: &str) -> &mut Self {
        let found = within(self.patience, || {
            let ended = self.stdout.ended();
            let found = self.stdout().contains(needle);
            (found || ended).then_some(found)
        });
        assert!(
            found == Some(true),
            "{needle:?} never came on stdout of {}\n--- stdout\n{}\n--- stderr\n{}",
            self.command,
            self.stdout(),
            self.stderr()
        );
        self
    }

    /// Signals the process alone, as `kill PID` would.
    #[track_caller]
    pub fn signal(&self, signal: i32) {
        kill_process(self.pid(), named(signal)).expect("it has already ended");
    }

    /// Signals its whole group, as Ctrl-C in a terminal would.
    #[track_caller]
    pub fn signal_group(&self, signal: i32) {
        kill_process_group(self.pid(), named(signal)).expect("its group has already ended");
    }

    /// Kills the process alone (SIGKILL) and waits for its end.
    #[track_caller]
    pub fn kill(mut self) -> Output {
        let _ = self.child.kill();
        self.end()
    }

    /// Waits for the end of the process and of its output; kills the group when patience runs out.
    #[track_caller]
    pub fn wait(mut self) -> Output {
        self.end()
    }

    fn end(&mut self) -> Output {
        let patience = self.patience;
        let done = within(patience, || {
            (self.look().is_some() && self.stdout.ended() && self.stderr.ended()).then_some(())
        });
        if done.is_none() {
            self.kill_group();
        }
        let status = self.status.unwrap_or_else(|| wait_for("a killed process to end", || self.look()));
        Output {
            code: status.code(),
            signal: status.signal(),
            stdout: self.stdout.bytes(),
            stderr: self.stderr.bytes(),
            took: self.started.elapsed(),
            timed_out: done.is_none(),
            command: self.command.clone(),
            cwd: self.cwd.clone(),
        }
    }

    fn kill_group(&mut self) {
        let _ = kill_process_group(self.pid(), Signal::KILL);
        within(DYING, || (self.look().is_some() && self.stdout.ended() && self.stderr.ended()).then_some(()));
    }

    /// The status, once it has ended; remembered, because a reaped process id may be someone else's.
    fn look(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.child.try_wait().expect("a child of ours can be waited for");
        }
        self.status
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.look().is_none() {
            self.kill_group();
        }
    }
}

#[track_caller]
fn named(signal: i32) -> Signal {
    Signal::from_named_raw(signal).expect("a signal that has a name")
}

/// One output stream, read along by a thread so that the process never waits for us.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stream {
    read: Arc<Mutex<Vec<u8>>>,
    ended: Arc<AtomicBool>,
}

impl Stream {
    /// Starts reading.
    pub(crate) fn of(source: Option<impl Read + Send + 'static>) -> Self {
        let stream = Self::default();
        let Some(mut source) = source else {
            stream.ended.store(true, Ordering::SeqCst);
            return stream;
        };
        let ours = stream.clone();
        thread::spawn(move || {
            let mut piece = vec![0; 65536];
            while let Ok(count @ 1..) = source.read(&mut piece) {
                ours.read.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&piece[..count]);
            }
            ours.ended.store(true, Ordering::SeqCst);
        });
        stream
    }

    fn bytes(&self) -> Vec<u8> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    fn ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }
}

/// Whether a process exists and is not a zombie.
pub fn is_running(pid: u32) -> bool {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z'),
        Err(_) if cfg!(target_os = "linux") => false,
        Err(_) => i32::try_from(pid)
            .ok()
            .and_then(Pid::from_raw)
            .is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok()),
    }
}
