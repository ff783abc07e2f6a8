//! What can go wrong, said so that a user can act on it: what, where, why, what to do next.

use std::fmt::{self, Display};
use std::io;
use std::path::{Path, PathBuf};

use crate::exit::Exit;

/// The result of everything in this library that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure. Its text reads `cannot read /p/f: permission denied`, lower-case and without a full stop,
/// because the program's name stands before it; the hint goes on a line of its own.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Error {
    exit: Exit,
    what: String,
    path: Option<PathBuf>,
    cause: Option<String>,
    hint: Option<String>,
}

impl Error {
    /// A failure of the given kind; `what` says what could not be done.
    pub fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self { exit, what: what.into(), path: None, cause: None, hint: None }
    }

    /// A failed read or write of `path`; `what` is like `cannot read`.
    pub fn io(what: impl Into<String>, path: &Path, source: &io::Error) -> Self {
        let hint = match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Some("the disk is full: free some space and try again".to_owned())
            }
            io::ErrorKind::ReadOnlyFilesystem => Some("the file system is read-only".to_owned()),
            _ => None,
        };
        let error = Self::new(Exit::Io, what).at(path).because(source);
        Self { hint, ..error }
    }

    /// Names the file or directory concerned.
    #[must_use]
    pub fn at(self, path: &Path) -> Self {
        Self { path: Some(path.to_owned()), ..self }
    }

    /// Says why.
    #[must_use]
    pub fn caused_by(self, cause: impl Display) -> Self {
        Self { cause: Some(cause.to_string()), ..self }
    }

    /// Says why, in the system's words.
    #[must_use]
    pub fn because(self, source: &io::Error) -> Self {
        self.caused_by(describe(source))
    }

    /// Says what to do next.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The exit code this failure deserves.
    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// What to do next, where we know.
    pub fn what_next(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// The system's reason without the number that Rust appends.
fn describe(source: &io::Error) -> String {
    let text = source.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(path) = &self.path {
            write!(f, " {}", path.display())?;
        }
        if let Some(cause) = &self.cause {
            write!(f, ": {cause}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_io_error_names_its_file_and_reason() {
        let error = Error::io("cannot read", Path::new("/p/f"), &io::Error::from_raw_os_error(13));
        assert_eq!(error.to_string(), "cannot read /p/f: permission denied");
        assert_eq!(error.exit(), Exit::Io);
    }
}
