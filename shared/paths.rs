//! Where everything lies: the one room that joins path names.

use std::path::{Path, PathBuf};

use crate::env::{self, Env};
use crate::error::{Error, Result};
use crate::exit::Exit;

/// The user's home, the workers' root and the manager's own configuration directory.
#[derive(Clone, Debug)]
pub struct Paths {
    home: Option<PathBuf>,
    root: Option<PathBuf>,
    config_dir: Option<PathBuf>,
    root_is_set: bool,
}

impl Paths {
    /// Reads `HOME`, `CLAUDE_WORKERS_ROOT` and `CLAUDE_CONFIG_DIR`; what is missing is an error only when it is asked for.
    pub fn of(env: &Env) -> Self {
        let dir = |name| env.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = dir(env::HOME);
        let root_is_set = env.is_set(env::CLAUDE_WORKERS_ROOT);
        let root = dir(env::CLAUDE_WORKERS_ROOT)
            .map(|root| match (root.strip_prefix("~"), &home) {
                (Ok(rest), Some(home)) => home.join(rest),
                _ => root,
            })
            .or_else(|| home.as_ref().map(|home| home.join(".claude-workers")));
        Self { home, root, config_dir: dir(env::CLAUDE_CONFIG_DIR), root_is_set }
    }

    /// The user's home directory.
    pub fn home(&self) -> Result<&Path> {
        self.home.as_deref().ok_or_else(|| {
            Error::new(Exit::Config, "HOME is not set").hint("set HOME to your home directory and try again")
        })
    }

    /// The workers' root: `CLAUDE_WORKERS_ROOT`, else `~/.claude-workers`; always absolute.
    pub fn root(&self) -> Result<&Path> {
        let root = self.root.as_deref().ok_or_else(|| {
            Error::new(Exit::Config, "neither HOME nor CLAUDE_WORKERS_ROOT is set")
                .hint("set one of them: the workers live in ~/.claude-workers or in CLAUDE_WORKERS_ROOT")
        })?;
        if root.is_absolute() {
            return Ok(root);
        }
        let variable = if self.root_is_set { env::CLAUDE_WORKERS_ROOT } else { env::HOME };
        Err(Error::new(Exit::Config, format!("{variable} does not name an absolute path:"))
            .at(root)
            .hint("a path that begins with / is the same from everywhere"))
    }

    /// The manager's Claude Code configuration: `CLAUDE_CONFIG_DIR`, else `~/.claude`.
    pub fn claude_config(&self) -> Result<PathBuf> {
        match &self.config_dir {
            Some(dir) => Ok(dir.clone()),
            None => Ok(self.home()?.join(".claude")),
        }
    }

    /// The directory of one worker: its whole Claude Code identity.
    pub fn worker(&self, name: &str) -> Result<PathBuf> {
        Ok(self.root()?.join(name))
    }

    /// Held while a worker's files are changed.
    pub fn workers_lock(&self) -> Result<PathBuf> {
        Ok(self.root()?.join(".lock"))
    }

    /// The user's own presets.
    pub fn presets(&self) -> Result<PathBuf> {
        Ok(self.root()?.join("presets.json"))
    }

    /// The lock that every change of the user's own presets is made under.
    pub fn presets_lock(&self) -> Result<PathBuf> {
        Ok(self.root()?.join(".presets.lock"))
    }

    /// The user's own prices, over the bundled ones.
    pub fn prices(&self) -> Result<PathBuf> {
        Ok(self.root()?.join("prices.json"))
    }

    /// The user's own delegation rules, in place of the bundled ones.
    pub fn rules(&self) -> Result<PathBuf> {
        Ok(self.root()?.join("rules.md"))
    }

    /// The user's own roles.
    pub fn roles(&self) -> Result<PathBuf> {
        Ok(self.root()?.join(".roles"))
    }

    /// The projects whose roles the user trusts.
    pub fn trusted_roles(&self) -> Result<PathBuf> {
        Ok(self.roles()?.join("trusted.json"))
    }

    /// Held while that list is changed.
    pub fn roles_lock(&self) -> Result<PathBuf> {
        Ok(self.roles()?.join(".lock"))
    }

    /// The link to the folder of the newest installed programs.
    pub fn bin(&self) -> Result<PathBuf> {
        Ok(self.root()?.join(".bin"))
    }

    /// The ledger's directory.
    pub fn usage(&self) -> Result<PathBuf> {
        Ok(self.root()?.join(".usage"))
    }

    /// The directory of dispatch records.
    pub fn dispatch(&self) -> Result<PathBuf> {
        Ok(self.root()?.join(".dispatch"))
    }

    /// The directory that leads from sessions to the dispatches they gave away.
    pub fn dispatches(&self) -> Result<PathBuf> {
        Ok(self.dispatch()?.join("by-session"))
    }

    /// The directory of the dispatches that this session gave away.
    pub fn dispatches_of(&self, session: &str) -> Result<PathBuf> {
        Ok(self.dispatches()?.join(session))
    }

    /// The gateway's directory.
    pub fn proxy(&self) -> Result<PathBuf> {
        Ok(self.root()?.join(".proxy"))
    }

    /// The directory of the workers' own work trees: a folder a repository.
    pub fn worktrees(&self) -> Result<PathBuf> {
        Ok(self.root()?.join(".worktrees"))
    }

    /// Which sessions have given which worker work, and when each was last used.
    pub fn leases(&self) -> Result<PathBuf> {
        Ok(self.dispatch()?.join("leases.json"))
    }

    /// The directory of our own logs.
    pub fn log(&self) -> Result<PathBuf> {
        Ok(self.root()?.join(".log"))
    }
}

/// A path as a person writes it: `~` for the home directory.
pub fn shown(path: &Path, paths: &Paths) -> String {
    match paths.home.as_deref().and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(variables: &[(&str, &str)]) -> Paths {
        Paths::of(&variables.iter().copied().collect())
    }

    #[test]
    fn the_root_can_be_moved() {
        assert_eq!(paths(&[("HOME", "/h")]).root().unwrap(), Path::new("/h/.claude-workers"));
        assert_eq!(paths(&[("HOME", "/h"), ("CLAUDE_WORKERS_ROOT", "/w")]).root().unwrap(), Path::new("/w"));
        assert_eq!(
            paths(&[("HOME", "/h"), ("CLAUDE_WORKERS_ROOT", "~/w")]).root().unwrap(),
            Path::new("/h/w")
        );
        assert_eq!(paths(&[("CLAUDE_WORKERS_ROOT", "/w")]).root().unwrap(), Path::new("/w"));
    }

    #[test]
    fn a_missing_home_is_told_when_it_is_needed() {
        assert_eq!(paths(&[]).root().unwrap_err().exit(), Exit::Config);
        assert_eq!(
            paths(&[("HOME", "/h"), ("CLAUDE_WORKERS_ROOT", "w")]).root().unwrap_err().exit(),
            Exit::Config
        );
    }
}
