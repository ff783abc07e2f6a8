//! The other programs of ours: they lie beside this one, so PATH is never asked.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::exit::Exit;

/// All of them.
pub const PROGRAMS: &[&str] =
    &["mo-preset", "mo-worker", "mo-key", "mo-spawn", "mo-hook", "mo-ledger", "mo-dispatch", "mo-proxy"];

/// The file of the program that runs.
pub fn own() -> Result<PathBuf> {
    std::env::current_exe()
        .map_err(|error| Error::new(Exit::Bug, "cannot tell where this program lies").because(&error))
}

/// What starts the program that runs once more: this very one, also where its file was replaced meanwhile.
pub fn itself() -> Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok(PathBuf::from("/proc/self/exe")) } else { own() }
}

/// The folder of the program that runs.
pub fn folder() -> Option<PathBuf> {
    own().ok()?.parent().map(Path::to_owned)
}

/// Another program of ours.
pub fn find(name: &str) -> Option<PathBuf> {
    folder().map(|folder| folder.join(name)).filter(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::PROGRAMS;

    #[test]
    fn every_program_of_the_package_is_known() {
        let manifest = include_str!("../Cargo.toml");
        let names = manifest.split("[[bin]]").skip(1).filter_map(|bin| bin.split('"').nth(1));
        assert_eq!(names.collect::<Vec<_>>(), PROGRAMS);
    }
}
