//! What confines a worker and everything below it: where it may write, and which port it may connect to. A mechanism of
//! the system does it; when it was asked for and cannot be had, nothing runs. docs/sandbox.md says what is not confined.

mod bubblewrap;
mod confinement;
mod enclosure;
mod kept_out;
mod landlock;
mod modules;
pub mod planted;
mod seal;
mod seatbelt;
mod stage;
mod walls;
mod work_tree;

use std::path::{Path, PathBuf};

use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::worker::Worker;
use shared::world::World;
use tempfile::TempDir;

use crate::launch::Launch;

pub use self::confinement::Confinement;
pub use self::enclosure::{Enclosure, entered};
use self::planted::Planted;
use self::seal::Seal;
pub use self::stage::enter;
use self::work_tree::WorkTree;

/// What is asked for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Network {
    /// The network is not touched.
    #[default]
    Open,
    /// Only the provider's port may be connected to.
    ProviderOnly,
}

/// A sandbox that is ready; its private temporary directory goes when it is dropped.
#[derive(Debug)]
pub struct Sandbox {
    /// What holds in it.
    pub confinement: Confinement,
    seal: Option<Seal>,
    planted: Planted,
    _temp: TempDir,
}

impl Sandbox {
    /// Prepares the one that this launch asks for, or says why there is none.
    pub fn of(world: &World, launch: &Launch) -> Result<Option<Self>> {
        let Some(network) = launch.sandbox else { return Ok(None) };
        if launch.worker.is_account() {
            return Err(Error::new(
                Exit::Config,
                "an account renews its login in a file that the sandbox would close",
            )
            .hint("give the task to a provider's worker, or leave out --sandbox"));
        }
        let port = match network {
            Network::Open => None,
            Network::ProviderOnly => Some(walls::port(&launch.worker)?),
        };
        let wall = walls::choose(world, port.is_some())?;
        let tree = WorkTree::of(&launch.directory)?;
        kept_out::check(world, &real(&launch.directory)?, tree.is_some())?;
        let mut writable = match &tree {
            Some(tree) => tree.writable()?,
            None => vec![real(&launch.directory)?],
        };
        writable.extend(of_worker(world, &launch.worker)?);
        let private = private()?;
        let temp = real(private.path())?;
        writable.push(temp.clone());
        let seal = tree.as_ref().map(WorkTree::seal).transpose()?;
        let top = match &tree {
            Some(tree) => tree.top().to_owned(),
            None => real(&launch.directory)?,
        };
        let planted = Planted::below(&top);
        Ok(Some(Self {
            confinement: Confinement { wall, writable, temp, port },
            seal,
            planted,
            _temp: private,
        }))
    }

    /// Puts back what ties the work tree to its repository, and makes harmless what the worker planted, when nothing of
    /// it runs any more. What was found is told.
    pub fn mend(&self) -> Vec<String> {
        let mut notes = self.put_back();
        match self.planted.clear() {
            Ok(moved) => notes.extend(moved.iter().map(|path| {
                let what =
                    "the worker made a repository of its own, whose configuration git would obey: it is now";
                format!("{what} {}", path.display())
            })),
            Err(error) => notes.push(error.to_string()),
        }
        notes
    }

    /// Puts back what ties the work tree to its repository, before git of ours goes there.
    pub fn put_back(&self) -> Vec<String> {
        match self.seal.as_ref().map_or_else(|| Ok(Vec::new()), Seal::restore) {
            Ok(changed) => {
                let told =
                    |path: &PathBuf| format!("the worker had changed {}: it was put back", path.display());
                changed.iter().map(told).collect()
            }
            Err(error) => vec![error.to_string()],
        }
    }
}

/// What Claude Code writes below the worker's directory, without what a later run would obey: settings, agents,
/// commands, plugins, files that shells read at their start.
const OF_WORKER: &[&str] = &[
    "backups",
    "cache",
    "debug",
    "file-history",
    "paste-cache",
    "plans",
    "projects",
    "sessions",
    "statsig",
    "tasks",
    "telemetry",
    "todos",
];

fn of_worker(world: &World, worker: &Worker) -> Result<Vec<PathBuf>> {
    let home = match worker.config_dir(&world.paths) {
        Some(directory) => directory,
        None => world.paths.claude_config()?,
    };
    let mut parts = Vec::new();
    for name in OF_WORKER {
        let folder = home.join(name);
        shared::file::create_private_dir(&folder)?;
        parts.push(real(&folder)?);
    }
    Ok(parts)
}

/// A directory of this run alone.
fn private() -> Result<TempDir> {
    let made = tempfile::Builder::new().prefix("mo-").tempdir();
    made.map_err(|error| Error::new(Exit::Io, "cannot make a temporary directory").because(&error))
}

fn real(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|error| Error::io("cannot find", path, &error))
}
