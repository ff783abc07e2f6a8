//! The exit codes that every `mo-*` program shares; what each failure means to a calling script.

use std::process::ExitCode;

/// How a program ended. The numbers are a contract with scripts: they never change their meaning.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Exit {
    /// All done.
    Done,
    /// Could not do it: failed, denied, check failed, lost.
    CouldNot,
    /// A hook that blocks on purpose.
    Blocked,
    /// The program was called wrongly.
    Usage,
    /// The data given, or found on disk, is bad.
    Data,
    /// The provider cannot serve now: unreachable, overloaded, quota used up.
    Unavailable,
    /// A bug of ours.
    Bug,
    /// Reading or writing failed.
    Io,
    /// Busy, or a limit was reached: try again or raise it.
    Busy,
    /// The key is missing or refused.
    Key,
    /// The configuration is bad.
    Config,
    /// Took longer than allowed.
    TimedOut,
    /// The user cancelled it.
    Cancelled,
    /// A child's own code, passed through.
    Child(u8),
}

impl Exit {
    /// The number that the system sees.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::CouldNot => 1,
            Self::Blocked => 2,
            Self::Usage => 64,
            Self::Data => 65,
            Self::Unavailable => 69,
            Self::Bug => 70,
            Self::Io => 74,
            Self::Busy => 75,
            Self::Key => 77,
            Self::Config => 78,
            Self::TimedOut => 124,
            Self::Cancelled => 130,
            Self::Child(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
