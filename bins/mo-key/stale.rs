//! Half-written files that a killed program left in a worker's directory: there may be a key in them.

use std::fs;
use std::path::Path;

use shared::file::TEMPORARY;

/// The letters that follow the prefix.
const LETTERS: usize = 6;

/// Removes them. The caller holds the lock: nobody else is writing here.
pub fn sweep(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(TEMPORARY));
        let is_ours =
            rest.is_some_and(|rest| rest.len() == LETTERS && rest.bytes().all(|b| b.is_ascii_alphanumeric()));
        if is_ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            // What cannot be removed is shown by `mo-worker doctor`.
            let _ = fs::remove_file(entry.path());
        }
    }
}
