//! Which session a call of a tool belongs to, as a hook tells before it: an MCP server is told the session that started
//! it, and keeps that also after `/clear`. One small file a call, taken away by whoever reads it.

use std::fs;
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::file::{self, Durability};
use crate::paths::Paths;
use crate::record::is_session;

/// The longest id of a session.
const LONGEST: u64 = 64;

/// Notes that this call belongs to this session.
pub fn note(paths: &Paths, tool_use: &str, session: &str) -> Result<()> {
    if !is_session(session) {
        return Err(Error::new(Exit::Data, "that is no session"));
    }
    let Some(path) = path(paths, tool_use)? else { return Ok(()) };
    if let Some(directory) = path.parent() {
        file::create_private_dir(directory)?;
    }
    file::replace(&path, session.as_bytes(), file::PRIVATE, Durability::Lazy)
}

/// The session of this call, where a hook told it; told once.
pub fn take(paths: &Paths, tool_use: &str) -> Option<String> {
    let path = path(paths, tool_use).ok()??;
    let bytes = file::read_own(&path, LONGEST).ok()??;
    // What stays is never asked for again, and small.
    let _ = fs::remove_file(&path);
    String::from_utf8(bytes).ok().filter(|session| is_session(session))
}

/// Nothing where the id cannot be a file's name.
fn path(paths: &Paths, tool_use: &str) -> Result<Option<PathBuf>> {
    let fits = !tool_use.is_empty()
        && tool_use.len() <= 128
        && tool_use.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    Ok(if fits { Some(paths.dispatch()?.join("by-tool-use").join(tool_use)) } else { None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::Env;

    #[test]
    fn a_call_is_told_once_and_odd_names_lead_nowhere() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::of(&[("HOME", home.path())].into_iter().collect::<Env>());
        note(&paths, "toolu_01", "5e55-10n").unwrap();
        assert_eq!(take(&paths, "toolu_01").as_deref(), Some("5e55-10n"));
        assert_eq!(take(&paths, "toolu_01"), None);
        for odd in ["", "../x", "a/b", "a.b"] {
            note(&paths, odd, "5e55-10n").unwrap();
            assert_eq!(take(&paths, odd), None, "{odd}");
        }
        assert!(note(&paths, "toolu_01", "../..").is_err());
    }
}
