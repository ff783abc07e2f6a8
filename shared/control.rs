//! Talking to a running dispatch: a unix socket of its own in a short private directory, one JSON line in, one
//! out (contracts: "mo-spawn's channels").

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::dispatch_id::DispatchId;
use crate::env::{self, Env};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::file;
use crate::record::Status;

/// The longest path of a socket that every system takes (macOS: 104 bytes with the end mark).
const LONGEST_PATH: usize = 103;
/// The longest line of either side.
pub const LONGEST_LINE: u64 = 4 * 1024 * 1024;
/// How long a running dispatch may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is asked of a running dispatch.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Request {
    /// Put this into the worker's conversation.
    Tell {
        /// The words.
        text: String,
    },
    /// End it.
    Stop,
    /// End it when its turn is over: somebody takes its session over.
    Finish,
    /// Tell where it stands.
    Status,
}

/// What it answers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// Whether it did what was asked.
    pub ok: bool,
    /// Where it stands.
    pub status: Option<Status>,
    /// The turn, from 1.
    pub turn: u32,
    /// The tool at work.
    pub tool: Option<String>,
    /// What the worker said last.
    pub text: Option<String>,
    /// Why it did not do it.
    pub error: Option<String>,
}

/// Where the socket of this dispatch lies: `$XDG_RUNTIME_DIR/mo/<id>`, or `/tmp/mo-<uid>/<id>` where that is
/// unset, relative or too long.
pub fn socket(env: &Env, id: &DispatchId) -> PathBuf {
    directory(env, id.as_str().len()).join(id.as_str())
}

fn directory(env: &Env, name: usize) -> PathBuf {
    let given = env.get(env::XDG_RUNTIME_DIR).map(|dir| PathBuf::from(dir).join("mo"));
    given
        .filter(|dir| dir.is_absolute() && dir.as_os_str().len() + 1 + name <= LONGEST_PATH)
        .unwrap_or_else(|| PathBuf::from(format!("/tmp/mo-{}", rustix::process::getuid().as_raw())))
}

/// Makes the socket's directory, and refuses one that is not ours alone: in `/tmp` anybody could have made it.
pub fn prepare(socket: &Path) -> Result<()> {
    let Some(directory) = socket.parent() else { return Ok(()) };
    file::create_private_dir(directory)?;
    let meta = std::fs::symlink_metadata(directory)
        .map_err(|error| Error::io("cannot look at", directory, &error))?;
    if meta.is_dir()
        && meta.uid() == rustix::process::getuid().as_raw()
        && !file::is_open_to_others(directory)
    {
        return Ok(());
    }
    Err(Error::new(Exit::Config, "not a private directory of yours:")
        .at(directory)
        .hint("remove it, or set XDG_RUNTIME_DIR to a private directory"))
}

/// Asks a running dispatch.
pub fn ask(socket: &Path, request: &Request) -> Result<Answer> {
    let failed = |error: &std::io::Error| {
        Error::new(Exit::CouldNot, "the dispatch does not answer at")
            .at(socket)
            .because(error)
            .hint("`mo-spawn ps` shows what runs")
    };
    let mut stream = UnixStream::connect(socket).map_err(|error| failed(&error))?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(|error| failed(&error))?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(|error| failed(&error))?;
    let mut line = serde_json::to_vec(request)
        .map_err(|error| Error::new(Exit::Bug, "cannot write a request").caused_by(error))?;
    line.push(b'\n');
    stream.write_all(&line).map_err(|error| failed(&error))?;
    let mut answer = String::new();
    BufReader::new(stream.take(LONGEST_LINE)).read_line(&mut answer).map_err(|error| failed(&error))?;
    serde_json::from_str(&answer).map_err(|error| {
        Error::new(Exit::Data, "no answer that we understand from").at(socket).caused_by(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    fn id() -> DispatchId {
        DispatchId::new("2026-02-03T04:05:06Z".parse().unwrap())
    }

    #[test]
    fn a_long_or_relative_runtime_directory_is_not_used() {
        let (long, id) = ("/x".repeat(50), id());
        for dir in ["run", &long] {
            let env: Env = [(env::XDG_RUNTIME_DIR, dir)].into_iter().collect();
            assert!(socket(&env, &id).starts_with("/tmp"), "{dir}");
        }
        let env: Env = [(env::XDG_RUNTIME_DIR, "/run/user/1")].into_iter().collect();
        assert_eq!(socket(&env, &id), Path::new("/run/user/1/mo").join(id.as_str()));
    }

    #[test]
    fn a_directory_that_others_may_enter_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let open = home.path().join("mo");
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(prepare(&open.join("d")).unwrap_err().exit(), Exit::Config);
        assert!(prepare(&home.path().join("new").join("d")).is_ok());
    }

    #[test]
    fn one_line_in_one_line_out() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let served = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut line = String::new();
            BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
            stream.write_all(b"{\"ok\":true,\"status\":\"running\",\"turn\":3}\n").unwrap();
            line
        });
        let answer = ask(&path, &Request::Tell { text: "hurry\n".into() }).unwrap();
        assert_eq!((answer.ok, answer.status, answer.turn), (true, Some(Status::Running), 3));
        assert_eq!(served.join().unwrap(), "{\"do\":\"tell\",\"text\":\"hurry\\n\"}\n");
        let gone = ask(&home.path().join("none"), &Request::Stop).unwrap_err();
        assert_eq!(gone.exit(), Exit::CouldNot);
    }
}
