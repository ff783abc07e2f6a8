//! The worker's key when it is needed: out of its settings, or printed by its own command.

use std::io::{self, Read};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::secret::{CAP, Secret};
use crate::worker::{Key, Worker};
use zeroize::Zeroizing;

/// A secret manager may ask the user to unlock it; longer than this nobody waits.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long the last bytes may take after the command has ended.
const LAST_BYTES: Duration = Duration::from_millis(200);
/// Pauses between looks.
const PAUSE: Duration = Duration::from_millis(2);

/// The key; nothing for an account.
pub fn read(worker: &Worker) -> Result<Option<Secret>> {
    match worker.key() {
        Key::Stored(key) => Ok(Some(key)),
        Key::Login => Ok(None),
        Key::Command(command) => printed(worker, &command).map(Some),
        Key::Missing => Err(Error::new(Exit::Key, format!("worker `{}` has no key", worker.name))
            .hint(format!("store it with `mo-key {}`", worker.name))),
    }
}

fn printed(worker: &Worker, command: &[String]) -> Result<Secret> {
    let failed = |why: String| {
        Error::new(Exit::Key, format!("the key command of worker `{}` failed", worker.name))
            .caused_by(why)
            .hint(format!(
                "it is `key_command` in worker.json; `mo-key {} --from-command CMD` sets another",
                worker.name
            ))
    };
    let (program, words) = command.split_first().ok_or_else(|| failed("it is empty".to_owned()))?;
    let mut child = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let output = Arc::new(Mutex::new(Zeroizing::new(Vec::with_capacity(CAP + 1))));
    let reader = child.stdout.take().map(|stdout| {
        let output = Arc::clone(&output);
        thread::spawn(move || gather(stdout, &output))
    });
    let Some(status) = ended(&mut child).map_err(|error| failed(error.to_string()))? else {
        // Killed and taken leave of; what it started is the user's own.
        let _ = child.kill().and_then(|()| child.wait());
        return Err(failed(format!("it took longer than {} s", PATIENCE.as_secs())));
    };
    if !status.success() {
        return Err(failed(status.to_string()));
    }
    // An agent that it left running may hold the pipe open: what was printed until its end is the key.
    let start = Instant::now();
    while reader.as_ref().is_some_and(|reader| !reader.is_finished()) && start.elapsed() < LAST_BYTES {
        thread::sleep(PAUSE);
    }
    let bytes = output.lock().map_err(|_| failed("its output could not be read".to_owned()))?;
    Secret::parse(&bytes).map_err(|error| failed(error.to_string()))
}

/// Waits for its end, as long as anybody waits.
fn ended(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(PAUSE);
    }
    Ok(None)
}

/// Reads as much as a key can hold, and a byte more to see that it is too long.
fn gather(mut stdout: ChildStdout, output: &Mutex<Zeroizing<Vec<u8>>>) {
    let mut piece = Zeroizing::new([0; 512]);
    while let Ok(length @ 1..) = stdout.read(&mut *piece) {
        let Ok(mut output) = output.lock() else { return };
        output.extend(piece.iter().take(length));
        if output.len() > CAP {
            return;
        }
    }
}
