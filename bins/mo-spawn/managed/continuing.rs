//! Going on with an earlier dispatch: its session, carried over to another worker where need be, and its place.

use std::fs;
use std::path::Path;

use shared::dispatch_id::DispatchId;
use shared::dispatches;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::file;
use shared::name::Name;
use shared::outcome;
use shared::record::Record;
use shared::session_files;
use shared::worker::Worker;
use shared::world::World;

/// What is gone on with.
#[derive(Debug)]
pub struct Forerunner {
    /// Its record.
    pub record: Record,
    /// The worker's session; nothing where a new one goes on in its place.
    pub session: Option<String>,
}

impl Forerunner {
    /// Finds it, and makes its session one of this worker's, unless the work begins anew.
    pub fn find(world: &World, id: &DispatchId, worker: &Worker, anew: bool) -> Result<Self> {
        let (path, mut record) = dispatches::find(&world.paths, id.as_str())?;
        let before = Worker::load(&world.paths, &Name::parse(&record.worker)?);
        let projects = before.as_ref().map_or_else(|_| worker.projects(), Worker::projects);
        if record.status.is_none_or(|status| !status.is_final()) {
            if !outcome::settle(&path, &projects, world.clock.now())? {
                return Err(Error::new(Exit::Busy, format!("dispatch {id} still runs")).hint(format!(
                    "`mo-spawn tell {id} TEXT` puts a message into it, `mo-spawn stop {id}` ends it"
                )));
            }
            record = Record::read(&path)?.unwrap_or(record);
        }
        let session = record.worker_sessions.last().filter(|_| !anew).cloned();
        if session.is_none() && !anew {
            return Err(Error::new(
                Exit::CouldNot,
                format!("dispatch {id} has left no session to go on with"),
            ));
        }
        if let Some(session) = &session
            && session_files::find(&worker.projects(), session).is_none()
        {
            carry(&projects, &worker.projects(), session).map_err(|error| {
                Error::new(Exit::CouldNot, format!("the session of dispatch {id} cannot be gone on with"))
                    .because(&error)
                    .hint("Claude Code deletes sessions after some weeks, and one that ended at once leaves none")
            })?;
        }
        if record.worktree.is_none() && !Path::new(&record.cwd).is_dir() {
            return Err(
                Error::new(Exit::CouldNot, "the directory of the work is gone:").at(Path::new(&record.cwd))
            );
        }
        Ok(Self { record, session })
    }

    /// How many attempts there were.
    pub fn attempts(&self) -> u32 {
        self.record.attempts.last().map_or(0, |last| last.n)
    }
}

/// Copies a session with its subagents to the same folder of another worker, where it can be resumed.
fn carry(from: &Path, to: &Path, session: &str) -> std::io::Result<()> {
    let main = session_files::find(from, session).ok_or(std::io::ErrorKind::NotFound)?;
    for path in session_files::files(&main) {
        let target = to.join(path.strip_prefix(from).unwrap_or(&path));
        if let Some(folder) = target.parent() {
            file::create_private_dir(folder).map_err(std::io::Error::other)?;
        }
        fs::copy(&path, &target)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_carried_over_with_its_subagents() {
        let home = tempfile::tempdir().unwrap();
        let (from, to) = (home.path().join("a"), home.path().join("b"));
        fs::create_dir_all(from.join("-srv/s1/subagents")).unwrap();
        fs::write(from.join("-srv/s1.jsonl"), "main").unwrap();
        fs::write(from.join("-srv/s1/subagents/agent-1.jsonl"), "sub").unwrap();
        carry(&from, &to, "s1").unwrap();
        assert_eq!(fs::read_to_string(to.join("-srv/s1.jsonl")).unwrap(), "main");
        assert_eq!(fs::read_to_string(to.join("-srv/s1/subagents/agent-1.jsonl")).unwrap(), "sub");
        assert!(carry(&from, &to, "s2").is_err());
    }
}
