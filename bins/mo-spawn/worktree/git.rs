//! The real `git`, driven: no variable of ours or of a hook steers it, it asks nobody, runs no hook of the user's,
//! waits out the locks of others, and its own words are what an error says.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::search;
use shared::world::World;

use crate::sandbox::Enclosure;

/// How long the lock of another git is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long one git may take that reads what a confined worker left.
const LIMIT: Duration = Duration::from_secs(600);
/// Pauses between tries.
const PAUSE: Duration = Duration::from_millis(20);

/// Holds for every call. A worker can write into its own tree, so nothing there may name a program that we run.
const ALWAYS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.quotePath=false",
    "commit.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
];

/// `git`, at a place.
#[derive(Clone, Debug)]
pub struct Git {
    program: PathBuf,
    env: Vec<(OsString, OsString)>,
    at: PathBuf,
    enclosure: Option<Arc<Enclosure>>,
}

/// What one call gave.
#[derive(Debug)]
pub struct Answer {
    status: ExitStatus,
    /// Its standard output.
    pub stdout: Vec<u8>,
    stderr: String,
}

impl Git {
    /// The git on PATH, at this directory.
    pub fn find(world: &World, at: &Path) -> Result<Self> {
        let program = search::on_path("git", &world.env).ok_or_else(|| {
            Error::new(Exit::Config, "cannot find git")
                .hint("install git, or put it on PATH; worktrees and lists of changed files need it")
        })?;
        let passed = world.env.iter().filter(|(name, _)| is_passed(&name.to_string_lossy()));
        let mut env: Vec<_> = passed.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let own = [
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ASKPASS", ""),
            ("SSH_ASKPASS", ""),
            ("GIT_EDITOR", "true"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_LITERAL_PATHSPECS", "1"),
            // Nothing of ours needs the network, and a repository can name a program as its way there.
            ("GIT_ALLOW_PROTOCOL", "file"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("LC_ALL", "C"),
            ("LANGUAGE", ""),
        ];
        env.extend(own.map(|(name, value)| (name.into(), value.into())));
        Ok(Self { program, env, at: at.to_owned(), enclosure: None })
    }

    /// The same git, kept in this.
    pub fn inside(&self, enclosure: &Arc<Enclosure>) -> Self {
        Self { enclosure: Some(Arc::clone(enclosure)), ..self.clone() }
    }

    /// The same git, kept in nothing: for what no worker wrote.
    pub fn outside(&self) -> Self {
        Self { enclosure: None, ..self.clone() }
    }

    /// The same git at another directory, where it looks for the repository itself.
    pub fn at(&self, directory: &Path) -> Self {
        Self { at: directory.to_owned(), ..self.clone() }
    }

    /// The same git in a tree whose repository is known: what the tree's own `.git` says does not matter.
    pub fn within(&self, tree: &Path, git_dir: &Path, common_dir: &Path) -> Self {
        let mut git = self.at(tree);
        let named = [("GIT_DIR", git_dir), ("GIT_COMMON_DIR", common_dir), ("GIT_WORK_TREE", tree)];
        git.env.extend(named.map(|(name, path)| (name.into(), path.as_os_str().to_owned())));
        git
    }

    /// The same git in a repository without its tree.
    pub fn without_tree(&self, git_dir: &Path, common_dir: &Path) -> Self {
        let mut git = self.at(common_dir);
        let named = [("GIT_DIR", git_dir), ("GIT_COMMON_DIR", common_dir)];
        git.env.extend(named.map(|(name, path)| (name.into(), path.as_os_str().to_owned())));
        git
    }

    /// Where it stands.
    pub fn directory(&self) -> &Path {
        &self.at
    }

    /// Does it, and must succeed.
    pub fn run<W: AsRef<OsStr>>(&self, words: &[W]) -> Result<()> {
        self.bytes(words).map(|_| ())
    }

    /// Its output, and must succeed.
    pub fn bytes<W: AsRef<OsStr>>(&self, words: &[W]) -> Result<Vec<u8>> {
        let answer = self.ask(words)?;
        if answer.is_yes() { Ok(answer.stdout) } else { Err(self.failed(words, &answer)) }
    }

    /// Its output as text, without the line end.
    pub fn text<W: AsRef<OsStr>>(&self, words: &[W]) -> Result<String> {
        self.bytes(words).map(|bytes| one_line(&String::from_utf8_lossy(&bytes)))
    }

    /// Its output as a path, whatever that holds.
    pub fn path<W: AsRef<OsStr>>(&self, words: &[W]) -> Result<PathBuf> {
        let mut bytes = self.bytes(words)?;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        Ok(PathBuf::from(OsString::from_vec(bytes)))
    }

    /// Its lines, of text without line breaks inside.
    pub fn lines<W: AsRef<OsStr>>(&self, words: &[W]) -> Result<Vec<String>> {
        let text = self.text(words)?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Whatever it says: a no is no failure.
    pub fn ask<W: AsRef<OsStr>>(&self, words: &[W]) -> Result<Answer> {
        self.feed(words, &[])
    }

    /// Whatever it says to this input.
    pub fn feed<W: AsRef<OsStr>>(&self, words: &[W], input: &[u8]) -> Result<Answer> {
        let start = Instant::now();
        loop {
            let answer = self.once(words, input)?;
            if answer.is_yes() || !answer.met_a_lock() || start.elapsed() >= PATIENCE {
                return Ok(answer);
            }
            thread::sleep(PAUSE);
        }
    }

    /// The failure that this answer is.
    pub fn failed<W: AsRef<OsStr>>(&self, words: &[W], answer: &Answer) -> Error {
        let mut words = words.iter().map(AsRef::as_ref);
        // After a leading `-c name=value` comes the command.
        let mut command = words.next().unwrap_or_default();
        while command == "-c" {
            words.next();
            command = words.next().unwrap_or_default();
        }
        let error = Error::new(Exit::CouldNot, format!("`git {}` failed in", command.to_string_lossy()));
        error.at(&self.at).caused_by(answer.reason())
    }

    fn once<W: AsRef<OsStr>>(&self, words: &[W], input: &[u8]) -> Result<Answer> {
        let failed =
            |error: std::io::Error| Error::new(Exit::Config, "cannot run").at(&self.program).because(&error);
        let mut command = match &self.enclosure {
            Some(enclosure) => enclosure.command(&self.program).map_err(failed)?,
            None => Command::new(&self.program),
        };
        if self.enclosure.is_some() {
            // What it starts can be ended with it.
            command.process_group(0);
        }
        for setting in ALWAYS {
            command.args(["-c", setting]);
        }
        let mut child = command
            .args(words)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.at)
            .stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
        let group = Pid::from_child(&child);
        let (over, is_over) = mpsc::channel::<()>();
        let (stderr, output) = thread::scope(|scope| {
            if self.enclosure.is_some() {
                scope.spawn(move || {
                    // What a worker left may be a pipe that nobody writes to.
                    if is_over.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
                        let _ = kill_process_group(group, Signal::KILL);
                    }
                });
            }
            scope.spawn(|| {
                // One that reads nothing more has its reasons, and tells them.
                let _ = stdin.map(|mut pipe| pipe.write_all(input));
            });
            let said = scope.spawn(|| {
                let mut said = Vec::new();
                let _ = stderr.map(|mut pipe| pipe.read_to_end(&mut said));
                said
            });
            let output = child.wait_with_output();
            drop(over);
            (said.join().unwrap_or_default(), output)
        });
        let output = output.map_err(failed)?;
        let stderr = String::from_utf8_lossy(&stderr).into_owned();
        Ok(Answer { status: output.status, stdout: output.stdout, stderr })
    }
}

impl Answer {
    /// Whether it ended with 0.
    pub fn is_yes(&self) -> bool {
        self.status.success()
    }

    /// Its exit code, where no signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Its output as text, without the line end.
    pub fn text(&self) -> String {
        one_line(&String::from_utf8_lossy(&self.stdout))
    }

    /// Whether somebody else held a lock just then.
    fn met_a_lock(&self) -> bool {
        self.stderr.contains("File exists")
            && (self.stderr.contains(".lock'") || self.stderr.contains("could not lock"))
    }

    /// Why it failed, in git's words: its last complaint.
    pub fn reason(&self) -> String {
        let lines: Vec<&str> = self.stderr.lines().filter(|line| !line.trim().is_empty()).collect();
        let complaint = lines.iter().find_map(|line| line.strip_prefix("fatal: "));
        let complaint = complaint.or_else(|| lines.iter().find_map(|line| line.strip_prefix("error: ")));
        match complaint.or_else(|| lines.last().copied()) {
            Some(line) => line.to_owned(),
            None => self.status.to_string(),
        }
    }
}

/// What git needs of our environment. A filter that it runs, a user's or one that a worker planted, finds no key there.
fn is_passed(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "EMAIL",
        "GNUPGHOME",
        "HOME",
        "LANG",
        "LANGUAGE",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TMPDIR",
        "TZ",
        "USER",
    ];
    const STARTS: &[&str] = &["DYLD_", "LC_", "LD_LIBRARY_", "XDG_"];
    NAMES.contains(&name) || STARTS.iter().any(|start| name.starts_with(start))
}

fn one_line(text: &str) -> String {
    text.strip_suffix('\n').unwrap_or(text).to_owned()
}

/// The entries of output whose entries end with NUL.
pub fn entries(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == 0).filter(|entry| !entry.is_empty())
}
