//! Claude Code's own program: where it is, and which version. Running it is left to others.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use memchr::memmem;

use crate::env;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::search;
use crate::world::World;

/// The version that this release was tested with, as `tests/claude-version` says.
pub const KNOWN_TO_WORK: &str = include_str!("../tests/claude-version");

/// Makes Claude Code leave its endpoint, key and models to whoever starts it, whatever a project's settings say.
pub const MANAGED_BY_HOST: &str = "CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST";

/// A smaller file is a wrapper around the real program: it says nothing about it.
const WRAPPER: u64 = 1 << 20;
/// How much of a program is searched at once.
const PIECE: usize = 1 << 20;

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

/// Whether the program holds this word: what a client has no word for, it does not do. Nothing where the file cannot
/// be read or is not the program itself.
pub fn knows(program: &Path, word: &str) -> Option<bool> {
    let program = fs::canonicalize(program).ok()?;
    if fs::metadata(&program).ok()?.len() < WRAPPER {
        return None;
    }
    holds(File::open(program).ok()?, word.as_bytes()).ok()
}

/// Whether these bytes come, in bounded memory.
fn holds(mut source: impl Read, needle: &[u8]) -> io::Result<bool> {
    let finder = memmem::Finder::new(needle);
    let mut bytes = Vec::with_capacity(PIECE + needle.len());
    loop {
        let read = source.by_ref().take(PIECE as u64).read_to_end(&mut bytes)?;
        if finder.find(&bytes).is_some() {
            return Ok(true);
        }
        if read == 0 {
            return Ok(false);
        }
        // The needle may lie across two pieces.
        bytes.drain(..bytes.len().saturating_sub(needle.len()));
    }
}

/// What to do about a Claude Code that does not run.
pub const REINSTALL: &str =
    "`mo-worker doctor` shows which Claude Code is found; reinstall it, or correct PATH";

/// The program is there, and the system does not start it.
pub fn cannot_run(program: &Path, error: &io::Error) -> Error {
    Error::new(Exit::Config, "cannot run Claude Code:").at(program).because(error).hint(REINSTALL)
}

/// The version in the answer to `--version`, like `2.1.332 (Claude Code)`.
pub fn version_in(answer: &str) -> Option<&str> {
    answer.split_whitespace().next().filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_across_two_pieces_is_found() {
        let mut bytes = vec![b'x'; PIECE - 3];
        bytes.extend_from_slice(b"needle and more");
        assert!(holds(&bytes[..], b"needle").unwrap());
        assert!(!holds(&bytes[..], b"noodle").unwrap());
        assert!(!holds(&b""[..], b"needle").unwrap());
    }

    #[test]
    fn a_wrapper_says_nothing_of_the_program() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "exec node needle").unwrap();
        assert_eq!(knows(file.path(), "needle"), None);
        assert_eq!(knows(Path::new("/nowhere"), "needle"), None);
    }
}
