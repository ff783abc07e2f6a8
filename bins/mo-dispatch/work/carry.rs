//! Carrying a task's history to another worker: its session's transcripts, into the folder where the other one's
//! Claude Code looks for them. It goes on there under the same session id.

use std::fs;
use std::path::Path;

use shared::error::{Error, Result};
use shared::file::{self, Durability};
use shared::name::Name;
use shared::paths::Paths;
use shared::session_files;
use shared::worker::Worker;

/// The largest transcript that is carried; a longer one would not fit a context window anyway.
const LARGEST: u64 = 256 << 20;

/// Copies a session from one worker to another. Tells whether there was one.
pub fn session(paths: &Paths, from: &str, to: &str, session: &str) -> Result<bool> {
    let from = Worker::load(paths, &Name::parse(from)?)?.projects();
    let to = Worker::load(paths, &Name::parse(to)?)?.projects();
    let Some(main) = session_files::find(&from, session) else { return Ok(false) };
    for source in session_files::files(&main) {
        let Ok(below) = source.strip_prefix(&from) else { continue };
        copy(&source, &to.join(below))?;
    }
    Ok(true)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(directory) = to.parent() {
        fs::create_dir_all(directory).map_err(|error| Error::io("cannot create", directory, &error))?;
    }
    let bytes = file::read(from, LARGEST)?;
    file::replace(to, &bytes, file::PRIVATE, Durability::Lazy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::env::Env;

    #[test]
    fn a_session_is_carried_whole_and_only_for_its_owner() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::of(&[("HOME", home.path())].into_iter().collect::<Env>());
        for name in ["one", "two"] {
            let folder = paths.worker(name).unwrap();
            fs::create_dir_all(&folder).unwrap();
            let settings = r#"{"env": {"ANTHROPIC_BASE_URL": "https://h", "ANTHROPIC_AUTH_TOKEN": "k"}}"#;
            fs::write(folder.join("settings.json"), settings).unwrap();
        }
        let project = paths.worker("one").unwrap().join("projects/-srv-a");
        fs::create_dir_all(project.join("5e55-10n/subagents")).unwrap();
        fs::write(project.join("5e55-10n.jsonl"), "{\"sessionId\":\"5e55-10n\"}\n").unwrap();
        fs::write(project.join("5e55-10n/subagents/agent-a.jsonl"), "{}\n").unwrap();
        assert!(!session(&paths, "one", "two", "none").unwrap());
        assert!(session(&paths, "one", "two", "5e55-10n").unwrap());
        let carried = paths.worker("two").unwrap().join("projects/-srv-a");
        assert!(carried.join("5e55-10n/subagents/agent-a.jsonl").is_file());
        assert!(!file::is_open_to_others(&carried.join("5e55-10n.jsonl")));
    }
}
