//! One line of the doctor's screen: what was looked at, how it stands, what to do about it.

use super::mending::Mending;

/// How a thing stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mark {
    /// As it should be.
    Ok,
    /// Works, but is good to know.
    Warn,
    /// Needs the user.
    Bad,
}

impl Mark {
    /// As it stands on the screen and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }
}

/// One line.
#[derive(Debug)]
pub struct Line {
    /// How it stands.
    pub mark: Mark,
    /// What was looked at.
    pub subject: String,
    /// What was found.
    pub what: String,
    /// What to do.
    pub next: Option<String>,
    /// What `--fix` would do.
    pub mending: Option<Mending>,
}

impl Line {
    /// All is well.
    pub fn ok(subject: impl Into<String>, what: impl Into<String>) -> Self {
        Self::new(Mark::Ok, subject, what)
    }

    /// Good to know.
    pub fn warn(subject: impl Into<String>, what: impl Into<String>) -> Self {
        Self::new(Mark::Warn, subject, what)
    }

    /// Needs the user.
    pub fn bad(subject: impl Into<String>, what: impl Into<String>) -> Self {
        Self::new(Mark::Bad, subject, what)
    }

    /// A failure to look, as a line: nothing of the user's makes doctor fail.
    pub fn of_error(mark: Mark, subject: &str, error: &shared::error::Error) -> Self {
        let line = Self::new(mark, subject, error.to_string());
        Self { next: error.what_next().map(str::to_owned), ..line }
    }

    /// Says what to do.
    #[must_use]
    pub fn next(self, next: impl Into<String>) -> Self {
        Self { next: Some(next.into()), ..self }
    }

    /// Says what `--fix` does.
    #[must_use]
    pub fn mend(self, mending: Mending) -> Self {
        let next = self.next.clone().or_else(|| Some("`mo-worker doctor --fix` mends it".to_owned()));
        Self { mending: Some(mending), next, ..self }
    }

    /// The line once its mending was tried.
    #[must_use]
    pub fn after(self, mended: shared::error::Result<()>) -> Self {
        match mended {
            Ok(()) => Self::ok(self.subject, format!("mended: {}", self.what)),
            Err(error) => Self { what: format!("{}; {error}", self.what), mark: Mark::Bad, ..self },
        }
    }

    fn new(mark: Mark, subject: impl Into<String>, what: impl Into<String>) -> Self {
        Self { mark, subject: subject.into(), what: what.into(), next: None, mending: None }
    }
}
