//! What `doctor --fix` can do. Each repair makes sure again that it touches what it was meant for.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use shared::bin_link;
use shared::error::{Error, Result};
use shared::file::{self, Durability, JSON_CAP, PRIVATE};
use shared::json_edit;
use shared::name::Name;
use shared::worker::PROFILE;
use shared::world::World;

use crate::shim;

/// A repair.
#[derive(Debug)]
pub enum Mending {
    /// Takes the rights of others from these files and directories.
    Close(Vec<PathBuf>),
    /// Points the link `.bin` at this program's folder.
    Link,
    /// Writes the worker's shim anew.
    Shim(PathBuf, Name),
    /// Puts the directory's name into worker.json.
    Name(PathBuf, Name),
    /// Removes what an interrupted program left half-made.
    Remove(Vec<PathBuf>),
}

impl Mending {
    /// Does it.
    pub fn act(&self, world: &World) -> Result<()> {
        match self {
            Self::Close(paths) => paths.iter().try_for_each(|path| close(path)),
            Self::Link => bin_link::keep(world),
            Self::Shim(directory, name) => {
                file::refuse_foreign(directory)?;
                shim::write(directory, name)
            }
            Self::Name(directory, name) => rename(directory, name),
            Self::Remove(paths) => paths.iter().try_for_each(|path| remove(path)),
        }
    }
}

/// By an open descriptor, so that a symlink put in the place meanwhile leads nowhere.
fn close(path: &Path) -> Result<()> {
    let failed = |error: io::Error| Error::io("cannot change the mode of", path, &error);
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file =
        OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path).map_err(failed)?;
    let mode = file.metadata().map_err(failed)?.permissions().mode();
    file.set_permissions(Permissions::from_mode(mode & 0o700)).map_err(failed)
}

fn rename(directory: &Path, name: &Name) -> Result<()> {
    file::refuse_foreign(directory)?;
    let path = directory.join(PROFILE);
    file::refuse_foreign(&path)?;
    let bytes = file::read(&path, JSON_CAP)?;
    let edited = json_edit::set(&path, &String::from_utf8_lossy(&bytes), &[], "name", name.as_str())?;
    file::replace(&path, edited.as_bytes(), PRIVATE, Durability::Synced)
}

fn remove(path: &Path) -> Result<()> {
    let meta = fs::symlink_metadata(path);
    let removed = match meta {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        // Another doctor was here.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(|error| Error::io("cannot remove", path, &error)),
    }
}
