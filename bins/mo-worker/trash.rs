//! Takes a worker's directory away: the key first, then out of sight in one step, then everything.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use shared::error::{Error, Result};
use shared::file::PRIVATE_DIR;
use shared::login;
use shared::worker::SETTINGS;
use shared::world::World;

/// Removes the directory. Symlinks inside are removed, never followed.
pub fn discard(world: &World, place: &Path) -> Result<()> {
    let failed = |error: io::Error| Error::io("cannot remove", place, &error);
    let trash = tempfile::Builder::new().prefix(".trash-").tempdir_in(world.paths.root()?).map_err(failed)?;
    open(place);
    let gone = trash.path().join("worker");
    fs::rename(place, &gone).map_err(failed)?;
    // Whatever cannot be removed below, the key does not stay.
    let key = [SETTINGS, login::CREDENTIALS].iter().try_for_each(|file| remove_file(&gone.join(file)));
    let all = fs::remove_dir_all(&gone).or_else(|_| {
        open_all(&gone);
        fs::remove_dir_all(&gone)
    });
    let Err(error) = all else { return trash.close().map_err(failed) };
    let left = trash.keep();
    let next = match key {
        Ok(()) => "its key is gone; remove the rest there yourself",
        Err(_) => "its KEY IS STILL THERE: remove it yourself, and make a new one at the provider",
    };
    Err(Error::io("the worker is removed, but not all of its files: cannot empty", &left, &error).hint(next))
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound && !path.is_dir() => Err(error),
        _ => Ok(()),
    }
}

/// A directory that its owner may not change cannot be emptied either.
fn open(directory: &Path) {
    // Where this fails, the removal fails and tells why.
    let _ = fs::set_permissions(directory, Permissions::from_mode(PRIVATE_DIR));
}

fn open_all(top: &Path) {
    let mut directories = vec![top.to_owned()];
    while let Some(directory) = directories.pop() {
        open(&directory);
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        directories.extend(below.map(|entry| entry.path()));
    }
}
