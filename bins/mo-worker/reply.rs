//! What a program says when it is asked a quick question like `--version`: Claude Code gets a configuration of its
//! own for it, so that asking changes nothing of the user's.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use shared::claude;
use shared::env;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::reply;

/// A node program on a loaded machine needs seconds; nothing needs this long.
const PATIENCE: Duration = Duration::from_secs(10);

/// Asks the program; its standard output, when it ended well.
pub fn of(program: &Path, question: &str) -> Result<String> {
    let neutral = tempfile::tempdir()
        .map_err(|error| Error::new(Exit::Io, "cannot make a temporary directory").because(&error))?;
    let mut command = Command::new(program);
    command.arg(question).current_dir(neutral.path()).env(env::CLAUDE_CONFIG_DIR, neutral.path());
    let answer = reply::of(&mut command, PATIENCE).map_err(|error| claude::cannot_run(program, &error))?;
    let refused = |why: String| {
        Err(Error::new(Exit::Config, format!("`{question}` {why}:")).at(program).hint(claude::REINSTALL))
    };
    match answer {
        None => refused(format!("gave no answer within {} s", PATIENCE.as_secs())),
        Some(reply) if !reply.status.success() => refused(format!("failed ({})", reply.status)),
        Some(reply) => Ok(reply.text),
    }
}
