//! Talking to a running dispatch: a unix socket of its own in a short private directory, one JSON line in, one
//! out (contracts: "mo-spawn's channels"). A confined worker can connect there too: nobody is obeyed without a proof
//! of what it cannot do.

use std::io::{self, BufRead, BufReader, Read, Write};
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
use crate::proof::{self, Proof};
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

/// The line that comes in.
#[derive(Debug, Serialize, Deserialize)]
struct Letter {
    #[serde(flatten)]
    request: Request,
    /// The name of its proof.
    #[serde(default)]
    proof: String,
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

/// Where sockets of the user's dispatches may lie: whoever can write there can give orders.
pub fn directories(env: &Env) -> Vec<PathBuf> {
    given(env).into_iter().chain([common()]).collect()
}

fn directory(env: &Env, name: usize) -> PathBuf {
    given(env).filter(|dir| dir.as_os_str().len() + 1 + name <= LONGEST_PATH).unwrap_or_else(common)
}

fn given(env: &Env) -> Option<PathBuf> {
    env.get(env::XDG_RUNTIME_DIR).map(|dir| PathBuf::from(dir).join("mo")).filter(|dir| dir.is_absolute())
}

fn common() -> PathBuf {
    PathBuf::from(format!("/tmp/mo-{}", rustix::process::getuid().as_raw()))
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
    let proof = prove(socket, request)?;
    let letter = Letter { request: request.clone(), proof: proof.name() };
    let mut line = json(&letter)?;
    line.push(b'\n');
    stream.write_all(&line).map_err(|error| failed(&error))?;
    let mut answer = String::new();
    BufReader::new(stream.take(LONGEST_LINE)).read_line(&mut answer).map_err(|error| failed(&error))?;
    serde_json::from_str(&answer).map_err(|error| {
        Error::new(Exit::Data, "no answer that we understand from").at(socket).caused_by(error)
    })
}

/// What this line, which came in through the socket, asks for; or why it is not heard.
pub fn admit(socket: &Path, line: &str) -> std::result::Result<Request, &'static str> {
    let Ok(Letter { request, proof }) = serde_json::from_str(line) else {
        return Err("no request that this version understands");
    };
    let holds = |order: Vec<u8>| proof::holds(folder(socket), &proof, &order);
    if order(socket, &request).is_ok_and(holds) { Ok(request) } else { Err("no order without its proof") }
}

fn prove(socket: &Path, request: &Request) -> Result<Proof> {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    Proof::write(folder(socket), &order(socket, request)?).map_err(|error| {
        // Told apart from all else: whoever may not steer a run may not be helped to.
        let closed = matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem);
        let exit = if closed { Exit::Config } else { Exit::CouldNot };
        Error::new(exit, "no order can be given from here: cannot write to")
            .at(folder(socket))
            .because(&error)
            .hint("a worker in a sandbox steers no other run")
    })
}

/// What is written down of it: a proof for one dispatch is none for another.
fn order(socket: &Path, request: &Request) -> Result<Vec<u8>> {
    let mut order = socket.file_name().unwrap_or_default().as_encoded_bytes().to_vec();
    order.push(b'\n');
    order.extend(json(request)?);
    Ok(order)
}

fn json(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value)
        .map_err(|error| Error::new(Exit::Bug, "cannot write a request").caused_by(error))
}

fn folder(socket: &Path) -> &Path {
    socket.parent().unwrap_or(Path::new("."))
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
        let own = path.clone();
        let served = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut line = String::new();
            BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
            let heard = format!("{:?} {:?}", admit(&own, &line), admit(&own, &line).unwrap_err());
            stream.write_all(b"{\"ok\":true,\"status\":\"running\",\"turn\":3}\n").unwrap();
            (line, heard)
        });
        let answer = ask(&path, &Request::Tell { text: "hurry\n".into() }).unwrap();
        assert_eq!((answer.ok, answer.status, answer.turn), (true, Some(Status::Running), 3));
        let (line, heard) = served.join().unwrap();
        assert!(line.starts_with("{\"do\":\"tell\",\"text\":\"hurry\\n\",\"proof\":\""), "{line}");
        assert_eq!(heard, r#"Ok(Tell { text: "hurry\n" }) "no order without its proof""#);
        let gone = ask(&home.path().join("none"), &Request::Stop).unwrap_err();
        assert_eq!(gone.exit(), Exit::CouldNot);
        // Nothing of it is left.
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_order_is_heard_with_its_own_proof_only() {
        let home = tempfile::tempdir().unwrap();
        let (socket, other) = (home.path().join("d-1"), home.path().join("d-2"));
        for line in ["", "{}", "{\"do\":\"start\"}", "[\"stop\"]"] {
            assert!(admit(&socket, line).unwrap_err().contains("understands"), "{line}");
        }
        let proof = prove(&socket, &Request::Stop).unwrap();
        let said = |what: &str| format!("{{\"do\":{what},\"proof\":\"{}\"}}", proof.name());
        assert!(admit(&socket, "{\"do\":\"stop\"}").is_err());
        assert!(admit(&other, &said("\"stop\"")).is_err());
        for what in ["\"finish\"", "\"status\"", "\"tell\",\"text\":\"#bash touch x\""] {
            assert!(admit(&socket, &said(what)).is_err(), "{what}");
        }
        assert!(matches!(admit(&socket, &said("\"stop\"")), Ok(Request::Stop)));
    }
}
