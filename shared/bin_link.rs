//! The link `.bin` under the root, to the folder of the newest programs: the `run` shims go through it,
//! because a plugin's own folder is named by its version.

use std::fs;
use std::io;
use std::path::Path;

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::sibling;
use crate::world::World;

/// The program that the shims run.
const RUNS: &str = "mo-spawn";

/// Points the link at this program's folder where it leads to no working mo-spawn, or to an older installation.
/// One readlink when all is well.
pub fn keep(world: &World) -> Result<()> {
    let link = world.paths.bin()?;
    let Some(folder) = sibling::folder() else { return Ok(()) };
    match fs::read_link(&link) {
        Ok(target) if target == folder => Ok(()),
        Ok(target) if !is_newer(&folder, &target) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            Err(Error::new(Exit::Config, "in the place of our link to the programs stands something else:")
                .at(&link)
                .hint("move it away: the `run` files of the workers go through that link"))
        }
        _ if folder.join(RUNS).is_file() => point(&link, &folder),
        _ => Ok(()),
    }
}

/// Whether the programs of one folder were installed after those of another; one without them never was.
fn is_newer(folder: &Path, than: &Path) -> bool {
    let installed = |folder: &Path| fs::metadata(folder.join(RUNS)).and_then(|meta| meta.modified()).ok();
    installed(folder) > installed(than)
}

/// Replaces the link in one step.
fn point(link: &Path, folder: &Path) -> Result<()> {
    let failed = |error: io::Error| Error::io("cannot write", link, &error);
    let new = link.with_file_name(format!(".bin-{}", std::process::id()));
    // A crash may have left one of that name.
    let _ = fs::remove_file(&new);
    std::os::unix::fs::symlink(folder, &new).map_err(failed)?;
    fs::rename(&new, link).map_err(failed)
}
