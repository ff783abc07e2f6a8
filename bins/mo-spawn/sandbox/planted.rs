//! Repositories that a confined worker makes where it works. Whoever enters one with git runs what its configuration
//! names (filters, hooks, a monitor), so they are made harmless when the worker has ended: found, moved aside, told.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use shared::error::{Error, Result};

/// What is put behind the name of what was moved aside.
const ASIDE: &str = ".of-the-worker";

/// Whether a name is that of a repository's own folder, moved aside or not. Some file systems know no case.
pub fn is_repository(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_lowercase();
    name.strip_prefix(".git").is_some_and(|rest| rest.is_empty() || rest.starts_with(ASIDE))
}

/// The places below a directory that make git see a repository, as they were.
#[derive(Debug)]
pub struct Planted {
    top: PathBuf,
    before: BTreeSet<PathBuf>,
}

impl Planted {
    /// Notes them.
    pub fn below(top: &Path) -> Self {
        Self { top: top.to_owned(), before: doors(top).into_iter().collect() }
    }

    /// Moves aside what is new, and tells to where.
    pub fn clear(&self) -> Result<Vec<PathBuf>> {
        let mut moved = Vec::new();
        for door in doors(&self.top).into_iter().filter(|door| !self.before.contains(door)) {
            // The one above it may have been moved with all below.
            if door.symlink_metadata().is_err() {
                continue;
            }
            let to = free_name(&door);
            fs::rename(&door, &to).map_err(|error| Error::io("cannot move aside", &door, &error))?;
            moved.push(to);
        }
        Ok(moved)
    }
}

/// Every `.git`, in whatever letters, and the configuration of what looks
/// like a repository without a tree.
fn doors(top: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![top.to_owned()];
    while let Some(folder) = open.pop() {
        let mut has = [false; 3];
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name.eq_ignore_ascii_case(".git") {
                found.push(entry.path());
                continue;
            }
            for (there, part) in has.iter_mut().zip(["HEAD", "objects", "config"]) {
                *there |= name.eq_ignore_ascii_case(OsStr::new(part));
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
        }
        if has == [true; 3] {
            found.push(folder.join("config"));
        }
    }
    found
}

fn free_name(door: &Path) -> PathBuf {
    let named = |number: u32| {
        let mut name = door.file_name().unwrap_or_default().to_owned();
        name.push(ASIDE);
        if number > 0 {
            name.push(format!("-{number}"));
        }
        door.with_file_name(name)
    };
    (0..u32::MAX).map(named).find(|path| path.symlink_metadata().is_err()).unwrap_or_else(|| named(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_new_is_moved_aside_and_nothing_is_lost() {
        let home = tempfile::tempdir().unwrap();
        let top = home.path();
        for folder in ["old/.git", "new/.git/hooks", "new/deep/.GIT", "bare/objects", "oldbare/objects"] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        for name in ["oldbare/HEAD", "oldbare/config"] {
            fs::write(top.join(name), "x").unwrap();
        }
        fs::remove_dir_all(top.join("new")).unwrap();
        let planted = Planted::below(top);
        assert!(planted.clear().unwrap().is_empty());
        fs::create_dir_all(top.join("new/.git/hooks")).unwrap();
        fs::create_dir_all(top.join("new/deep")).unwrap();
        std::os::unix::fs::symlink("/nowhere", top.join("new/deep/.GIT")).unwrap();
        fs::write(top.join("new/.git.of-the-worker"), "there already").unwrap();
        for name in ["bare/HEAD", "bare/config"] {
            fs::write(top.join(name), "x").unwrap();
        }
        let mut moved = planted.clear().unwrap();
        moved.sort();
        let expected =
            ["bare/config.of-the-worker", "new/.git.of-the-worker-1", "new/deep/.GIT.of-the-worker"];
        assert_eq!(moved, expected.map(|name| top.join(name)));
        assert!(top.join("old/.git").is_dir() && top.join("oldbare/config").is_file());
        assert!(top.join("new/.git.of-the-worker-1/hooks").is_dir());
    }
}
