//! Places that no sandbox may hold: whoever writes there gives orders to what runs outside, or is obeyed later.

use std::path::{Path, PathBuf};

use shared::control;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::world::World;

/// Refuses a work directory around one of them, and one inside where it is no dispatch's work tree. `directory` is
/// the real one.
pub fn check(world: &World, directory: &Path, is_work_tree: bool) -> Result<()> {
    let ours = [world.paths.root()?.to_owned(), world.paths.claude_config()?];
    let trees = real(&world.paths.worktrees()?);
    for place in control::directories(&world.env).into_iter().chain(ours).map(|place| real(&place)) {
        let inside = directory.starts_with(&place) && !is_work_tree && !directory.starts_with(&trees);
        if inside || place.starts_with(directory) {
            let what = format!(
                "a sandbox cannot keep {} out of the worker's reach when it works in",
                place.display()
            );
            return Err(Error::new(Exit::Config, what)
                .at(directory)
                .hint("add --worktree to a task, or run it in a directory of its own"));
        }
    }
    Ok(())
}

/// Where it is or would be: what is there of it may be reached through symlinks.
fn real(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|part| Some((part.canonicalize().ok()?, part)));
    let joined = found.and_then(|(real, part)| Some(real.join(path.strip_prefix(part).ok()?)));
    // Nothing behind a path that is there as it stands: no separator is added.
    joined.map_or_else(|| path.to_owned(), |path| path.components().collect())
}
