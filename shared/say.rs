//! The one room that writes to standard output and standard error.
//! Output is data, or a table; everything said to a person on the side goes to standard error.

use std::io::{self, Write};

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::flatten::flatten;

/// The longest message: names and paths in it come from anywhere, and must not move the cursor.
const LONGEST: usize = 2000;

/// Where a program's words go.
#[derive(Clone, Copy, Debug)]
pub struct Say {
    program: &'static str,
}

impl Say {
    /// The words of the named program.
    pub fn new(program: &'static str) -> Self {
        Self { program }
    }

    /// The program's name, as it stands before its messages.
    pub fn program(self) -> &'static str {
        self.program
    }

    /// Writes data. A reader that left early (`| head`) is no failure: the rest is not wanted.
    pub fn out(self, text: &str) -> Result<()> {
        self.data(text).map(|_| ())
    }

    /// Writes a piece of data; tells whether anybody still wants more.
    pub fn data(self, text: &str) -> Result<bool> {
        let mut stdout = io::stdout().lock();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Error::new(Exit::Io, "cannot write to standard output").because(&error)),
        }
    }

    /// Writes a line of data.
    pub fn line(self, text: &str) -> Result<()> {
        self.out(&format!("{text}\n"))
    }

    /// Tells the user something that is not the program's output.
    pub fn note(self, text: &str) {
        // Nobody is left to be told when standard error is closed.
        let _ = writeln!(io::stderr().lock(), "{}: {}", self.program, flatten(text, LONGEST));
    }

    /// Tells the user about a failure, and what to do about it.
    pub fn error(self, error: &Error) {
        self.note(&error.to_string());
        if let Some(hint) = error.what_next() {
            self.hint(hint);
        }
    }

    /// Tells the user what to do next.
    pub fn hint(self, hint: &str) {
        let _ = writeln!(io::stderr().lock(), "hint: {}", flatten(hint, LONGEST));
    }

    /// Writes to standard error as it is, for prompts and progress lines.
    pub fn aside(self, text: &str) {
        let mut stderr = io::stderr().lock();
        let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
    }
}
