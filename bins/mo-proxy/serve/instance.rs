//! The instance of a user: one at a time, announced in a file, with a token for its owner alone.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use shared::document;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::file::{self, Durability};
use shared::lock::Lock;
use shared::process;
use shared::world::World;

use crate::token::Token;

/// What runs, and where it listens.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Announced {
    /// The format: 1.
    pub version: u32,
    /// The process.
    pub pid: u32,
    /// The system's mark of when it started: with the pid it names a process for ever.
    pub start_time: Option<String>,
    /// Where it listens: host and port, or `unix:` and a path.
    pub address: String,
}

/// The right to be the instance, held while it runs.
#[derive(Debug)]
pub struct Instance {
    folder: PathBuf,
    _lock: Lock,
}

impl Instance {
    /// Becomes the instance of this user.
    pub fn claim(world: &World) -> Result<Self> {
        let folder = world.paths.proxy()?;
        file::create_private_dir(&folder)?;
        match Lock::try_acquire(&folder.join("lock"))? {
            Some(lock) => Ok(Self { folder, _lock: lock }),
            None => Err(Error::new(Exit::Busy, "a gateway of yours runs already")
                .at(&folder)
                .hint("`mo-proxy exec` uses the one that runs; another root is another CLAUDE_WORKERS_ROOT")),
        }
    }

    /// Its token.
    pub fn token(&self) -> Result<Token> {
        Token::load_or_make(&self.folder.join("token"))
    }

    /// Tells where it listens.
    pub fn announce(&self, address: &str) -> Result<()> {
        let pid = std::process::id();
        let announced =
            Announced { version: 1, pid, start_time: process::start_time(pid), address: address.to_owned() };
        document::replace(&self.path(), &announced, Durability::Lazy)
    }

    /// Tells that it listens no more.
    pub fn withdraw(&self) {
        // What stays behind names a process that has ended; readers see that.
        let _ = std::fs::remove_file(self.path());
    }

    fn path(&self) -> PathBuf {
        self.folder.join("instance.json")
    }
}
