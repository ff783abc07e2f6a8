//! One run of a program: what it is given. Its end is in `output`, its life in `running`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::output::Output;
use crate::patience::{PATIENCE, within};
pub use crate::running::is_running;
use crate::running::{Running, Stream};

/// How long another thread's fork may keep a program we just wrote open for writing.
const TEXT_BUSY: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
enum Stdin {
    Empty,
    Bytes(Vec<u8>),
    File(PathBuf),
    HeldOpen,
}

#[derive(Debug, Clone, Copy)]
enum Stdout {
    Read,
    Closed,
    Full,
}

/// A run in the making. It inherits nothing from the process that runs the tests.
#[derive(Debug, Clone)]
pub struct Run {
    program: PathBuf,
    args: Vec<OsString>,
    env: BTreeMap<OsString, OsString>,
    cwd: PathBuf,
    stdin: Stdin,
    stdout: Stdout,
    patience: Duration,
}

impl Run {
    /// A run of this program with exactly these variables.
    pub fn new(
        program: impl AsRef<Path>,
        env: BTreeMap<OsString, OsString>,
        cwd: impl Into<PathBuf>,
    ) -> Self {
        Self {
            program: program.as_ref().into(),
            args: Vec::new(),
            env,
            cwd: cwd.into(),
            stdin: Stdin::Empty,
            stdout: Stdout::Read,
            patience: PATIENCE,
        }
    }

    /// One more argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// More arguments.
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable for this run.
    pub fn var(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Takes a variable away for this run.
    pub fn without(mut self, name: impl Into<OsString>) -> Self {
        self.env.remove(&name.into());
        self
    }

    /// Runs in this directory (default: the home directory).
    pub fn cwd(mut self, dir: impl Into<PathBuf>) -> Self {
        self.cwd = dir.into();
        self
    }

    /// Gives these bytes on standard input, then ends it. (Default: an empty input.)
    pub fn stdin(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.stdin = Stdin::Bytes(bytes.as_ref().into());
        self
    }

    /// Gives a file as standard input.
    pub fn stdin_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.stdin = Stdin::File(path.into());
        self
    }

    /// Leaves standard input open: nothing comes, and no end either (but see [`Running::write`]).
    pub fn stdin_held_open(mut self) -> Self {
        self.stdin = Stdin::HeldOpen;
        self
    }

    /// Gives a standard output that nobody reads any more, as in `program | true`.
    pub fn stdout_closed(mut self) -> Self {
        self.stdout = Stdout::Closed;
        self
    }

    /// Gives a standard output that takes nothing because its disk is full (Linux).
    pub fn stdout_full(mut self) -> Self {
        self.stdout = Stdout::Full;
        self
    }

    /// After this time the whole process group is killed.
    pub fn patience(mut self, limit: Duration) -> Self {
        self.patience = limit;
        self
    }

    /// Runs to the end.
    #[track_caller]
    pub fn run(self) -> Output {
        let held = matches!(self.stdin, Stdin::HeldOpen);
        let mut running = self.spawn();
        if !held {
            running.close_stdin();
        }
        running.wait()
    }

    /// Starts it, in its own process group.
    #[track_caller]
    pub fn spawn(self) -> Running {
        let mut command = Command::new(&self.program);
        command.args(&self.args).env_clear().envs(&self.env).current_dir(&self.cwd).process_group(0);
        command.stdin(match &self.stdin {
            Stdin::Empty => Stdio::null(),
            Stdin::File(path) => File::open(path).expect("the file for standard input can be opened").into(),
            Stdin::Bytes(_) | Stdin::HeldOpen => Stdio::piped(),
        });
        command.stdout(match self.stdout {
            Stdout::Read => Stdio::piped(),
            Stdout::Closed => std::io::pipe().expect("a pipe can be made").1.into(),
            Stdout::Full => {
                OpenOptions::new().write(true).open("/dev/full").expect("/dev/full can be opened").into()
            }
        });
        command.stderr(Stdio::piped());
        let shown = format!("{command:?}");
        let started = Instant::now();
        let mut child = match within(TEXT_BUSY, || match command.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => None,
            other => Some(other),
        }) {
            Some(Ok(child)) => child,
            Some(Err(error)) => panic!("cannot start {shown} in {}: {error}", self.cwd.display()),
            None => panic!("cannot start {shown}: its file stays open for writing"),
        };
        let mut stdin = child.stdin.take();
        if let Stdin::Bytes(bytes) = self.stdin
            && let Some(mut pipe) = stdin.take()
        {
            // A program may end without reading its input: that is its right, not an error of the test.
            thread::spawn(move || pipe.write_all(&bytes));
        }
        Running {
            stdout: Stream::of(child.stdout.take()),
            stderr: Stream::of(child.stderr.take()),
            child,
            stdin,
            started,
            patience: self.patience,
            command: shown,
            cwd: self.cwd,
            status: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Run {
        let env = BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]);
        Run::new("/bin/sh", env, "/").args(["-c", script])
    }

    #[test]
    fn both_streams_and_the_code_are_seen() {
        sh("cat; echo no >&2; exit 3").stdin("yes").run().code(3).stdout_is("yes").stderr_is("no\n");
    }

    #[test]
    fn nothing_of_our_environment_is_inherited() {
        let seen = sh("env").var("ONLY", "this").run().ok().text();
        assert!(seen.contains("ONLY=this"));
        assert!(!seen.contains("CARGO"), "{seen}");
    }

    #[test]
    fn patience_kills_the_group_and_says_so() {
        let output = sh("sleep 100 & sleep 100").patience(Duration::from_millis(50)).run();
        assert!(output.whole().contains("out of patience"));
        output.ran_out_of_patience();
    }

    #[test]
    fn a_child_that_keeps_the_output_open_is_no_end() {
        sh("sleep 100 & echo done").patience(Duration::from_millis(300)).run().ran_out_of_patience();
    }

    #[test]
    fn a_big_input_that_nobody_reads_does_no_harm() {
        sh("exit 0").stdin(vec![b'x'; 1 << 20]).run().ok();
    }

    #[test]
    fn a_signal_is_told_from_a_code() {
        let mut running = sh("echo up; read x").stdin_held_open().spawn();
        running.wait_for_stdout("up").signal(15);
        running.wait().signalled(15);
    }

    #[test]
    fn an_open_input_can_be_written_to() {
        let mut running = sh("read x; echo got $x").stdin_held_open().spawn();
        running.write(b"it\n");
        running.wait_for_stdout("got it");
        running.wait().ok();
    }

    #[test]
    fn a_closed_output_is_a_broken_pipe() {
        sh("trap '' PIPE; echo x || exit 9").stdout_closed().run().code(9);
    }

    #[test]
    fn a_failed_assert_shows_the_whole_run() {
        let output = sh("echo out; echo err >&2; exit 4").run();
        let message = std::panic::catch_unwind(|| output.ok()).expect_err("code 4 is not ok");
        let message = message.downcast_ref::<String>().expect("a text");
        for part in ["exit code 4", "out", "err", "/bin/sh", "cwd: /"] {
            assert!(message.contains(part), "{part} is not in {message}");
        }
    }
}
