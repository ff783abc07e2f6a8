//! Programs on PATH: the one room that looks for them.

use std::path::PathBuf;

use crate::env::{self, Env};

/// The first program of this name on PATH. A folder that is not absolute is none of ours to search.
pub fn on_path(name: &str, env: &Env) -> Option<PathBuf> {
    which::which_in(name, env.get(env::PATH), "/").ok()
}
