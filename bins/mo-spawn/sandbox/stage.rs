//! The command that a process becomes inside a sandbox.

use std::ffi::OsStr;
use std::io;
use std::process::Command;

use super::confinement::{Confinement, Wall};
use super::{bubblewrap, landlock, seatbelt};

/// The command; where the kernel confines, this very process is confined from now on, and whatever it becomes.
pub fn enter(confinement: Option<&Confinement>, program: &OsStr) -> io::Result<Command> {
    let Some(confinement) = confinement else { return Ok(Command::new(program)) };
    let (wall, arguments) = match &confinement.wall {
        Wall::Landlock => {
            landlock::enter(confinement)?;
            let mut command = Command::new(program);
            command.envs(confinement.variables());
            return Ok(command);
        }
        Wall::Bubblewrap(wall) => (wall, bubblewrap::arguments(confinement)),
        Wall::Seatbelt(wall) => (wall, seatbelt::arguments(confinement)),
    };
    let mut command = Command::new(wall);
    command.args(arguments).arg(program);
    Ok(command)
}
