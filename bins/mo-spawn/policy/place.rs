//! Where a file really is: `..` and symlinks followed, as far as the way there exists.

use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// A path as a tool named it, and where it leads.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Place {
    /// As it was named, made absolute.
    pub named: PathBuf,
    /// Where it leads; nothing where that cannot be told.
    pub real: Option<PathBuf>,
}

impl Place {
    /// Of a path that is named from this directory.
    pub fn of(path: &str, directory: &Path, home: Option<&Path>) -> Self {
        let named = match (path.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => directory.join(path),
        };
        let real = if path.starts_with('~') && home.is_none() { None } else { real(&named) };
        Self { named, real }
    }
}

/// The path without symlinks. What does not exist yet stands where its last existing directory really is.
pub fn real(path: &Path) -> Option<PathBuf> {
    let mut known = PathBuf::new();
    let mut missing = false;
    for component in path.components() {
        match component {
            Component::RootDir | Component::Prefix(_) => known.push(component),
            Component::CurDir => {}
            // Above what does not exist there is nothing to know.
            Component::ParentDir if missing => return None,
            Component::ParentDir => {
                known.pop();
            }
            Component::Normal(name) => {
                known.push(name);
                match fs::symlink_metadata(&known) {
                    // One that leads nowhere yet would be written through.
                    Ok(meta) if meta.is_symlink() => known = fs::canonicalize(&known).ok()?,
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::NotFound => missing = true,
                    Err(_) => return None,
                }
            }
        }
    }
    known.is_absolute().then_some(known)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn symlinks_and_dots_are_followed_to_the_end() {
        let home = tempfile::tempdir().unwrap();
        let top = home.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::create_dir_all(top.join("out")).unwrap();
        symlink(top.join("out"), top.join("a/link")).unwrap();
        symlink(top.join("nowhere"), top.join("a/dangling")).unwrap();
        let real = |path: &str| Place::of(path, &top.join("a"), None).real;
        assert_eq!(real("b/../new/file"), Some(top.join("a/new/file")));
        assert_eq!(real("link/x"), Some(top.join("out/x")));
        assert_eq!(real("link/../x"), Some(top.join("x")));
        assert_eq!(real("dangling"), None);
        assert_eq!(real("new/../x"), None);
        assert_eq!(real("~/x"), None);
        assert_eq!(Place::of("~/x", Path::new("/"), Some(&top)).real, Some(top.join("x")));
    }
}
