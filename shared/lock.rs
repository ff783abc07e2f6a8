//! Locks between processes: an flock on a sidecar file, held over the whole read-modify-write.
//! It dies with its holder, so there is nothing to clean up after a crash.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use fs2::FileExt;

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::file::{self, PRIVATE};

/// How long a person waits for another program of ours before we say who holds things up.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// Pauses between tries: short, since holders work for milliseconds.
const PAUSE: Duration = Duration::from_millis(2);

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock, waiting at most `deadline`.
    pub fn acquire(path: &Path, deadline: Duration) -> Result<Self> {
        if let Some(directory) = path.parent() {
            file::create_private_dir(directory)?;
        }
        let start = Instant::now();
        loop {
            if let Some(lock) = Self::try_acquire(path)? {
                return Ok(lock);
            }
            if start.elapsed() >= deadline {
                return Err(Error::new(Exit::Busy, "still locked by another mo- program:")
                    .at(path)
                    .hint("try again in a moment; `lsof` on that file names the process that holds it"));
            }
            thread::sleep(PAUSE);
        }
    }

    /// Takes the lock if nobody holds it.
    pub fn try_acquire(path: &Path) -> Result<Option<Self>> {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(PRIVATE)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(path)
            .map_err(|error| Error::io("cannot open the lock", path, &error))?;
        match FileExt::try_lock_exclusive(&file) {
            Ok(()) => Ok(Some(Self { file })),
            Err(error) if error.raw_os_error() == fs2::lock_contended_error().raw_os_error() => Ok(None),
            Err(error) => Err(Error::io("cannot lock", path, &error)),
        }
    }
}

/// A process that is handed the descriptor holds the lock too, until it ends.
impl AsFd for Lock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holder_is_told_which_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deep/lock");
        let held = Lock::acquire(&path, PATIENCE).unwrap();
        let refused = Lock::acquire(&path, Duration::from_millis(5)).unwrap_err();
        assert_eq!(refused.exit(), Exit::Busy);
        assert!(refused.to_string().contains("deep/lock"));
        drop(held);
        assert!(Lock::try_acquire(&path).unwrap().is_some());
    }
}
