//! What a program knows of the outside: made once in `main`, passed first to everything that acts.

use std::path::PathBuf;

use crate::clock::Clock;
use crate::env::Env;
use crate::error::Result;
use crate::paths::Paths;
use crate::say::Say;
use crate::terminal::Terminal;

/// The outside world, as seen at start.
#[derive(Clone, Debug)]
pub struct World {
    /// The environment.
    pub env: Env,
    /// The time.
    pub clock: Clock,
    /// Where files lie.
    pub paths: Paths,
    /// Which streams are terminals.
    pub terminal: Terminal,
    /// Where words go.
    pub say: Say,
}

impl World {
    /// The world of this process.
    pub fn of_process(program: &'static str) -> Result<Self> {
        let env = Env::of_process();
        Ok(Self {
            clock: Clock::of(&env)?,
            paths: Paths::of(&env),
            terminal: Terminal::detect(),
            say: Say::new(program),
            env,
        })
    }

    /// The directory this process works in; an empty path where it is gone.
    #[expect(clippy::disallowed_methods, reason = "the one place where the working directory is asked for")]
    pub fn cwd(&self) -> PathBuf {
        std::env::current_dir().unwrap_or_default()
    }

    /// Whether output may be coloured.
    pub fn colour(&self) -> bool {
        self.terminal.colour(&self.env)
    }
}
