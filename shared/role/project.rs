//! Where a project keeps roles: `.claude/roles/` of its directory and of those above it, up to the repository's top.
//! What they may do is left to `narrow`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::file;
use crate::role::draft::{CAP, Draft};
use crate::role::trust::Trusted;

/// One folder of roles.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Place {
    /// The folder.
    pub folder: PathBuf,
    /// Whether the user trusts it.
    pub trusted: bool,
    /// What nothing in it may lead out of.
    top: PathBuf,
}

/// The folders that are there, the repository's own first. Without a repository only the directory's own counts:
/// what lies above it may be anybody's.
pub fn places(directory: &Path, trusted: &Trusted) -> Vec<Place> {
    let Ok(directory) = fs::canonicalize(directory) else { return Vec::new() };
    let top = top(&directory);
    let levels = directory.ancestors().take_while(|level| level.starts_with(top));
    let mut places: Vec<Place> = levels
        .map(|level| (level, level.join(".claude/roles")))
        .filter(|(_, folder)| folder.is_dir())
        .map(|(level, folder)| Place { folder, trusted: trusted.holds(level, top), top: top.to_owned() })
        .collect();
    places.reverse();
    places
}

/// Whether the directory is trusted, or one above it within the same repository.
pub fn is_trusted(directory: &Path, trusted: &Trusted) -> bool {
    fs::canonicalize(directory).is_ok_and(|real| trusted.holds(&real, top(&real)))
}

fn top(directory: &Path) -> &Path {
    directory.ancestors().find(|above| above.join(".git").exists()).unwrap_or(directory)
}

impl Place {
    /// What the folder's file of this name says; nothing where there is none.
    pub fn draft(&self, name: &str) -> Result<Option<(PathBuf, Draft)>> {
        let path = self.folder.join(format!("{name}.md"));
        // A link could make any file of the user's a part of what is sent to a provider.
        match fs::canonicalize(&path) {
            Ok(real) if !real.starts_with(&self.top) => {
                return Err(Error::new(Exit::Config, "a project's role leads out of the project:")
                    .at(&path)
                    .hint("take the link away; all other roles work"));
            }
            _ => {}
        }
        let Some(bytes) = file::read_if_there(&path, CAP)? else { return Ok(None) };
        let draft = Draft::read(&path, &bytes)?;
        Ok(Some((path, draft)))
    }
}
