//! What a program says when it is asked a quick question like `--version`: it gets no input and little time,
//! and Claude Code gets a configuration of its own, so that asking changes nothing of the user's.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use shared::claude;
use shared::env;
use shared::error::{Error, Result};
use shared::exit::Exit;

/// A node program on a loaded machine needs seconds; nothing needs this long.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most that is read.
const CAP: u64 = 1 << 20;

/// Asks the program; its standard output, when it ended well.
pub fn of(program: &Path, question: &str) -> Result<String> {
    let failed = |error: std::io::Error| claude::cannot_run(program, &error);
    let neutral = tempfile::tempdir()
        .map_err(|error| Error::new(Exit::Io, "cannot make a temporary directory").because(&error))?;
    let mut child = Command::new(program)
        .arg(question)
        .current_dir(neutral.path())
        .env(env::CLAUDE_CONFIG_DIR, neutral.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(failed)?;
    let output = child.stdout.take();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before a failure is all there is.
        let _ = output.map(|output| output.take(CAP).read_to_end(&mut bytes));
        sender.send(bytes)
    });
    let answer = receiver.recv_timeout(PATIENCE);
    if answer.is_err()
        && let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw)
    {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
    let status = child.wait().map_err(failed)?;
    let refused = |why: String| {
        Err(Error::new(Exit::Config, format!("`{question}` {why}:")).at(program).hint(claude::REINSTALL))
    };
    match answer {
        Err(_) => refused(format!("gave no answer within {} s", PATIENCE.as_secs())),
        Ok(_) if !status.success() => refused(format!("failed ({status})")),
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
    }
}
