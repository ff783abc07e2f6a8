//! A dispatch's own work tree, as a sandbox sees it: which parts of its repository a commit changes.

use std::fs;
use std::path::{Path, PathBuf};

use shared::error::{Error, Result};
use shared::exit::Exit;

use super::real;
use super::seal::Seal;

/// How the branch of a dispatch begins.
const BRANCH: &str = "ref: refs/heads/mo/";
/// What is open of the shared part: objects, and the branches of workers with their logs. Git makes the lock of a
/// branch beside it, so it cannot be this branch alone.
const SHARED: [&str; 3] = ["objects", "refs/heads/mo", "logs/refs/heads/mo"];

/// The work tree.
#[derive(Debug)]
pub struct WorkTree {
    top: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
}

impl WorkTree {
    /// The one that this directory lies in; nothing where that is none of a dispatch. The top of any other repository
    /// is refused: its hooks would lie in what may be written.
    pub fn of(directory: &Path) -> Result<Option<Self>> {
        let directory = real(directory)?;
        if let Some(tree) = directory.ancestors().find_map(Self::at) {
            return Ok(Some(tree));
        }
        let is_bare = directory.join("HEAD").is_file() && directory.join("objects").is_dir();
        if is_bare || directory.join(".git").symlink_metadata().is_ok() {
            let what =
                "a sandbox cannot keep the hooks and the configuration of a repository out of reach in";
            return Err(Error::new(Exit::Config, what)
                .at(&directory)
                .hint("add --worktree to a task, or run it in a directory below the repository's top"));
        }
        Ok(None)
    }

    fn at(top: &Path) -> Option<Self> {
        let said = fs::read_to_string(top.join(".git")).ok()?;
        let git_dir = top.join(said.strip_prefix("gitdir: ")?.trim_end()).canonicalize().ok()?;
        let common = fs::read_to_string(git_dir.join("commondir")).ok()?;
        let common_dir = git_dir.join(common.trim_end()).canonicalize().ok()?;
        let head = fs::read_to_string(git_dir.join("HEAD")).ok()?;
        // It must be known to the repository by this very place.
        let back = PathBuf::from(fs::read_to_string(git_dir.join("gitdir")).ok()?.trim_end());
        let is_known = git_dir.parent() == Some(&common_dir.join("worktrees"))
            && back.parent().and_then(|back| back.canonicalize().ok()).as_deref() == Some(top);
        (is_known && head.starts_with(BRANCH)).then(|| Self { top: top.to_owned(), git_dir, common_dir })
    }

    /// What may be written: never hooks or configuration.
    pub fn writable(&self) -> Result<Vec<PathBuf>> {
        let mut parts = vec![self.top.clone(), self.git_dir.clone()];
        for name in SHARED {
            let folder = self.common_dir.join(name);
            fs::create_dir_all(&folder).map_err(|error| Error::io("cannot make", &folder, &error))?;
            parts.push(real(&folder)?);
        }
        Ok(parts)
    }

    /// The files that tie it to its repository, as they are now.
    pub fn seal(&self) -> Result<Seal> {
        let shared = SHARED.iter().filter(|name| **name != "objects").map(|name| self.common_dir.join(name));
        Seal::of(&self.top, &self.git_dir, shared.collect())
    }

    /// The top of the tree.
    pub fn top(&self) -> &Path {
        &self.top
    }
}
