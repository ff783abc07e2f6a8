//! The hook's own troubles, one line each, in a file that stays small.

use std::fs;

use shared::clock::rfc3339;
use shared::error::Error;
use shared::file;
use shared::flatten::flatten;
use shared::world::World;

/// A log that has grown to this size begins anew.
const CAP: u64 = 256 << 10;

/// Notes a failure. Where even that fails there is nobody left to tell.
pub fn note(world: &World, subcommand: &str, error: &Error) {
    let Ok(root) = world.paths.root() else { return };
    // Somebody who has no workers gets no folder either.
    if !root.is_dir() {
        return;
    }
    let Ok(directory) = world.paths.log() else { return };
    if file::create_private_dir(&directory).is_err() {
        return;
    }
    let path = directory.join("hook.log");
    if fs::symlink_metadata(&path).is_ok_and(|meta| meta.len() > CAP) {
        let _ = fs::remove_file(&path);
    }
    let line = format!(
        "{} {} {}",
        rfc3339(world.clock.now()),
        flatten(subcommand, 40),
        flatten(&error.to_string(), 500)
    );
    let _ = file::append_line(&path, &line);
}
