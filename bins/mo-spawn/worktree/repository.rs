//! The repository that a directory belongs to: where it lies, what it is called, which commit work begins from.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use shared::error::{Error, Result};
use shared::exit::Exit;

use super::git::Git;

/// A repository, seen from one of its directories.
#[derive(Clone, Debug)]
pub struct Repository {
    /// Git in it, never in one of its trees.
    pub git: Git,
    /// The directory that all its trees share.
    pub common_dir: PathBuf,
    /// This tree's own git directory.
    pub git_dir: PathBuf,
    /// The top of this tree; nothing in a bare repository.
    pub top: Option<PathBuf>,
    /// Where below the top we are.
    pub prefix: PathBuf,
}

impl Repository {
    /// The repository around this directory; nothing where there is none.
    pub fn around(git: &Git, directory: &Path) -> Result<Option<Self>> {
        let git = git.at(directory);
        let inside = ["rev-parse", "--is-inside-git-dir"];
        let answer = git.ask(&inside)?;
        if !answer.is_yes() {
            // Another user's repository, a broken one: those must be told.
            let none = answer.reason().starts_with("not a git repository");
            return if none { Ok(None) } else { Err(git.failed(&inside, &answer)) };
        }
        let bare = git.text(&["rev-parse", "--is-bare-repository"])? == "true";
        if answer.text() == "true" && !bare {
            return Err(Error::new(Exit::Usage, "this is inside a git directory:")
                .at(directory)
                .hint("go to the files of the repository, not to its .git"));
        }
        let absolute = |what| git.path(&["rev-parse", "--path-format=absolute", what]);
        let common_dir = absolute("--git-common-dir")?;
        let git_dir = absolute("--git-dir")?;
        let (top, prefix) = if bare {
            (None, PathBuf::new())
        } else {
            (Some(absolute("--show-toplevel")?), git.path(&["rev-parse", "--show-prefix"])?)
        };
        Ok(Some(Self { git: git.without_tree(&common_dir, &common_dir), common_dir, git_dir, top, prefix }))
    }

    /// The repository with this shared directory.
    pub fn known(git: &Git, common_dir: &Path) -> Self {
        Self {
            git: git.without_tree(common_dir, common_dir),
            common_dir: common_dir.to_owned(),
            git_dir: common_dir.to_owned(),
            top: None,
            prefix: PathBuf::new(),
        }
    }

    /// What its trees' folder is called: a name for people, and a mark that no other repository has.
    pub fn folder(&self) -> String {
        let own = self.common_dir.file_name().unwrap_or_default();
        let named = match self.common_dir.parent().and_then(Path::file_name) {
            Some(parent) if own == ".git" => parent,
            _ => own,
        };
        let name: String = named
            .to_string_lossy()
            .trim_end_matches(".git")
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() || "-_".contains(letter) { letter } else { '-' })
            .take(40)
            .collect();
        format!("{name}-{:016x}", fingerprint(self.common_dir.as_os_str().as_bytes()))
    }

    /// The commit that work begins from: HEAD as it stands here, or what was asked for.
    pub fn base(&self, asked: Option<&str>) -> Result<String> {
        let named = format!("{}^{{commit}}", asked.unwrap_or("HEAD"));
        // From this tree: another tree of the repository has another HEAD.
        let here = self.git.without_tree(&self.git_dir, &self.common_dir);
        let answer = here.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &named])?;
        if answer.is_yes() {
            return Ok(answer.text());
        }
        Err(match asked {
            Some(asked) => Error::new(Exit::Usage, format!("there is no commit `{asked}` in"))
                .at(&self.common_dir)
                .hint("--worktree=BASE takes a branch, a tag or a commit of this repository"),
            None => Error::new(Exit::CouldNot, "there is no commit yet in").at(&self.common_dir).hint(
                "commit something first (`git commit --allow-empty -m start`), or leave --worktree out",
            ),
        })
    }
}

/// FNV-1a: short, and the same for ever. Tells things apart; no defence against anybody.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
