//! Where transcripts lie: the manager's homes, every worker's, every account's, with all files below them,
//! each once however many names lead to it. Reading them is left to `scan`.

use super::fact::MAIN;
use crate::env;
use crate::error::Result;
use crate::file;
use crate::world::World;
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use serde::Deserialize;
use std::collections::HashSet;
use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How the names of transcripts end.
const TRANSCRIPT: &[u8] = b".jsonl";

/// A configuration directory of Claude Code and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// The worker, [`MAIN`] for the manager.
    pub worker: String,
    /// The directory that holds `projects`.
    pub dir: PathBuf,
}

/// A transcript.
#[derive(Debug, Clone)]
pub(super) struct Transcript {
    pub(super) path: PathBuf,
    /// The place of its home in the list of homes.
    pub(super) home: usize,
    pub(super) identity: Identity,
}

/// What the system says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) size: u64,
    pub(super) modified: u64,
    pub(super) changed: u64,
}

impl Identity {
    #[expect(
        clippy::cast_possible_wrap,
        clippy::unnecessary_cast,
        reason = "the fields differ from system to system"
    )]
    pub(super) fn of(stat: &Stat) -> Self {
        let time = |seconds: i64, nanos: i64| {
            seconds.wrapping_mul(1_000_000_000).wrapping_add(nanos).cast_unsigned()
        };
        Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            size: stat.st_size as u64,
            modified: time(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: time(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        }
    }
}

/// All transcripts, and the folders and files that could not be read.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) transcripts: Vec<Transcript>,
    pub(super) unreadable: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct WorkerFile {
    config_dir: Option<PathBuf>,
}

/// All homes, the manager's first, then the workers' by name.
pub fn homes(world: &World) -> Result<Vec<Home>> {
    let workers = workers(world)?;
    let default_dirs: Vec<PathBuf> = world
        .paths
        .home()
        .map(|home| vec![home.join(".claude"), home.join(".config").join("claude")])
        .unwrap_or_default();
    // A hook inside a worker's process sees the worker's own directory here.
    let chosen = world.env.get(env::CLAUDE_CONFIG_DIR).filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let chosen =
        chosen.filter(|dir| default_dirs.contains(dir) || !workers.iter().any(|home| home.dir == *dir));
    let managers = chosen.map_or(default_dirs, |dir| vec![dir]);
    let main = managers.into_iter().map(|dir| Home { worker: MAIN.to_owned(), dir });
    Ok(main.chain(workers).collect())
}

/// The workers' homes: their directories under the root, and where their accounts keep theirs.
fn workers(world: &World) -> Result<Vec<Home>> {
    let root = world.paths.root()?;
    let Ok(entries) = std::fs::read_dir(root) else { return Ok(Vec::new()) };
    let mut homes = Vec::new();
    for entry in entries.flatten() {
        let Ok(worker) = entry.file_name().into_string() else { continue };
        if worker.starts_with('.') || !entry.path().is_dir() {
            continue;
        }
        let dir = entry.path();
        let described = file::read_if_there(&dir.join("worker.json"), file::JSON_CAP).ok().flatten();
        let described = described.and_then(|bytes| serde_json::from_slice::<WorkerFile>(&bytes).ok());
        if let Some(account) =
            described.and_then(|worker| worker.config_dir).filter(|account| *account != dir)
        {
            homes.push(Home { worker: worker.clone(), dir: account });
        }
        homes.push(Home { worker, dir });
    }
    homes.sort_by(|a, b| (&a.worker, &a.dir).cmp(&(&b.worker, &b.dir)));
    Ok(homes)
}

/// Lists every transcript below the homes once. Links are followed; a folder or file that was met already,
/// under whatever name, is not entered again, so loops end and copies by link count once.
pub(super) fn list(homes: &[Home]) -> Listing {
    let mut walk = Walk { listing: Listing::default(), dirs: HashSet::new(), files: HashSet::new() };
    for (home, Home { dir, .. }) in homes.iter().enumerate() {
        let projects = dir.join("projects");
        let dir = fs::openat(fs::CWD, &projects, DIRECTORY, Mode::empty());
        walk.enter(dir, &projects, home);
    }
    walk.listing
}

/// How folders are opened; names are looked up in the folder they stand in, never from the root again,
/// since this walk is most of what an update costs that finds nothing new.
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

struct Walk {
    listing: Listing,
    dirs: HashSet<(u64, u64)>,
    files: HashSet<(u64, u64)>,
}

impl Walk {
    fn enter(&mut self, dir: rustix::io::Result<OwnedFd>, path: &Path, home: usize) {
        let entered = match dir {
            Ok(dir) => self.dir(dir, path, home),
            Err(error) => Err(error),
        };
        if entered.is_err_and(|error| error == Errno::ACCESS || error == Errno::IO) {
            self.listing.unreadable.push(path.to_owned());
        }
    }

    fn dir(&mut self, dir: OwnedFd, path: &Path, home: usize) -> rustix::io::Result<()> {
        let identity = Identity::of(&fs::fstat(&dir)?);
        if !self.dirs.insert((identity.device, identity.inode)) {
            return Ok(());
        }
        let mut dir = fs::Dir::new(dir)?;
        let (mut folders, mut links): (Vec<CString>, Vec<CString>) = (Vec::new(), Vec::new());
        while let Some(entry) = dir.read() {
            let entry = entry?;
            let name = entry.file_name();
            match entry.file_type() {
                _ if matches!(name.to_bytes(), b"." | b"..") => {}
                FileType::RegularFile if name.to_bytes().ends_with(TRANSCRIPT) => {
                    self.file(dir.fd()?, name, path, home);
                }
                FileType::Directory => folders.push(name.to_owned()),
                // Some file systems do not tell; such an entry is looked at like a link.
                FileType::Symlink | FileType::Unknown => links.push(name.to_owned()),
                _ => {}
            }
        }
        for name in folders {
            let folder = fs::openat(dir.fd()?, &name, DIRECTORY, Mode::empty());
            self.enter(folder, &path.join(OsStr::from_bytes(name.to_bytes())), home);
        }
        // Links last and in order, so that a file's own name is the one that is kept.
        links.sort();
        for name in links {
            if let Some(FileType::Directory) = self.file(dir.fd()?, &name, path, home) {
                let folder = fs::openat(dir.fd()?, &name, DIRECTORY, Mode::empty());
                self.enter(folder, &path.join(OsStr::from_bytes(name.to_bytes())), home);
            }
        }
        Ok(())
    }

    /// Notes a transcript; tells what it is when it is none.
    fn file(&mut self, dir: BorrowedFd<'_>, name: &CStr, path: &Path, home: usize) -> Option<FileType> {
        let path = || path.join(OsStr::from_bytes(name.to_bytes()));
        let stat = match fs::statat(dir, name, AtFlags::empty()) {
            Ok(stat) => stat,
            Err(error) => {
                if error == Errno::ACCESS || error == Errno::IO {
                    self.listing.unreadable.push(path());
                }
                return None;
            }
        };
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind == FileType::RegularFile && name.to_bytes().ends_with(TRANSCRIPT) {
            let identity = Identity::of(&stat);
            if self.files.insert((identity.device, identity.inode)) {
                self.listing.transcripts.push(Transcript { path: path(), home, identity });
            }
        }
        Some(kind)
    }
}

/// The session that a transcript's place names: `<session>.jsonl`, or the folder above `subagents`.
pub(super) fn session_of(path: &Path) -> String {
    let mut above = path.ancestors().skip(1);
    while let Some(dir) = above.find(|dir| dir.file_name().is_some_and(|name| name == "subagents")) {
        // Nested agents: the topmost `subagents` stands in the session's folder.
        if dir.ancestors().skip(1).all(|dir| dir.file_name().is_none_or(|name| name != "subagents")) {
            return name_of(dir.parent());
        }
    }
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The name of the project folder that a transcript lies in.
pub(super) fn project_of(path: &Path) -> String {
    let mut dirs = path.ancestors();
    let mut project = None;
    while let Some(dir) = dirs.next() {
        if dirs.clone().next().and_then(Path::file_name).is_some_and(|name| name == "projects") {
            project = Some(dir);
        }
    }
    name_of(project)
}

fn name_of(dir: Option<&Path>) -> String {
    dir.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The session whose own file this is: a transcript that is no agent's and lies in no session's folder.
pub(super) fn held_by(path: &Path) -> Option<&str> {
    let stem = path.file_stem()?.to_str()?;
    let in_project = path.parent()?.parent()?.file_name().is_some_and(|name| name == "projects");
    (in_project && !stem.starts_with("agent-")).then_some(stem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_place_of_a_file_names_its_session_and_project() {
        for (path, session, project, held) in [
            ("/h/projects/-p/s1.jsonl", "s1", "-p", Some("s1")),
            ("/h/projects/-p/agent-a.jsonl", "agent-a", "-p", None),
            ("/h/projects/-p/s1/subagents/agent-a.jsonl", "s1", "-p", None),
            ("/h/projects/-p/s1/subagents/workflows/wf_9/agent-b.jsonl", "s1", "-p", None),
            ("/h/projects/-p/s1/subagents/agent-a1/subagents/agent-c3.jsonl", "s1", "-p", None),
        ] {
            let path = Path::new(path);
            assert_eq!(
                (session_of(path).as_str(), project_of(path).as_str(), held_by(path)),
                (session, project, held)
            );
        }
    }

    #[test]
    fn links_are_followed_once_and_loops_end() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("store/-p");
        fs::create_dir_all(&store).unwrap();
        fs::write(store.join("s.jsonl"), "").unwrap();
        fs::write(store.join("s.meta.json"), "").unwrap();
        let projects = dir.path().join("home/projects");
        fs::create_dir_all(&projects).unwrap();
        for name in ["-p", "-alias"] {
            std::os::unix::fs::symlink(&store, projects.join(name)).unwrap();
        }
        std::os::unix::fs::symlink("..", store.join("loop")).unwrap();
        std::os::unix::fs::symlink("nowhere", store.join("dangling.jsonl")).unwrap();
        let home = Home { worker: "w".into(), dir: dir.path().join("home") };
        let listing = list(&[home.clone(), home]);
        assert_eq!(listing.transcripts.len(), 1);
        assert!(listing.unreadable.is_empty());
    }
}
