//! The projects whose roles the user trusts: a list of real paths, in the user's own root.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::document;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::file::{self, Durability};
use crate::lock::{Lock, PATIENCE};
use crate::paths::Paths;

const VERSION: u32 = 1;

/// The list as it is stored.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Trusted {
    version: u32,
    paths: Vec<PathBuf>,
}

impl Trusted {
    /// The list; where it cannot be read nothing is trusted, and that is told.
    pub fn read(paths: &Paths) -> Result<Self> {
        let path = paths.trusted_roles()?;
        let Some(bytes) = file::read_own(&path, file::JSON_CAP)? else {
            return Ok(Self { version: VERSION, ..Self::default() });
        };
        document::must_be_object(&path, &bytes)?;
        let list: Self = document::parse(&path, &bytes)?;
        if list.version == VERSION {
            return Ok(list);
        }
        Err(document::broken(&path, document::line_of(&bytes, "version"), "this version is not known here")
            .hint("update model-orchestration to read this file"))
    }

    /// Whether this directory, by its real path, or one above it within the same repository is on the list.
    pub fn holds(&self, directory: &Path, top: &Path) -> bool {
        let within = directory.ancestors().take_while(|above| above.starts_with(top));
        within.into_iter().any(|above| self.paths.iter().any(|path| path == above))
    }

    /// The trusted paths.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }
}

/// Puts the directory on the list; tells its real path.
pub fn add(paths: &Paths, directory: &Path) -> Result<PathBuf> {
    let real = fs::canonicalize(directory).map_err(|error| Error::io("cannot trust", directory, &error))?;
    if !real.is_dir() {
        return Err(Error::new(Exit::Usage, "this is no directory:").at(&real));
    }
    if real.to_str().is_none() {
        return Err(Error::new(Exit::Usage, "a path that is not UTF-8 cannot be trusted:").at(&real));
    }
    change(paths, |list| {
        if !list.contains(&real) {
            list.push(real.clone());
            list.sort();
        }
    })?;
    Ok(real)
}

/// Takes the directory off the list, also one that is gone; tells whether it stood there.
pub fn remove(paths: &Paths, directory: &Path) -> Result<bool> {
    let real = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    let mut stood = false;
    change(paths, |list| {
        let before = list.len();
        list.retain(|path| *path != real && path != directory);
        stood = list.len() < before;
    })?;
    Ok(stood)
}

fn change(paths: &Paths, change: impl FnOnce(&mut Vec<PathBuf>)) -> Result<()> {
    let path = paths.trusted_roles()?;
    let _lock = Lock::acquire(&paths.roles_lock()?, PATIENCE)?;
    let mut list = Trusted::read(paths)?;
    change(&mut list.paths);
    document::replace(&path, &list, Durability::Synced)
}
