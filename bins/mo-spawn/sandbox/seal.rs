//! The files through which a work tree says which repository it belongs to. A worker can write them, so they are
//! noted before it starts and put back when it has ended: no git of anybody's may be led to a repository of its making.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use shared::error::{Error, Result};
use shared::exit::Exit;

use super::modules::Modules;

/// Such files, as they were.
#[derive(Debug)]
pub struct Seal {
    files: Vec<(PathBuf, Option<Vec<u8>>)>,
    modules: Modules,
    /// What git writes by name and a worker can write to: nothing there may lead elsewhere.
    plain: Vec<PathBuf>,
}

/// Those in the git directory of a work tree; the last one is obeyed where it exists.
const IN_GIT_DIR: &[&str] = &["commondir", "gitdir", "config.worktree"];

impl Seal {
    /// Notes them. `shared`: what is open of the repository's own git directory, objects aside.
    pub fn of(tree: &Path, git_dir: &Path, shared: Vec<PathBuf>) -> Result<Self> {
        let paths =
            std::iter::once(tree.join(".git")).chain(IN_GIT_DIR.iter().map(|name| git_dir.join(name)));
        let noted = paths.map(|path| match fs::read(&path) {
            Ok(bytes) => Ok((path, Some(bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((path, None)),
            Err(error) => Err(Error::io("cannot read", &path, &error)),
        });
        let mut plain = shared;
        plain.push(git_dir.to_owned());
        Ok(Self { files: noted.collect::<Result<_>>()?, modules: Modules::of(git_dir), plain })
    }

    /// Puts back what was changed, and tells which.
    pub fn restore(&self) -> Result<Vec<PathBuf>> {
        let mut changed = Vec::new();
        for place in &self.plain {
            let failed = |error: io::Error| Error::io("cannot clear", place, &error);
            changed.extend(without_odd_files(place).map_err(failed)?);
        }
        for (path, was) in &self.files {
            let failed = |error: io::Error| Error::io("cannot put back", path, &error);
            if put_back(path, was.as_deref()).map_err(failed)? {
                changed.push(path.clone());
            }
        }
        let modules = self.modules.restore();
        changed.extend(
            modules.map_err(|error| Error::new(Exit::Io, "cannot put back a submodule").because(&error))?,
        );
        Ok(changed)
    }
}

/// Removes what is neither a folder nor a plain file with this one name: git would write through a link, and wait at
/// a pipe for ever. Objects are left alone, they share their files with other repositories.
fn without_odd_files(place: &Path) -> io::Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    let mut open = vec![place.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            // It may have gone meanwhile: other workers have their branches here too.
            let Ok(meta) = fs::symlink_metadata(&path) else { continue };
            if meta.is_dir() {
                if entry.file_name() != "objects" {
                    open.push(path);
                }
            } else if !meta.is_file() || meta.nlink() > 1 {
                remove(&path)?;
                removed.push(path);
            }
        }
    }
    Ok(removed)
}

/// Makes the file what it was; whether it was anything else.
pub fn put_back(path: &Path, was: Option<&[u8]>) -> io::Result<bool> {
    if is(path, was) {
        return Ok(false);
    }
    remove(path)?;
    if let Some(bytes) = was {
        fs::write(path, bytes)?;
    }
    Ok(true)
}

/// Whether it is a plain file with these bytes, or not there at all.
fn is(path: &Path, was: Option<&[u8]>) -> bool {
    match (fs::symlink_metadata(path), was) {
        (Err(error), None) => error.kind() == io::ErrorKind::NotFound,
        (Ok(meta), Some(bytes)) => meta.is_file() && fs::read(path).is_ok_and(|now| now == bytes),
        _ => false,
    }
}

/// Removes it, whatever it is.
pub fn remove(path: &Path) -> io::Result<()> {
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
        let seal = Seal::of(&tree, &git_dir, Vec::new()).unwrap();
        assert!(seal.restore().unwrap().is_empty());
        fs::remove_file(tree.join(".git")).unwrap();
        fs::create_dir_all(tree.join(".git/hooks")).unwrap();
        fs::remove_file(git_dir.join("commondir")).unwrap();
        fs::write(home.path().join("evil"), "../..").unwrap();
        std::os::unix::fs::symlink(home.path().join("evil"), git_dir.join("commondir")).unwrap();
        fs::write(git_dir.join("config.worktree"), "[core]").unwrap();
        fs::create_dir(git_dir.join("logs")).unwrap();
        let evil = home.path().join("evil");
        std::os::unix::fs::symlink(&evil, git_dir.join("COMMIT_EDITMSG")).unwrap();
        fs::hard_link(&evil, git_dir.join("logs/HEAD")).unwrap();
        let pipe = std::process::Command::new("mkfifo").arg(git_dir.join("index")).status().unwrap();
        assert!(pipe.success());
        // The link in the place of `commondir` is told once as a link, and once as what was put back.
        assert_eq!(seal.restore().unwrap().len(), 7);
        for gone in ["COMMIT_EDITMSG", "logs/HEAD", "index"] {
            assert!(git_dir.join(gone).symlink_metadata().is_err(), "{gone}");
        }
        assert_eq!(fs::read(&evil).unwrap(), b"../..");
        assert_eq!(fs::read(tree.join(".git")).unwrap(), b"gitdir: x");
        assert!(fs::symlink_metadata(git_dir.join("commondir")).unwrap().is_file());
        assert!(!git_dir.join("config.worktree").exists());
    }
}
