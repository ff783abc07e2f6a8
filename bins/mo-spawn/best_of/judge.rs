//! The judge: a command that runs where a run did its work, and whose last number is the score.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use shared::child_env::ChildEnv;
use shared::error::{Error, Result};
use shared::exit::Exit;

/// The longest it may take.
const LIMIT: Duration = Duration::from_secs(600);
/// The most of its output that is kept: the last.
const KEPT: usize = 64 << 10;

/// The score it gives; nothing where it fails, takes too long, or says no number.
pub fn score(command: &str, directory: &Path, env: &ChildEnv) -> Result<Option<f64>> {
    let failed =
        |error: std::io::Error| Error::new(Exit::CouldNot, "cannot run sh for --judge").because(&error);
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).current_dir(directory).process_group(0).env_clear();
    let plain = env.decisions().filter(|decision| !decision.secret);
    shell.envs(plain.filter_map(|one| Some((one.name.as_os_str(), one.value.as_deref()?))));
    let mut child =
        shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(failed)?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let output = child.stdout.take();
    let (sender, ended) = mpsc::channel();
    thread::spawn(move || sender.send((output.map(last).unwrap_or_default(), child.wait())));
    let ended = match ended.recv_timeout(LIMIT) {
        Err(RecvTimeoutError::Timeout) => None,
        other => other.ok(),
    };
    // Whatever it left running in its group ends with it.
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
    let said = ended.and_then(|(said, status)| status.is_ok_and(|status| status.success()).then_some(said));
    Ok(said.as_deref().and_then(last_number))
}

fn last(mut output: impl Read) -> String {
    let mut kept = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(length @ 1..) = output.read(&mut piece) {
        kept.extend_from_slice(piece.get(..length).unwrap_or_default());
        if kept.len() > 2 * KEPT {
            kept.drain(..kept.len() - KEPT);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// The last number in the text: `87.5` of `score: 87.5 %`.
fn last_number(text: &str) -> Option<f64> {
    let words = text.split(|letter: char| !letter.is_ascii_digit() && !".-+eE".contains(letter));
    let mut numbers = words.filter_map(|word| {
        let word = word.trim_end_matches(['.', '-', '+', 'e', 'E']).trim_start_matches(['.', 'e', 'E']);
        word.parse::<f64>().ok().filter(|number| number.is_finite())
    });
    numbers.next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_is_the_score() {
        for (text, number) in [
            ("3\n", Some(3.0)),
            ("score: 87.5 %", Some(87.5)),
            ("tests 10, failed 2.\n", Some(2.0)),
            ("loss -1.5e-3", Some(-0.0015)),
            ("none - here.", None),
            ("nan inf", None),
        ] {
            assert_eq!(last_number(text), number, "{text}");
        }
    }

    #[test]
    fn only_a_judge_that_succeeds_counts() {
        let home = tempfile::tempdir().unwrap();
        let env = ChildEnv::default();
        let score = |command: &str| score(command, home.path(), &env).unwrap();
        assert_eq!(score("echo 1; echo 2"), Some(2.0));
        assert_eq!(score("echo 1; exit 1"), None);
        assert_eq!(score("echo 3 >&2"), None);
    }
}
