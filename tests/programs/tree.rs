//! A whole directory as it stands: to prove that nothing in it changed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Everything below a directory: path, mode, and bytes or target.
#[derive(Clone, Eq, PartialEq)]
pub struct Tree(BTreeMap<PathBuf, (u32, Vec<u8>)>);

impl Tree {
    /// Looks at everything below the directory.
    pub fn of(top: &Path) -> Self {
        let mut entries = BTreeMap::new();
        collect(top, top, &mut entries);
        Self(entries)
    }

    /// Nothing below the directory has changed since.
    #[track_caller]
    pub fn is_still(&self, top: &Path) {
        let now = Self::of(top);
        let mut changes = String::new();
        for path in self.0.keys().chain(now.0.keys()) {
            if self.0.get(path) != now.0.get(path) {
                let _ = writeln!(changes, "  {}", path.display());
            }
        }
        assert!(changes.is_empty(), "these changed:\n{changes}");
    }
}

fn collect(top: &Path, path: &Path, entries: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
    let meta = fs::symlink_metadata(path).unwrap();
    let content = if meta.is_symlink() {
        fs::read_link(path).unwrap().into_os_string().into_encoded_bytes()
    } else if meta.is_file() {
        fs::read(path).unwrap_or_default()
    } else {
        Vec::new()
    };
    // Our lock files come and stay: they hold nothing.
    let is_lock = path.file_name().is_some_and(|name| name == ".lock");
    if !is_lock {
        entries.insert(path.strip_prefix(top).unwrap().into(), (meta.permissions().mode(), content));
    }
    if meta.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            collect(top, &entry.path(), entries);
        }
    }
}
