//! Why an upstream gave no answer, and whether asking again is safe.

use std::fmt;

/// How far a request came.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stage {
    /// Nothing was sent: asking again costs nothing.
    Connect,
    /// A connection that had been idle was closed as we used it: the request was most likely never read.
    Stale,
    /// It may have been read: asking again may be paid for twice.
    Sent,
    /// No answer came in time.
    Silent,
}

/// What went wrong.
#[derive(Clone, Debug)]
pub struct Failure {
    /// How far the request came.
    pub stage: Stage,
    /// What happened, in words.
    pub what: String,
}

impl Failure {
    /// A failure at this stage.
    pub fn new(stage: Stage, what: impl Into<String>) -> Self {
        Self { stage, what: what.into() }
    }

    /// A failure to connect.
    pub fn connect(what: impl Into<String>) -> Self {
        Self::new(Stage::Connect, what)
    }

    /// What the audit calls it.
    pub fn name(&self) -> &'static str {
        match self.stage {
            Stage::Connect => "unreachable",
            Stage::Stale | Stage::Sent => "no-answer",
            Stage::Silent => "silent",
        }
    }

    /// The status that tells the client.
    pub fn status(&self) -> u16 {
        if self.stage == Stage::Silent { 504 } else { 502 }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}
