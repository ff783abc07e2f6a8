//! Claude Code's own program: where it is, and which version.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::env;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::search;
use crate::world::World;

/// The version that this release was tested with, as `tests/claude-version` says.
pub const KNOWN_TO_WORK: &str = include_str!("../tests/claude-version");

/// Places where installers put it, below the home directory and outside.
const USUAL_PLACES: [&str; 6] = [
    "~/.local/bin/claude",
    "~/.claude/local/claude",
    "~/.npm-global/bin/claude",
    "~/.bun/bin/claude",
    "/opt/homebrew/bin/claude",
    "/usr/local/bin/claude",
];

/// Finds it: the running session's own program, else the one on PATH, else a usual place.
pub fn find(world: &World) -> Result<PathBuf> {
    let running = world.env.get(env::CLAUDE_CODE_EXECPATH).map(PathBuf::from).filter(|path| is_claude(path));
    if let Some(path) = running {
        return Ok(path);
    }
    if let Some(path) = search::on_path("claude", &world.env) {
        return Ok(path);
    }
    let home = world.paths.home().ok();
    let usual = USUAL_PLACES.iter().filter_map(|place| match (place.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => Some(home.join(rest)),
        (Some(_), None) => None,
        (None, _) => Some(PathBuf::from(place)),
    });
    usual.into_iter().find(|path| is_program(path)).ok_or_else(|| {
        Error::new(Exit::Config, "cannot find Claude Code: no `claude` on PATH or in the usual places")
            .hint("install it with `npm install -g @anthropic-ai/claude-code`, or put its folder on PATH")
    })
}

/// Older versions run in node, and name node there.
fn is_claude(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.is_absolute() && name.starts_with("claude") && is_program(path)
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// What the program says its version is, like `2.1.332`.
pub fn version(program: &Path) -> Result<String> {
    let output = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error::io("cannot run", program, &error))?;
    version_in(&String::from_utf8_lossy(&output.stdout)).map(str::to_owned).ok_or_else(|| {
        Error::new(Exit::Config, "this does not say which version of Claude Code it is:").at(program)
    })
}

/// The version in the answer to `--version`, like `2.1.332 (Claude Code)`.
pub fn version_in(answer: &str) -> Option<&str> {
    answer.split_whitespace().next().filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
}
