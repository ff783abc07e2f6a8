//! What one run left: its end, its two streams, and asserts that show everything when they fail.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;

/// Longest piece of a stream that a failure prints.
const SHOWN: usize = 20_000;

/// A finished run.
#[derive(Debug)]
pub struct Output {
    /// The exit code, when it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// From start to end.
    pub took: Duration,
    /// Our patience ran out and the process group was killed: it never ended, or something it started kept its
    /// output open.
    pub timed_out: bool,
    pub(crate) command: String,
    pub(crate) cwd: PathBuf,
}

impl Output {
    /// Ended with code 0.
    #[track_caller]
    pub fn ok(self) -> Self {
        self.code(0)
    }

    /// Ended by itself with this code.
    #[track_caller]
    pub fn code(self, code: i32) -> Self {
        self.ended();
        self.expect(self.code == Some(code), &format!("exit code {code}"));
        self
    }

    /// Ended by itself with a code other than 0.
    #[track_caller]
    pub fn fails(self) -> Self {
        self.ended();
        self.expect(self.code.is_some_and(|code| code != 0), "an exit code that is not 0");
        self
    }

    /// Ended by this signal.
    #[track_caller]
    pub fn signalled(self, signal: i32) -> Self {
        self.ended();
        self.expect(self.signal == Some(signal), &format!("end by signal {signal}"));
        self
    }

    /// Was killed by us.
    #[track_caller]
    pub fn ran_out_of_patience(self) -> Self {
        self.expect(self.timed_out, "a run that never ends");
        self
    }

    /// Standard output, the whole of it.
    #[track_caller]
    pub fn stdout_is(self, text: &str) -> Self {
        self.expect(self.stdout == text.as_bytes(), &format!("stdout to be {text:?}"));
        self
    }

    /// Standard output holds this.
    #[track_caller]
    pub fn stdout_has(self, text: &str) -> Self {
        self.expect(self.text().contains(text), &format!("stdout to hold {text:?}"));
        self
    }

    /// Standard output does not hold this.
    #[track_caller]
    pub fn stdout_lacks(self, text: &str) -> Self {
        self.expect(!self.text().contains(text), &format!("stdout not to hold {text:?}"));
        self
    }

    /// Standard error, the whole of it.
    #[track_caller]
    pub fn stderr_is(self, text: &str) -> Self {
        self.expect(self.stderr == text.as_bytes(), &format!("stderr to be {text:?}"));
        self
    }

    /// Standard error holds this.
    #[track_caller]
    pub fn stderr_has(self, text: &str) -> Self {
        self.expect(self.errors().contains(text), &format!("stderr to hold {text:?}"));
        self
    }

    /// Standard error does not hold this.
    #[track_caller]
    pub fn stderr_lacks(self, text: &str) -> Self {
        self.expect(!self.errors().contains(text), &format!("stderr not to hold {text:?}"));
        self
    }

    /// Standard output as text; bytes that are no UTF-8 are replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text; bytes that are no UTF-8 are replaced.
    pub fn errors(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Standard output as one JSON document.
    #[track_caller]
    pub fn json<T: DeserializeOwned>(&self) -> T {
        match serde_json::from_slice(&self.stdout) {
            Ok(value) => value,
            Err(error) => panic!("stdout is not the JSON expected: {error}\n{}", self.whole()),
        }
    }

    /// Standard output as one JSON document a line.
    #[track_caller]
    pub fn json_lines<T: DeserializeOwned>(&self) -> Vec<T> {
        let lines = self.stdout.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        let parse = |line: &[u8]| match serde_json::from_slice(line) {
            Ok(value) => value,
            Err(error) => panic!(
                "a line of stdout is not the JSON expected: {error}\n{}\n{}",
                String::from_utf8_lossy(line),
                self.whole()
            ),
        };
        lines.map(parse).collect()
    }

    /// Everything known about the run, for a failure message.
    pub fn whole(&self) -> String {
        let mut text = String::new();
        let end = match (self.timed_out, self.code, self.signal) {
            (true, code, signal) => {
                format!("killed by us, out of patience (code {code:?}, signal {signal:?})")
            }
            (false, Some(code), _) => format!("exit code {code}"),
            (false, None, signal) => format!("signal {signal:?}"),
        };
        let _ = writeln!(text, "command: {}\ncwd: {}", self.command, self.cwd.display());
        let _ = writeln!(text, "end: {end} after {:?}", self.took);
        let _ = writeln!(text, "files there: {}", listing(&self.cwd));
        let _ = writeln!(text, "--- stdout ({} bytes)\n{}", self.stdout.len(), shown(&self.stdout));
        let _ = writeln!(text, "--- stderr ({} bytes)\n{}", self.stderr.len(), shown(&self.stderr));
        text
    }

    #[track_caller]
    fn ended(&self) {
        self.expect(!self.timed_out, "a run that ends");
    }

    #[track_caller]
    fn expect(&self, holds: bool, what: &str) {
        assert!(holds, "expected {what}\n{}", self.whole());
    }
}

fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}\n… cut here", &text[..end]),
        None => text.into_owned(),
    }
}

fn listing(dir: &Path) -> String {
    let Ok(entries) = std::fs::read_dir(dir) else { return "(unreadable)".into() };
    let mut names: Vec<_> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names.join(" ")
}
