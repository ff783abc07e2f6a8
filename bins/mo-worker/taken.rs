//! Whether a name can be given: what stands in its place is told as what it is.

use std::fs;
use std::path::Path;

use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::name::Name;

/// Refuses a name in whose place something stands.
pub fn refuse(name: &Name, place: &Path) -> Result<()> {
    let Ok(meta) = fs::symlink_metadata(place) else { return Ok(()) };
    if meta.is_dir() {
        return Err(Error::new(Exit::CouldNot, format!("there is already a worker `{name}`:"))
            .at(place)
            .hint(format!("choose another name, or `mo-worker remove {name}` first")));
    }
    let kind = if meta.is_symlink() { "symlink" } else { "file" };
    Err(Error::new(Exit::CouldNot, format!("the name `{name}` is taken by a {kind}:"))
        .at(place)
        .hint("choose another name, or move it away"))
}
