//! The other programs of ours: they lie beside this one, so PATH is never asked.

use std::path::{Path, PathBuf};

/// The folder of the program that runs.
pub fn folder() -> Option<PathBuf> {
    std::env::current_exe().ok()?.parent().map(Path::to_owned)
}

/// Another program of ours.
pub fn find(name: &str) -> Option<PathBuf> {
    folder().map(|folder| folder.join(name)).filter(|path| path.is_file())
}
