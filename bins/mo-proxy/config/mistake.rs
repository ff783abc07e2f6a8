//! One thing that is wrong with the configuration: where, what, and what to do about it.

use std::fmt;
use std::path::Path;

use shared::error::Error;
use shared::exit::Exit;

/// Something that is wrong.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Mistake {
    line: usize,
    place: String,
    what: String,
}

impl Mistake {
    /// On a line of the file.
    pub fn on_line(path: &Path, line: usize, what: impl Into<String>) -> Self {
        Self { line, place: format!("{}:{line}", path.display()), what: what.into() }
    }

    /// In a variable.
    pub fn in_variable(name: &str, what: impl Into<String>) -> Self {
        Self { line: 0, place: name.to_owned(), what: what.into() }
    }
}

impl Mistake {
    /// Whether it stands on the same line of the file.
    pub fn is_beside(&self, other: &Self) -> bool {
        self.line == other.line && self.line > 0
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// All mistakes as one failure: the first in full, the others counted, since each is told on its own line before.
pub fn failure(mistakes: &[Mistake]) -> Error {
    let hint =
        "correct them and try again; docs/proxy.md lists what can be said, and `{}` is a configuration too";
    let what = match mistakes {
        [only] => only.to_string(),
        all => format!("the configuration has {} mistakes", all.len()),
    };
    Error::new(Exit::Config, what).hint(hint)
}
