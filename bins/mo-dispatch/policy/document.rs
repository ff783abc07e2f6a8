//! A text file of the user's that is changed as a whole: its links are followed, its mode kept, and what is no text is
//! left alone.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::file::{self, Durability};
use shared::lock::{self, Lock};
use shared::world::World;

/// The most that is read; a larger file is no instruction to anybody.
const CAP: u64 = 4 << 20;
/// The mode of a file that was not there.
const MODE: u32 = 0o644;

/// The file, held for a change.
#[derive(Debug)]
pub struct Document {
    /// Where it really lies.
    path: PathBuf,
    text: Option<String>,
    mode: u32,
    _lock: Lock,
}

impl Document {
    /// Opens it; it need not be there.
    pub fn open(world: &World, named: &Path) -> Result<Self> {
        let lock = Lock::acquire(&world.paths.root()?.join(".policy.lock"), lock::PATIENCE)?;
        let is_link = fs::symlink_metadata(named).is_ok_and(|meta| meta.is_symlink());
        let path = match fs::canonicalize(named) {
            Ok(path) => path,
            Err(error) if is_link => return Err(Error::io("cannot follow the link", named, &error)),
            Err(_) => named.to_owned(),
        };
        let found = file::read_if_there(&path, CAP)?;
        let text = found
            .map(String::from_utf8)
            .transpose()
            .map_err(|_| Error::new(Exit::Data, "this is not UTF-8, and is left as it is:").at(&path))?;
        let mode = fs::metadata(&path).map_or(MODE, |meta| meta.permissions().mode() & 0o7777);
        Ok(Self { path, text, mode, _lock: lock })
    }

    /// What stands in it; nothing where there is no file.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Puts a text in its place.
    pub fn write(&self, text: &str) -> Result<()> {
        file::replace(&self.path, text.as_bytes(), self.mode, Durability::Synced)
    }

    /// Takes it away.
    pub fn remove(&self) -> Result<()> {
        fs::remove_file(&self.path).map_err(|error| Error::io("cannot remove", &self.path, &error))
    }

    /// The error for marks that do not belong together: `LINE: what`.
    pub fn broken(&self, why: &str) -> Error {
        Error::new(Exit::Data, format!("{}:{why}", self.path.display()))
            .hint("nothing was changed: put it right by hand, or take the marks out")
    }
}
