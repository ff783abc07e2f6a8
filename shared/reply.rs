//! What a program says when it is asked a quick question: it gets no input, little time and a process group of its
//! own, which ends with the question.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal};

/// The most that is read.
const CAP: u64 = 1 << 20;

/// How it ended, and what stood on its standard output.
#[derive(Debug)]
pub struct Reply {
    /// Its end.
    pub status: ExitStatus,
    /// Its words.
    pub text: String,
}

/// Asks; nothing when it takes longer than `patience`.
pub fn of(command: &mut Command, patience: Duration) -> io::Result<Option<Reply>> {
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.process_group(0).spawn()?;
    let output = child.stdout.take();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before a failure is all there is.
        let _ = output.map(|output| output.take(CAP).read_to_end(&mut bytes));
        sender.send(bytes)
    });
    let answer = receiver.recv_timeout(patience);
    if answer.is_err()
        && let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw)
    {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
    let status = child.wait()?;
    Ok(answer.ok().map(|bytes| Reply { status, text: String::from_utf8_lossy(&bytes).into_owned() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_with_its_end_and_silence_ends() {
        let ask = |script: &str, patience| of(Command::new("sh").args(["-c", script]), patience).unwrap();
        let reply = ask("echo words; exit 3", Duration::from_secs(60)).unwrap();
        assert_eq!((reply.text.as_str(), reply.status.code()), ("words\n", Some(3)));
        assert!(ask("sleep 600", Duration::from_millis(50)).is_none());
    }
}
