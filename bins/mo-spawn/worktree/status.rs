//! What is not committed in a tree, as `git status` lists it: quoting never gets in the way, whatever a name holds.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use shared::error::Result;

use super::git::{self, Git};

/// What differs from the last commit.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// In git's order.
    pub entries: Vec<Entry>,
}

/// One path that differs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    /// How the index differs from the commit.
    pub staged: u8,
    /// How the file differs from the index; `?` where git does not know it.
    pub unstaged: u8,
    /// The path below the top.
    pub path: PathBuf,
}

impl Status {
    /// Asks git. What happens inside a submodule is not asked for: its own configuration would be obeyed.
    pub fn of(git: &Git) -> Result<Self> {
        let bytes = git.bytes(&[
            "status",
            "--porcelain=v1",
            "-z",
            "--no-renames",
            "--untracked-files=all",
            "--ignore-submodules=dirty",
        ])?;
        let entries = git::entries(&bytes).filter_map(|entry| match entry {
            [staged, unstaged, b' ', path @ ..] => Some(Entry {
                staged: *staged,
                unstaged: *unstaged,
                path: Path::new(OsStr::from_bytes(path)).to_owned(),
            }),
            _ => None,
        });
        Ok(Self { entries: entries.collect() })
    }

    /// All that differs, but these files.
    pub fn without<'a>(&'a self, left_out: &'a [PathBuf]) -> impl Iterator<Item = &'a Entry> {
        self.entries.iter().filter(|entry| !(entry.is_untracked() && left_out.contains(&entry.path)))
    }
}

impl Entry {
    /// Whether git does not know it.
    pub fn is_untracked(&self) -> bool {
        self.unstaged == b'?'
    }

    /// A repository of its own that somebody put here: git shows it as a folder.
    pub fn is_foreign_repository(&self) -> bool {
        self.is_untracked() && self.path.as_os_str().as_bytes().ends_with(b"/")
    }

    /// Whether a merge left it undecided.
    pub fn is_undecided(&self) -> bool {
        let both = [self.staged, self.unstaged];
        both.contains(&b'U') || both == *b"AA" || both == *b"DD"
    }

    /// Whether the index does not have it as it stands on disk.
    pub fn is_unstaged(&self) -> bool {
        self.unstaged != b' '
    }
}
