//! The worker's key at launch: out of its settings, or printed by its own command.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::secret::{CAP, Secret};
use shared::worker::{Key, Worker};
use zeroize::Zeroizing;

/// A secret manager may ask the user to unlock it; longer than this nobody waits.
const PATIENCE: Duration = Duration::from_secs(60);

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
    let stdout = child.stdout.take();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Zeroizing::new(Vec::with_capacity(CAP + 1));
        let read = stdout.map(|stdout| stdout.take(CAP as u64 + 1).read_to_end(&mut bytes));
        // The receiver has gone when it took too long.
        let _ = sender.send(read.transpose().map(|_| bytes));
    });
    let Ok(read) = receiver.recv_timeout(PATIENCE) else {
        // It may have ended this very moment.
        let _ = child.kill();
        return Err(failed(format!("it took longer than {} s", PATIENCE.as_secs())));
    };
    let bytes = read.map_err(|error| failed(error.to_string()))?;
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    if !status.success() {
        return Err(failed(status.to_string()));
    }
    Secret::parse(&bytes).map_err(|error| failed(error.to_string()))
}
