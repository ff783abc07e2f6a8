//! Trees of real repositories, made by the real git, each in a home of its own.

mod brought;
mod hidden;
mod kept;
mod made;
mod saved;
mod seen;
mod subs;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use shared::dispatch_id::DispatchId;
use shared::env::Env;
use shared::paths::Paths;
use shared::say::Say;
use shared::world::World;
use tempfile::TempDir;

use super::{Message, Worktree};

/// A home with a repository, and what the tests do in it.
pub struct Scene {
    _directory: TempDir,
    pub home: PathBuf,
    pub repo: PathBuf,
    pub world: World,
}

impl Scene {
    /// A repository with one commit of the file `a`.
    pub fn new() -> Self {
        Self::named("repo")
    }

    /// The same in a folder of this name.
    pub fn named(name: &str) -> Self {
        let scene = Self::empty(name);
        scene.write("a", "one\n");
        scene.git(&["add", "."]);
        scene.git(&["commit", "-qm", "first"]);
        scene
    }

    /// A repository without a commit.
    pub fn empty(name: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        let repo = home.join(name);
        fs::create_dir_all(&repo).unwrap();
        fs::write(home.join(".gitconfig"), "[user]\nname = User\nemail = user@example.com\n").unwrap();
        let env: Env = [("HOME", home.as_os_str()), ("PATH", "/usr/local/bin:/usr/bin:/bin".as_ref())]
            .into_iter()
            .collect();
        let world = World {
            clock: shared::clock::Clock::of(&env).unwrap(),
            paths: Paths::of(&env),
            terminal: shared::terminal::Terminal::default(),
            say: Say::new("mo-spawn"),
            env,
        };
        let scene = Self { _directory: directory, home, repo, world };
        scene.git(&["init", "-q", "-b", "main"]);
        scene
    }

    pub fn write(&self, path: &str, text: &str) {
        put(&self.repo.join(path), text);
    }

    /// Git in the repository, as the user runs it.
    pub fn git(&self, words: &[&str]) -> String {
        self.git_at(&self.repo, words)
    }

    pub fn git_at(&self, directory: &Path, words: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "protocol.file.allow=always"])
            .args(words)
            .current_dir(directory)
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "git {words:?}: {said}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    pub fn create(&self) -> Worktree {
        self.create_at(&self.repo)
    }

    pub fn create_at(&self, cwd: &Path) -> Worktree {
        Worktree::create(&self.world, cwd, &self.id(), None).unwrap()
    }

    pub fn refused(&self, cwd: &Path, base: Option<&str>) -> shared::error::Error {
        Worktree::create(&self.world, cwd, &self.id(), base).unwrap_err()
    }

    pub fn id(&self) -> DispatchId {
        DispatchId::new(self.world.clock.now())
    }

    /// The branches of dispatches that there are.
    pub fn branches(&self) -> Vec<String> {
        let list = self.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/mo"]);
        list.lines().map(str::to_owned).collect()
    }
}

/// Writes a file, with the folders it needs.
pub fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// What a worker says of its work.
pub fn message() -> Message {
    Message {
        title: Some("add b".into()),
        summary: Some("Added b.".into()),
        dispatch: "d-1".into(),
        worker: "glm".into(),
        model: Some("glm-5".into()),
    }
}
