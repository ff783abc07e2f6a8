//! Reading and replacing whole files safely: capped reads, atomic replacement, private modes.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::exit::Exit;

/// The mode of a file that only its owner may read.
pub const PRIVATE: u32 = 0o600;
/// The mode of a directory that only its owner may enter.
pub const PRIVATE_DIR: u32 = 0o700;
/// The mode of a program.
pub const PROGRAM: u32 = 0o700;
/// How the name of a half-written file begins.
pub const TEMPORARY: &str = ".mo-";
/// The most that a JSON file of ours or of Claude Code may hold; a larger one is damaged or hostile.
pub const JSON_CAP: u64 = 4 << 20;

/// Whether a replacement must survive a power loss.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Durability {
    /// On disk before we go on: keys and settings.
    Synced,
    /// Written back when the system likes: what can be made again.
    Lazy,
}

/// The whole file, refused when it is larger than `cap` bytes.
pub fn read(path: &Path, cap: u64) -> Result<Vec<u8>> {
    read_with(path, cap).map_err(|error| Error::io("cannot read", path, &error))
}

/// The whole file, or nothing where there is none.
pub fn read_if_there(path: &Path, cap: u64) -> Result<Option<Vec<u8>>> {
    match read_with(path, cap) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("cannot read", path, &error)),
    }
}

/// The whole file, or nothing where there is none; refused when it is a symlink or another user's.
/// What is read is what was looked at: nobody can put another file in between.
pub fn read_own(path: &Path, cap: u64) -> Result<Option<Vec<u8>>> {
    let failed = |error: io::Error| Error::io("cannot read", path, &error);
    let (file, meta) = match open(path, OFlags::NOFOLLOW) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => return Err(symlink(path)),
        Err(error) => return Err(failed(error)),
    };
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(foreign(path));
    }
    read_open(file, &meta, cap).map(Some).map_err(failed)
}

fn read_with(path: &Path, cap: u64) -> io::Result<Vec<u8>> {
    let (file, meta) = open(path, OFlags::empty())?;
    read_open(file, &meta, cap)
}

fn open(path: &Path, flags: OFlags) -> io::Result<(File, Metadata)> {
    // Not blocking: a named pipe in the file's place must not hang a hook.
    let flags = (flags | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    Ok((file, meta))
}

fn read_open(mut file: File, meta: &Metadata, cap: u64) -> io::Result<Vec<u8>> {
    if !meta.is_file() {
        let what = if meta.is_dir() { "is a directory" } else { "is not a regular file" };
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    if meta.len() > cap {
        let what = format!("larger than {} MiB", cap >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    // Such files are replaced, never appended to: their length is known, and one read is enough.
    let mut bytes = vec![0; meta.len() as usize];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest)? {
            0 => break,
            more => filled += more,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Puts `bytes` in the place of the file: whole or not at all, with this mode from the first byte on.
/// A symlink in the file's place is replaced, never followed.
pub fn replace(path: &Path, bytes: &[u8], mode: u32, durability: Durability) -> Result<()> {
    let failed = |error: io::Error| Error::io("cannot write", path, &error);
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(directory)
        .map_err(failed)?;
    temporary.write_all(bytes).map_err(failed)?;
    // The mode given at creation is cut by the umask.
    temporary.as_file().set_permissions(Permissions::from_mode(mode)).map_err(failed)?;
    if durability == Durability::Synced {
        temporary.as_file().sync_all().map_err(failed)?;
    }
    temporary.persist(path).map_err(|error| failed(error.error))?;
    if durability == Durability::Synced {
        File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed)?;
    }
    Ok(())
}

/// Adds one whole line in one write.
pub fn append_line(path: &Path, line: &str) -> Result<()> {
    let failed = |error: io::Error| Error::io("cannot write", path, &error);
    // A named pipe or a symlink in the file's place must neither hang us nor lead us elsewhere.
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(PRIVATE)
        .custom_flags(flags)
        .open(path)
        .map_err(failed)?;
    file.write_all(format!("{line}\n").as_bytes()).map_err(failed)
}

/// Makes the directory, and what is missing above it, for the owner alone.
pub fn create_private_dir(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let failed = |error: io::Error| Error::io("cannot create", path, &error);
    DirBuilder::new().recursive(true).mode(PRIVATE_DIR).create(path).map_err(failed)?;
    // The mode given at creation is cut by the umask.
    fs::set_permissions(path, Permissions::from_mode(PRIVATE_DIR)).map_err(failed)
}

/// Refuses a symlink, and a file that belongs to another user: what holds a key must be ours.
/// A file that does not exist is no trouble.
pub fn refuse_foreign(path: &Path) -> Result<()> {
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io("cannot read", path, &error)),
    };
    if meta.is_symlink() {
        return Err(symlink(path));
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(foreign(path));
    }
    Ok(())
}

fn symlink(path: &Path) -> Error {
    Error::new(Exit::Config, "refusing to follow the symlink")
        .at(path)
        .hint("a file that holds a key must be a real file in the worker's directory")
}

fn foreign(path: &Path) -> Error {
    Error::new(Exit::Config, "refusing a file of another user:").at(path)
}

/// Whether others than the owner may read or write the file.
pub fn is_open_to_others(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_symlink() && meta.mode() & 0o077 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replacement_has_its_mode_and_leaves_nothing_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        replace(&path, b"one", PRIVATE, Durability::Synced).unwrap();
        replace(&path, b"two", PRIVATE, Durability::Lazy).unwrap();
        assert_eq!(read(&path, 10).unwrap(), b"two");
        assert!(!is_open_to_others(&path));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_above_the_cap_and_a_directory_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        fs::write(&path, b"12345").unwrap();
        assert!(read(&path, 4).is_err());
        assert!(read(directory.path(), 4).unwrap_err().to_string().ends_with("is a directory"));
        assert_eq!(read_if_there(&directory.path().join("none"), 4).unwrap(), None);
    }

    #[test]
    fn a_replacement_never_goes_through_a_symlink() {
        let directory = tempfile::tempdir().unwrap();
        let (target, link) = (directory.path().join("t"), directory.path().join("l"));
        fs::write(&target, b"kept").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(refuse_foreign(&link).is_err());
        replace(&link, b"new", PRIVATE, Durability::Lazy).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"kept");
    }
}
