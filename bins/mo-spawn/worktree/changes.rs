//! The files that a run changed: in a tree of its own since the commit it began from, in a plain directory since a
//! snapshot, where only what changed meanwhile counts though much was changed before.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use shared::error::Result;
use shared::world::World;

use super::git::{self, Git};
use super::repository::Repository;
use super::status::Status;
use crate::sandbox::Enclosure;

/// Larger files are compared by size and time.
const READ: u64 = 1 << 20;
/// So much is read in all.
const READ_IN_ALL: u64 = 64 << 20;

/// The files that differ from `base` in the tree where `git` stands, but the untracked ones in `left_out`.
pub fn since(git: &Git, base: &str, left_out: &[PathBuf]) -> Result<Vec<String>> {
    let mut files = differing(git, base)?;
    let status = Status::of(git)?;
    files.extend(
        status.without(left_out).filter(|entry| entry.is_untracked()).map(|entry| entry.path.clone()),
    );
    Ok(names(files))
}

fn differing(git: &Git, base: &str) -> Result<BTreeSet<PathBuf>> {
    let words =
        ["diff", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--ignore-submodules=dirty", base];
    let bytes = git.bytes(&[&words[..], &["--"]].concat())?;
    Ok(git::entries(&bytes).map(|path| Path::new(OsStr::from_bytes(path)).to_owned()).collect())
}

fn names(files: BTreeSet<PathBuf>) -> Vec<String> {
    files.into_iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

/// A directory as it was before the run.
#[derive(Debug)]
pub struct Snapshot {
    git: Git,
    top: PathBuf,
    /// The workers' root: what we write there is nobody's work.
    ours: PathBuf,
    head: Option<String>,
    open: BTreeMap<PathBuf, Mark>,
}

/// What tells a file's state from another.
#[derive(Debug, Eq, PartialEq)]
struct Mark {
    state: [u8; 2],
    size: u64,
    content: Content,
}

#[derive(Debug, Eq, PartialEq)]
enum Content {
    Read(u64),
    Written(i64, i64),
    None,
}

impl Snapshot {
    /// The directory's repository as it is now; nothing where git does not know the directory.
    /// `confined`: a confined worker works there, so git is confined too.
    pub fn of(world: &World, directory: &Path, confined: bool) -> Result<Option<Self>> {
        let mut git = Git::find(world, directory)?;
        if confined {
            git = git.inside(&Enclosure::read_only(world)?);
        }
        let Some(repository) = Repository::around(&git, directory)? else { return Ok(None) };
        let Some(top) = repository.top else { return Ok(None) };
        let git = git.at(&top);
        let ours = world.paths.root()?.canonicalize().unwrap_or_default();
        let (head, open) = (head(&git)?, marks(&git, &top, &ours)?);
        Ok(Some(Self { git, top, ours, head, open }))
    }

    /// The top of the repository.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The files that changed since, by their paths below the top of the repository.
    pub fn changed(&self) -> Result<Vec<String>> {
        let now = marks(&self.git, &self.top, &self.ours)?;
        let mut files: BTreeSet<PathBuf> = now
            .iter()
            .filter(|(path, mark)| self.open.get(*path) != Some(*mark))
            .map(|(path, _)| path.clone())
            .collect();
        let reverted = self.open.keys().filter(|path| !now.contains_key(*path));
        files.extend(reverted.cloned());
        if let (Some(before), Some(after)) = (&self.head, head(&self.git)?)
            && *before != after
        {
            let words = ["diff", "-z", "--name-only", "--no-renames", "--no-ext-diff", before, &after, "--"];
            let bytes = self.git.bytes(&words)?;
            files.extend(
                git::entries(&bytes).map(|path| PathBuf::from(std::ffi::OsString::from_vec(path.to_vec()))),
            );
        }
        Ok(names(files))
    }
}

fn head(git: &Git) -> Result<Option<String>> {
    let answer = git.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
    Ok(answer.is_yes().then(|| answer.text()))
}

fn marks(git: &Git, top: &Path, ours: &Path) -> Result<BTreeMap<PathBuf, Mark>> {
    let mut left = READ_IN_ALL;
    let entries = Status::of(git)?.entries.into_iter();
    let entries =
        entries.filter(|entry| ours.as_os_str().is_empty() || !top.join(&entry.path).starts_with(ours));
    Ok(entries
        .map(|entry| {
            let mark = Mark::of(&top.join(&entry.path), [entry.staged, entry.unstaged], &mut left);
            (entry.path, mark)
        })
        .collect())
}

impl Mark {
    fn of(path: &Path, state: [u8; 2], left: &mut u64) -> Self {
        let Ok(meta) = fs::symlink_metadata(path) else {
            return Self { state, size: 0, content: Content::None };
        };
        let size = meta.len();
        let read = (meta.is_file() && size <= READ.min(*left)).then(|| content(path)).flatten();
        let content = match read {
            Some(hash) => {
                *left = left.saturating_sub(size);
                Content::Read(hash)
            }
            None => Content::Written(meta.mtime(), meta.mtime_nsec()),
        };
        Self { state, size, content }
    }
}

fn content(path: &Path) -> Option<u64> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(READ).read_to_end(&mut bytes).ok()?;
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    Some(hasher.finish())
}
