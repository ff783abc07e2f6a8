//! The door through which the control socket's questions come in, and the cord that ties us to whoever started us.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, SyncSender};
use std::time::Duration;

use shared::control::{self, Answer, LONGEST_LINE, Request};
use shared::dispatch_id::DispatchId;
use shared::env::Env;
use shared::error::{Error, Result};
use shared::proof;

use super::inbox::{Input, helper};

/// How long somebody may take to ask.
const PATIENCE: Duration = Duration::from_secs(5);
/// Pauses between looks for our parent.
const LOOK: Duration = Duration::from_millis(500);
/// How long we may take to answer: less than the other side waits.
const ANSWER: Duration = Duration::from_secs(9);

/// The open socket; when it is dropped, its file goes.
#[derive(Debug)]
pub struct Door {
    path: PathBuf,
}

impl Door {
    /// Opens it.
    pub fn open(env: &Env, id: &DispatchId, inbox: &SyncSender<Input>) -> Result<Self> {
        let path = control::socket(env, id);
        control::prepare(&path)?;
        // What lies there is left of a process that died.
        let _ = std::fs::remove_file(&path);
        let listener =
            UnixListener::bind(&path).map_err(|error| Error::io("cannot open the socket", &path, &error))?;
        proof::sweep(&path);
        let (inbox, socket) = (inbox.clone(), path.clone());
        helper(move || {
            for stream in listener.incoming().flatten() {
                let (inbox, socket) = (inbox.clone(), socket.clone());
                // One that asks slowly keeps nobody else waiting.
                let _ = helper(move || serve(stream, &socket, &inbox));
            }
        })?;
        Ok(Self { path })
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn serve(mut stream: UnixStream, socket: &Path, inbox: &SyncSender<Input>) {
    let _ = stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
    let mut line = String::new();
    if BufReader::new((&stream).take(LONGEST_LINE)).read_line(&mut line).is_err() {
        return;
    }
    let answer = match control::admit(socket, &line) {
        Ok(request) => ask(request, inbox),
        Err(why) => refused(why),
    };
    let Ok(mut line) = serde_json::to_vec(&answer) else { return };
    line.push(b'\n');
    let _ = stream.write_all(&line);
}

fn ask(request: Request, inbox: &SyncSender<Input>) -> Answer {
    let (to, answer) = mpsc::channel();
    if inbox.send(Input::Asked(request, to)).is_err() {
        return refused("it is ending");
    }
    answer.recv_timeout(ANSWER).unwrap_or_else(|_| refused("it is ending, or too busy to answer"))
}

/// A no, and why.
pub fn refused(why: &str) -> Answer {
    Answer { ok: false, error: Some(why.to_owned()), ..Answer::default() }
}

/// From now on the end of standard input, where it is nobody's task, and the death of our parent come in.
pub fn tie(inbox: &SyncSender<Input>, reads_stdin: bool) -> Result<()> {
    if reads_stdin {
        let inbox = inbox.clone();
        helper(move || {
            let mut piece = [0; 512];
            while let Ok(1..) = std::io::stdin().lock().read(&mut piece) {}
            let _ = inbox.send(Input::Orphaned);
        })?;
    }
    watch_parent(inbox)
}

fn watch_parent(inbox: &SyncSender<Input>) -> Result<()> {
    // Asked for before anything else, so that a parent that dies at once is missed too.
    let parent = rustix::process::getppid();
    let inbox = inbox.clone();
    helper(move || {
        // It only changes when the parent dies. A signal at that time is nothing to rely on: it comes when the
        // parent's thread ends that started us.
        while rustix::process::getppid() == parent {
            std::thread::sleep(LOOK);
        }
        let _ = inbox.send(Input::Orphaned);
    })
}
