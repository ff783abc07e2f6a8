//! File modes: what holds keys, prompts or history is the owner's alone.

use std::fs;
use std::path::{Path, PathBuf};

use shared::error::Result;
use shared::file::is_open_to_others;
use shared::worker::{PROFILE, SETTINGS};
use shared::world::World;
use shared::{paths, roster};

use super::line::{Line, Mark};
use super::mending::Mending;

const SUBJECT: &str = "modes";
/// So many are named.
const NAMED: usize = 3;

/// Looks at all of them.
pub fn look(world: &World) -> Option<Line> {
    match survey(world) {
        Ok(None) => None,
        Ok(Some(open)) => Some(judge(open, world)),
        Err(error) => Some(Line::of_error(Mark::Bad, SUBJECT, &error)),
    }
}

/// What is open to others; nothing at all without a root.
fn survey(world: &World) -> Result<Option<Vec<PathBuf>>> {
    let root = world.paths.root()?;
    if !root.is_dir() {
        return Ok(None);
    }
    let mut all = vec![root.to_owned(), world.paths.presets()?];
    for entry in roster::read(&world.paths)? {
        let directory = root.join(&entry.name);
        // A worker's directory that is a symlink is told as a broken worker.
        if fs::symlink_metadata(&directory).is_ok_and(|meta| meta.is_dir()) {
            all.extend([SETTINGS, PROFILE, ".claude.json"].map(|name| directory.join(name)));
            all.push(directory);
        }
    }
    for directory in [world.paths.dispatch()?, world.paths.usage()?, world.paths.log()?] {
        collect(&directory, &mut all);
    }
    Ok(Some(all.into_iter().filter(|path| is_open_to_others(path)).collect()))
}

/// The directory and all in it; symlinks are not followed.
fn collect(path: &Path, all: &mut Vec<PathBuf>) {
    let Ok(meta) = fs::symlink_metadata(path) else { return };
    if meta.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            collect(&entry.path(), all);
        }
    }
    if meta.is_dir() || meta.is_file() {
        all.push(path.to_owned());
    }
}

fn judge(open: Vec<PathBuf>, world: &World) -> Line {
    if open.is_empty() {
        return Line::ok(SUBJECT, "nothing is open to other users");
    }
    let mut names: Vec<_> = open.iter().take(NAMED).map(|path| paths::shown(path, &world.paths)).collect();
    if open.len() > NAMED {
        names.push(format!("… {} more", open.len() - NAMED));
    }
    let what = format!("{} open to other users: {}", open.len(), names.join(", "));
    Line::bad(SUBJECT, what).mend(Mending::Close(open))
}
