//! What was changed in a directory that git does not know: told by comparing its files before and after.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// So many files are remembered; of a larger directory nothing is told.
const MOST: usize = 10_000;
/// Directories whose files are nobody's work.
const PASSED_OVER: &[&str] = &[".git", "node_modules", "target", ".venv", "__pycache__"];

/// What tells one state of a file from another.
type Mark = (u64, i64, i64, u64);
type Seen = BTreeMap<Box<str>, Mark>;

/// The files of a directory as they were.
#[derive(Debug)]
pub struct Files {
    directory: PathBuf,
    ours: PathBuf,
    before: Option<Seen>,
}

impl Files {
    /// As they are now; what lies in `ours` is nobody's work.
    pub fn of(directory: &Path, ours: &Path) -> Self {
        let before = snapshot(directory, ours);
        Self { directory: directory.to_owned(), ours: ours.to_owned(), before }
    }

    /// The files that were made, changed or removed since; nothing where the directory is too large to tell.
    pub fn changed(&self) -> Option<Vec<String>> {
        let before = self.before.as_ref()?;
        let now = snapshot(&self.directory, &self.ours)?;
        let made = now.iter().filter(|(path, mark)| before.get(*path) != Some(mark)).map(|(path, _)| path);
        let gone = before.keys().filter(|path| !now.contains_key(*path));
        let mut changed: Vec<String> = made.chain(gone).map(ToString::to_string).collect();
        changed.sort();
        Some(changed)
    }
}

fn snapshot(top: &Path, ours: &Path) -> Option<Seen> {
    let mut seen = Seen::new();
    let mut open = vec![top.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() {
                if path != ours && !PASSED_OVER.iter().any(|name| entry.file_name() == *name) {
                    open.push(path);
                }
                continue;
            }
            if seen.len() == MOST {
                return None;
            }
            let Ok(meta) = entry.metadata() else { continue };
            let name = path.strip_prefix(top).unwrap_or(&path).to_string_lossy().into_owned();
            seen.insert(name.into(), (meta.len(), meta.mtime(), meta.mtime_nsec(), meta.ino()));
        }
    }
    Some(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_changed_and_removed_files_are_told() {
        let home = tempfile::tempdir().unwrap();
        let file = |name: &str| home.path().join(name);
        fs::create_dir_all(file("a/node_modules")).unwrap();
        for name in ["same", "a/changed", "gone"] {
            fs::write(file(name), "1").unwrap();
        }
        fs::create_dir(file("ours")).unwrap();
        let files = Files::of(home.path(), &file("ours"));
        fs::write(file("ours/record"), "1").unwrap();
        fs::write(file("a/changed"), "22").unwrap();
        fs::write(file("a/new"), "1").unwrap();
        fs::write(file("a/node_modules/x"), "1").unwrap();
        fs::remove_file(file("gone")).unwrap();
        assert_eq!(files.changed().unwrap(), ["a/changed", "a/new", "gone"]);
    }
}
