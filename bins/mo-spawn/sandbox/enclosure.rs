//! What a program of ours is kept in that reads what a confined worker wrote. Git obeys the configuration of whatever
//! repository it is led to, and a worker can make repositories: so git may do no more there than the worker could.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::program;
use shared::say::Say;
use shared::sibling;
use shared::world::World;
use tempfile::TempDir;

use super::confinement::Confinement;
use super::{Sandbox, enter, landlock, private, real, walls};

/// The first word of a process that encloses itself and becomes another program; no worker can have this name.
const WORD: &str = "@enclose";
/// A port that nobody listens on (discard): where the network can be closed, git of ours has none.
const NOWHERE: u16 = 9;

/// What holds for it.
#[derive(Debug)]
pub struct Enclosure {
    confinement: Confinement,
    _temp: Option<TempDir>,
}

impl Enclosure {
    /// The worker's own: what is done there is done as if by the worker.
    pub fn of(sandbox: &Sandbox) -> Arc<Self> {
        Arc::new(Self { confinement: sandbox.confinement.clone(), _temp: None })
    }

    /// One in which nothing can be written, for a look at what a confined worker left.
    pub fn read_only(world: &World) -> Result<Arc<Self>> {
        let closes_network = landlock::lack(true).is_none();
        let wall = walls::choose(world, closes_network)?;
        let directory = private()?;
        let temp = real(directory.path())?;
        let port = closes_network.then_some(NOWHERE);
        let confinement = Confinement { wall, writable: Vec::new(), temp, port };
        Ok(Arc::new(Self { confinement, _temp: Some(directory) }))
    }

    /// This program, enclosed.
    pub fn command(&self, program: &Path) -> io::Result<Command> {
        let mut command = Command::new(sibling::itself().map_err(io::Error::other)?);
        command.arg0("mo-spawn").arg(WORD).arg(serde_json::to_string(&self.confinement)?).arg(program);
        Ok(command)
    }
}

/// Becomes the program where this process was started for that.
pub fn entered(say: Say) -> Option<ExitCode> {
    let mut words = program::arguments();
    if words.next().is_none_or(|word| word != WORD) {
        return None;
    }
    let refused = || Error::new(Exit::Usage, format!("{WORD} is for mo-spawn itself"));
    let confinement = words.next().and_then(|word| serde_json::from_str(word.to_str()?).ok());
    let Some((confinement, program)) = confinement.zip(words.next()) else {
        return Some(program::end(say, Err(refused())));
    };
    let rest: Vec<OsString> = words.collect();
    let error = match enter(Some(&confinement), &program) {
        Ok(mut command) => command.args(rest).exec(),
        Err(error) => error,
    };
    Some(program::end(say, Err(Error::io("cannot run", Path::new(&program), &error))))
}
