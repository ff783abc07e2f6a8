//! Is a person at the other end? The one room that asks, and the one that knows about colour.

use crate::env::{self, Env};

/// Which of the three standard streams are terminals.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Terminal {
    /// Standard input is a keyboard.
    pub stdin: bool,
    /// Standard output is a screen.
    pub stdout: bool,
    /// Standard error is a screen.
    pub stderr: bool,
}

impl Terminal {
    /// Asks the system.
    pub fn detect() -> Self {
        Self {
            stdin: atty::is(atty::Stream::Stdin),
            stdout: atty::is(atty::Stream::Stdout),
            stderr: atty::is(atty::Stream::Stderr),
        }
    }

    /// Whether standard output may carry colour: a terminal, and the user did not say no.
    pub fn colour(self, env: &Env) -> bool {
        self.stdout && !env.is_set(env::NO_COLOR) && env.text(env::TERM) != Some("dumb")
    }
}

/// The number of columns of the terminal on standard error or output, where there is one.
pub fn columns() -> Option<usize> {
    [rustix::stdio::stderr(), rustix::stdio::stdout()]
        .into_iter()
        .find_map(|stream| rustix::termios::tcgetwinsize(stream).ok())
        .map(|size| usize::from(size.ws_col))
        .filter(|&columns| columns > 0)
}
