//! Every change that the ledger makes on disk goes through here, one system call a method, so that a test
//! can stop an update between any two of them. Reading is left to the rooms that know what they read.
//!
//! The replacing of whole files is spelled out in its steps for the same reason; all callers hold the
//! ledger's lock, so one fixed temporary name is enough and no litter can gather.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The changes a store needs.
pub trait Disk: Sync {
    /// Makes the directory, for the user alone, with its parents.
    fn make_dir(&self, dir: &Path) -> io::Result<()>;
    /// Opens for reading and writing, made when missing, emptied when asked for.
    fn open(&self, path: &Path, empty: bool) -> io::Result<File>;
    /// Writes all bytes at an offset.
    fn write(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Sets the length.
    fn set_length(&self, file: &File, length: u64) -> io::Result<()>;
    /// Waits until the file's bytes are on the medium.
    fn sync(&self, file: &File) -> io::Result<()>;
    /// Gives a file or directory another name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// The disk itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn make_dir(&self, dir: &Path) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
    }

    fn open(&self, path: &Path, empty: bool) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create(true).truncate(empty).mode(0o600).open(path)
    }

    fn write(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        file.write_all_at(bytes, offset)
    }

    fn set_length(&self, file: &File, length: u64) -> io::Result<()> {
        file.set_len(length)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

/// Replaces a file so that a reader sees the old or the new one, never half of one.
pub(super) fn replace(disk: &dyn Disk, path: &Path, bytes: &[u8], durable: bool) -> io::Result<()> {
    let temporary = temporary(path);
    let file = disk.open(&temporary, true)?;
    disk.write(&file, bytes, 0)?;
    if durable {
        disk.sync(&file)?;
    }
    disk.rename(&temporary, path)
}

/// The name under which a replacement is made.
fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_file_holds_the_new_bytes_and_leaves_no_litter() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        for text in ["a longer text", "short"] {
            replace(&RealDisk, &path, text.as_bytes(), true).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
