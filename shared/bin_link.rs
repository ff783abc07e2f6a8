//! The link `.bin` under the root, to the folder of the newest programs: the `run` shims go through it,
//! because a plugin's own folder is named by its version.

use std::fs;
use std::io;
use std::path::Path;

use crate::error::{Error, Result};
use crate::sibling;
use crate::world::World;

/// Points the link at this program's folder where it is missing, dangling, or points elsewhere.
/// One readlink when all is well.
pub fn keep(world: &World) -> Result<()> {
    let link = world.paths.bin()?;
    let Some(folder) = sibling::folder() else { return Ok(()) };
    match fs::read_link(&link) {
        Ok(target) if target == folder => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            Err(Error::io("cannot replace by a link", &link, &error))
        }
        _ => point(&link, &folder),
    }
}

/// Replaces the link in one step.
fn point(link: &Path, folder: &Path) -> Result<()> {
    let failed = |error: io::Error| Error::io("cannot write", link, &error);
    let root = link.parent().unwrap_or(link);
    let new = tempfile::Builder::new().prefix(".bin-").tempdir_in(root).map_err(failed)?;
    let made = new.path().join("link");
    std::os::unix::fs::symlink(folder, &made).map_err(failed)?;
    fs::rename(&made, link).map_err(failed)
}
