//! The `run` file in a worker's directory: starts the worker without any PATH, as cron does.

use std::path::Path;

use shared::error::Result;
use shared::file::{self, Durability, PROGRAM};
use shared::name::Name;
use shared::worker::SHIM;

/// The root is the one that the worker lies in, whatever variables say.
const BEFORE_NAME: &str = "#!/bin/sh
case $0 in */*) here=${0%/*} ;; *) here=. ;; esac
CLAUDE_WORKERS_ROOT=$(CDPATH= cd -- \"$here/..\" && pwd -P) || exit 78
export CLAUDE_WORKERS_ROOT
exec \"$CLAUDE_WORKERS_ROOT/.bin/mo-spawn\" ";
const AFTER_NAME: &str = " \"$@\"\n";

/// The shim's text for this worker.
pub fn text(name: &Name) -> String {
    format!("{BEFORE_NAME}{name}{AFTER_NAME}")
}

/// The name in the text of a shim.
pub fn named(text: &str) -> Option<&str> {
    text.strip_prefix(BEFORE_NAME)?.strip_suffix(AFTER_NAME)
}

/// Writes the shim.
pub fn write(directory: &Path, name: &Name) -> Result<()> {
    file::replace(&directory.join(SHIM), text(name).as_bytes(), PROGRAM, Durability::Lazy)
}
