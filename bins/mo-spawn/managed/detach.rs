//! A dispatch that outlives its caller: mo-spawn starts itself again in a session of its own, hands over the task, and
//! goes when the other says that all is well.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use serde::Serialize;
use shared::dispatch_id::DispatchId;
use shared::env;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::sibling;
use shared::world::World;

use super::prompt;
use crate::options::Task;

/// What the one in the background says once the record stands.
const READY: &str = "ready";
/// The most that is repeated of what it says when it cannot start.
const SAID: u64 = 64 << 10;

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    id: &'a str,
    status: &'a str,
}

/// Starts it, and prints the id.
pub fn start(world: &World, task: &Task) -> Result<Exit> {
    let failed =
        |error: &std::io::Error| Error::new(Exit::CouldNot, "cannot go on in the background").because(error);
    let text = prompt::read(&task.source)?;
    let id = task.id.clone().unwrap_or_else(|| DispatchId::new(world.clock.now()));
    let mut command = itself()?;
    command.arg(task.worker.as_str());
    command.args(task.given_but(&["detach", "task", "id", "progress"]));
    command.args(["--task", "-", "--progress", "none", "--id", id.as_str()]);
    command.env(env::MO_SUPERVISOR, "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| failed(&error))?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that ends at once says why below.
        let _ = stdin.write_all(text.as_bytes());
    }
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line).map_err(|error| failed(&error))?;
    }
    if line.trim_end() == READY {
        let document = Document { version: 1, id: id.as_str(), status: "running" };
        let text =
            if task.json { serde_json::to_string(&document).unwrap_or_default() } else { id.to_string() };
        return world.say.line(&text).map(|()| Exit::Done);
    }
    let mut said = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        stderr.take(SAID).read_to_end(&mut said).map_err(|error| failed(&error))?;
    }
    world.say.aside(&String::from_utf8_lossy(&said));
    let status = child.wait().map_err(|error| failed(&error))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok()).filter(|code| *code != 0);
    Ok(code.map_or(Exit::CouldNot, Exit::Child))
}

/// Whether this is the one in the background; from then on it has a session of its own.
pub fn is_supervisor(world: &World) -> bool {
    let is = world.env.is_set(env::MO_SUPERVISOR);
    if is {
        // Refused to the leader of a group only, and we lead none.
        let _ = rustix::process::setsid();
    }
    is
}

/// Tells whoever started it that all is well, and needs nothing of it any more.
pub fn ready(world: &World) {
    // It may have gone already, which is its right.
    let _ = world.say.line(READY);
}

fn itself() -> Result<Command> {
    let mut command = Command::new(sibling::own()?);
    command.arg0("mo-spawn");
    Ok(command)
}
