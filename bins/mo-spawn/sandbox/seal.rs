//! The files through which a work tree says which repository it belongs to. A worker can write them, so they are
//! noted before it starts and put back when it has ended: no git of anybody's may be led to a repository of its making.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use shared::error::{Error, Result};

/// Such files, as they were.
#[derive(Debug)]
pub struct Seal(Vec<(PathBuf, Option<Vec<u8>>)>);

/// Those in the git directory of a work tree; the last one is obeyed where it exists.
const IN_GIT_DIR: &[&str] = &["commondir", "gitdir", "config.worktree"];

impl Seal {
    /// Notes them.
    pub fn of(tree: &Path, git_dir: &Path) -> Result<Self> {
        let paths =
            std::iter::once(tree.join(".git")).chain(IN_GIT_DIR.iter().map(|name| git_dir.join(name)));
        let noted = paths.map(|path| match fs::read(&path) {
            Ok(bytes) => Ok((path, Some(bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((path, None)),
            Err(error) => Err(Error::io("cannot read", &path, &error)),
        });
        noted.collect::<Result<_>>().map(Self)
    }

    /// Puts back what was changed, and tells which.
    pub fn restore(&self) -> Result<Vec<PathBuf>> {
        let mut changed = Vec::new();
        for (path, was) in &self.0 {
            if is(path, was.as_deref()) {
                continue;
            }
            let mended = remove(path).and_then(|()| match was {
                Some(bytes) => fs::write(path, bytes),
                None => Ok(()),
            });
            mended.map_err(|error| Error::io("cannot put back", path, &error))?;
            changed.push(path.clone());
        }
        Ok(changed)
    }
}

/// Whether it is a plain file with these bytes, or not there at all.
fn is(path: &Path, was: Option<&[u8]>) -> bool {
    match (fs::symlink_metadata(path), was) {
        (Err(error), None) => error.kind() == io::ErrorKind::NotFound,
        (Ok(meta), Some(bytes)) => meta.is_file() && fs::read(path).is_ok_and(|now| now == bytes),
        _ => false,
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_was_done_to_them_they_are_as_before() {
        let home = tempfile::tempdir().unwrap();
        let (tree, git_dir) = (home.path().join("tree"), home.path().join("git"));
        fs::create_dir_all(&tree).unwrap();
        fs::create_dir_all(&git_dir).unwrap();
        fs::write(tree.join(".git"), "gitdir: x").unwrap();
        fs::write(git_dir.join("commondir"), "../..").unwrap();
        let seal = Seal::of(&tree, &git_dir).unwrap();
        assert!(seal.restore().unwrap().is_empty());
        fs::remove_file(tree.join(".git")).unwrap();
        fs::create_dir_all(tree.join(".git/hooks")).unwrap();
        fs::remove_file(git_dir.join("commondir")).unwrap();
        fs::write(home.path().join("evil"), "../..").unwrap();
        std::os::unix::fs::symlink(home.path().join("evil"), git_dir.join("commondir")).unwrap();
        fs::write(git_dir.join("config.worktree"), "[core]").unwrap();
        assert_eq!(seal.restore().unwrap().len(), 3);
        assert_eq!(fs::read(tree.join(".git")).unwrap(), b"gitdir: x");
        assert!(fs::symlink_metadata(git_dir.join("commondir")).unwrap().is_file());
        assert!(!git_dir.join("config.worktree").exists());
    }
}
