//! A command inside a sandbox. Landlock can only be entered by the process itself: so this program stands before the
//! command, confines itself and becomes it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use shared::error::Error;
use shared::exit::Exit;
use shared::program;
use shared::say::Say;

use super::confinement::{Confinement, Wall};
use super::{bubblewrap, landlock, seatbelt};

/// The first word of such a command line; no worker can have this name.
const WORD: &str = "@confine";

/// A command that runs this program inside the sandbox; arguments and all else are the caller's.
pub fn command(confinement: Option<&Confinement>, program: impl AsRef<OsStr>) -> io::Result<Command> {
    let Some(confinement) = confinement else { return Ok(Command::new(program)) };
    let mut command = match &confinement.wall {
        Wall::Landlock => {
            let mut command = Command::new("/proc/self/exe");
            command.arg(WORD).arg(serde_json::to_string(confinement)?);
            command
        }
        Wall::Bubblewrap(wall) => {
            let mut command = Command::new(wall);
            command.args(bubblewrap::arguments(confinement));
            command
        }
        Wall::Seatbelt(wall) => {
            let mut command = Command::new(wall);
            command.args(seatbelt::arguments(confinement));
            command
        }
    };
    command.arg(program);
    Ok(command)
}

/// The command that this process becomes inside the sandbox; where the kernel confines, it is confined from now on.
pub fn enter(confinement: Option<&Confinement>, program: &OsStr) -> io::Result<Command> {
    match confinement {
        Some(inside) if inside.wall == Wall::Landlock => {
            landlock::enter(inside)?;
            let mut command = Command::new(program);
            command.envs(inside.variables());
            Ok(command)
        }
        _ => command(confinement, program),
    }
}

/// Becomes the command where this process was started as its stage.
pub fn entered(say: Say) -> Option<ExitCode> {
    let mut words = program::arguments();
    if words.next().is_none_or(|word| word != WORD) {
        return None;
    }
    let words: Vec<OsString> = words.collect();
    let error = become_it(&words);
    let error = Error::new(Exit::Config, "cannot run it in the sandbox").because(&error);
    Some(program::end(say, Err(error)))
}

fn become_it(words: &[OsString]) -> io::Error {
    let [text, program, arguments @ ..] = words else { return io::ErrorKind::InvalidInput.into() };
    let confinement = text.to_str().and_then(|text| serde_json::from_str::<Confinement>(text).ok());
    let Some(confinement) = confinement else { return io::ErrorKind::InvalidInput.into() };
    match enter(Some(&confinement), program) {
        Ok(mut command) => command.args(arguments).exec(),
        Err(error) => error,
    }
}
