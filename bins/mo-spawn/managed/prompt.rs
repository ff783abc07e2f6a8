//! The words to the worker: the task as it was given, and what sends it back.

use std::fs::File;
use std::io::{self, Read};

use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::record::Check;

use crate::options::Source;

/// The longest task; longer ones belong into files that the task names.
const LONGEST: u64 = 1 << 20;

/// Reads the task.
pub fn read(source: &Source) -> Result<String> {
    let mut bytes = Vec::new();
    match source {
        Source::Text(text) => return Ok(text.clone()),
        Source::Stdin => io::stdin()
            .lock()
            .take(LONGEST + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| Error::new(Exit::Io, "cannot read the task").because(&error))?,
        Source::File(path) => File::open(path)
            .and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes))
            .map_err(|error| Error::io("cannot read the task", path, &error))?,
    };
    if bytes.len() as u64 > LONGEST {
        return Err(Error::new(Exit::Usage, format!("the task is longer than {} KiB", LONGEST >> 10))
            .hint("put the long part into a file, and name it in the task"));
    }
    let text = String::from_utf8(bytes).map_err(|_| Error::new(Exit::Usage, "the task is not UTF-8"))?;
    if text.trim().is_empty() {
        return Err(
            Error::new(Exit::Usage, "the task is empty").hint("--task FILE names it, --task - reads it")
        );
    }
    Ok(text)
}

/// The task with what else binds the worker.
pub fn task(text: &str, files: &[String], checks: &[String]) -> String {
    let mut prompt = text.trim_end().to_owned();
    if !files.is_empty() {
        prompt.push_str("\n\nChange no files but these:\n");
        prompt.extend(files.iter().map(|glob| format!("- {glob}\n")));
    }
    if !checks.is_empty() {
        prompt.push_str("\n\nThese commands will be run when you are done, and must succeed:\n");
        prompt.extend(checks.iter().map(|check| format!("- {check}\n")));
    }
    prompt
}

/// What sends the work back: the checks that failed, with what they printed.
pub fn revision(checks: &[Check], outside: &[String]) -> String {
    let mut text = String::from("The work is not done yet.\n");
    for check in checks.iter().filter(|check| check.exit_code != Some(0)) {
        let how = check.exit_code.map_or("was stopped: it took too long".to_owned(), |code| {
            format!("failed with exit code {code}")
        });
        text.push_str(&format!("\nThis check {how}:\n\n$ {}\n{}\n", check.command, check.tail));
        if check.failed_before == Some(true) {
            text.push_str("(It had failed before you began, too.)\n");
        }
    }
    if !outside.is_empty() {
        text.push_str("\nThese files are none that you may change; put them back as they were:\n");
        text.extend(outside.iter().map(|path| format!("- {path}\n")));
    }
    text.push_str(
        "\nFind the cause and correct it, without weakening the check. Then say in short what you changed.",
    );
    text
}

/// What takes up a session that was interrupted.
pub const GO_ON: &str = "You were interrupted. Go on where you stopped.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_failed_is_sent_back_with_its_output() {
        let check = |command: &str, code| Check {
            command: command.into(),
            exit_code: code,
            tail: format!("said by {command}"),
            ..Check::default()
        };
        let text = revision(&[check("good", Some(0)), check("bad", Some(3)), check("slow", None)], &[]);
        assert!(
            text.contains("exit code 3") && text.contains("said by bad") && text.contains("took too long")
        );
        assert!(!text.contains("said by good") && !text.contains("put them back"));
    }
}
