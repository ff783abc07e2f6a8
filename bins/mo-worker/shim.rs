//! The `run` file in a worker's directory: starts the worker without any PATH, as cron does.

use std::path::Path;

use shared::error::Result;
use shared::file::{self, Durability, PROGRAM};
use shared::name::Name;
use shared::worker::SHIM;

/// The shim's text for this worker.
pub fn text(name: &Name) -> String {
    format!("#!/bin/sh\nexec \"${{0%/*}}/../.bin/mo-spawn\" {name} \"$@\"\n")
}

/// Writes the shim.
pub fn write(directory: &Path, name: &Name) -> Result<()> {
    file::replace(&directory.join(SHIM), text(name).as_bytes(), PROGRAM, Durability::Lazy)
}
