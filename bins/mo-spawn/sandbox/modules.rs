//! The repositories of submodules below a work tree's git directory. A worker can write all of it, so what git obeys
//! there is put back as it was, and what the worker made itself is left without a word to obey.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::seal;

/// What a repository of the worker's own making is left with.
const PLAIN: &[u8] = b"[core]\n\trepositoryformatversion = 0\n\tbare = false\n";
/// The files that git obeys in such a repository.
const OBEYED: [&str; 3] = ["config", "config.worktree", "commondir"];

/// The repositories as they were, each with the files that it obeys.
#[derive(Debug)]
pub struct Modules {
    folder: PathBuf,
    before: Vec<(PathBuf, [Option<Vec<u8>>; 3])>,
}

impl Modules {
    /// Notes those of this git directory.
    pub fn of(git_dir: &Path) -> Self {
        let folder = git_dir.join("modules");
        let noted = |home: PathBuf| {
            let files = OBEYED.map(|name| fs::read(home.join(name)).ok());
            (home, files)
        };
        let before = repositories(&folder).into_iter().map(noted).collect();
        Self { folder, before }
    }

    /// Puts back what was changed, and tells which.
    pub fn restore(&self) -> io::Result<Vec<PathBuf>> {
        let mut changed = Vec::new();
        for home in repositories(&self.folder) {
            let was = self.before.iter().find(|(known, _)| *known == home).map(|(_, files)| files);
            for (at, name) in OBEYED.iter().enumerate() {
                let path = home.join(name);
                let made = (*name == "config").then_some(PLAIN);
                let bytes = match was {
                    Some(files) => files.get(at).and_then(Option::as_deref),
                    None => made,
                };
                if seal::put_back(&path, bytes)? {
                    changed.push(path);
                }
            }
            changed.extend(without_hooks(&home.join("hooks"))?);
        }
        Ok(changed)
    }
}

/// Our own git runs no hook; whoever goes there by hand shall run none of a worker's.
fn without_hooks(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let hooks: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_none_or(|end| end != "sample")).collect();
    for hook in &hooks {
        seal::remove(hook)?;
    }
    Ok(hooks)
}

/// Every repository below this folder: a name may have slashes, and a submodule has its own.
fn repositories(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(place) = open.pop() {
        let is_repository = place.join("HEAD").symlink_metadata().is_ok();
        if is_repository {
            open.push(place.join("modules"));
            found.push(place);
            continue;
        }
        let entries = fs::read_dir(&place).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        open.extend(folders.map(|entry| entry.path()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_obeys_is_as_before_and_a_new_one_obeys_nothing() {
        let home = tempfile::tempdir().unwrap();
        let at = |path: &str| home.path().join("modules").join(path);
        for folder in ["a/b/hooks", "a/b/modules/inner"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for (path, text) in [
            ("a/b/HEAD", "x"),
            ("a/b/config", "its own"),
            ("a/b/hooks/x.sample", "x"),
            ("a/b/modules/inner/HEAD", "x"),
        ] {
            fs::write(at(path), text).unwrap();
        }
        let modules = Modules::of(home.path());
        assert!(modules.restore().unwrap().is_empty());
        fs::create_dir_all(at("new")).unwrap();
        for path in ["a/b/config", "a/b/hooks/post-checkout", "a/b/commondir", "a/b/modules/inner/config"] {
            fs::write(at(path), "[filter \"x\"]").unwrap();
        }
        for path in ["new/HEAD", "new/config", "new/config.worktree"] {
            fs::write(at(path), "[filter \"x\"]").unwrap();
        }
        assert_eq!(modules.restore().unwrap().len(), 6);
        assert_eq!(fs::read(at("a/b/config")).unwrap(), b"its own");
        assert_eq!(fs::read(at("new/config")).unwrap(), PLAIN);
        for gone in
            ["a/b/hooks/post-checkout", "a/b/commondir", "a/b/modules/inner/config", "new/config.worktree"]
        {
            assert!(!at(gone).exists(), "{gone}");
        }
        assert!(at("a/b/hooks/x.sample").exists());
    }
}
