//! Where the work happens, what was changed there, and how it is kept: in a work tree of its own, or in the caller's
//! directory as it stands.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread::{self, JoinHandle};

use shared::dispatch_id::DispatchId;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::record::{Failure, Record, Status};
use shared::world::World;

use super::cast;
use super::files::Files;
use crate::options::Task;
use crate::sandbox::Sandbox;
use crate::worktree::{Left, Message, Snapshot, Worktree};

/// The place.
#[derive(Debug)]
pub struct Workplace {
    /// The directory that the worker and the checks run in.
    pub directory: PathBuf,
    ground: Ground,
}

#[derive(Debug)]
enum Ground {
    /// A tree of its own.
    Tree(Box<Worktree>),
    /// The caller's directory, as it was: taken down while Claude Code starts.
    Here(std::sync::Mutex<Option<JoinHandle<Before>>>, OnceLock<Before>),
}

/// The caller's directory before.
#[derive(Debug)]
enum Before {
    Git(Box<Snapshot>),
    Files(Files),
    Unknown(Error),
}

impl Before {
    fn of(world: &World, directory: &Path, confined: bool) -> Self {
        let files = || Self::Files(Files::of(directory, world.paths.root().unwrap_or(Path::new("/"))));
        match Snapshot::of(world, directory, confined) {
            Ok(Some(snapshot)) => Self::Git(Box::new(snapshot)),
            Ok(None) => files(),
            // Without git there is still something to tell.
            Err(error) if error.exit() == Exit::Config => files(),
            Err(error) => Self::Unknown(error),
        }
    }
}

impl Workplace {
    /// The place for this task. Must be left with `finish` or `abandon`. `confined`: the worker is to be in a sandbox.
    pub fn of(world: &World, task: &Task, id: &DispatchId, confined: bool) -> Result<Self> {
        if let Some(base) = &task.worktree {
            let tree = Worktree::create(
                world,
                &world.cwd(),
                id,
                Some(base.as_str()).filter(|base| !base.is_empty()),
            )?;
            return Ok(Self::tree(tree));
        }
        Self::here(world, world.cwd(), confined)
    }

    /// The place where this dispatch worked.
    pub fn again(world: &World, record: &Record, confined: bool) -> Result<Self> {
        // A tree keeps the name of the dispatch that it was made for.
        let tree = record.branch.as_deref().and_then(|branch| branch.strip_prefix("mo/"));
        match tree.filter(|_| record.worktree.is_some()) {
            Some(id) => Ok(Self::tree(Worktree::open(world, &DispatchId::parse(id)?)?)),
            None => Self::here(world, PathBuf::from(&record.cwd), confined),
        }
    }

    fn tree(tree: Worktree) -> Self {
        Self { directory: tree.workdir.clone(), ground: Ground::Tree(Box::new(tree)) }
    }

    fn here(world: &World, directory: PathBuf, confined: bool) -> Result<Self> {
        let (taken, there) = (world.clone(), directory.clone());
        let before = thread::Builder::new()
            .spawn(move || Before::of(&taken, &there, confined))
            .map_err(|error| Error::new(Exit::Io, "cannot start a thread").because(&error))?;
        let ground = Ground::Here(std::sync::Mutex::new(Some(before)), OnceLock::new());
        Ok(Self { directory, ground })
    }

    /// The worker will work here in this sandbox.
    pub fn confine(&mut self, sandbox: &Sandbox) -> Result<()> {
        match &mut self.ground {
            Ground::Tree(tree) => tree.confine(sandbox),
            Ground::Here(..) => Ok(()),
        }
    }

    /// Waits until it is known how things were. Claude Code takes longer to come to its first tool.
    pub fn settle(&self) {
        self.before();
    }

    fn before(&self) -> Option<&Before> {
        let Ground::Here(handle, before) = &self.ground else { return None };
        Some(before.get_or_init(|| {
            let handle = handle.lock().ok().and_then(|mut handle| handle.take());
            let lost = || Before::Unknown(Error::new(Exit::Bug, "how the files were is not known"));
            handle.and_then(|handle| handle.join().ok()).unwrap_or_else(lost)
        }))
    }

    /// The files that were made, changed or removed; nothing where that cannot be told.
    pub fn changed(&self) -> Option<Vec<String>> {
        match (&self.ground, self.before()) {
            (Ground::Tree(tree), _) => tree.changed_files().ok(),
            (_, Some(Before::Git(snapshot))) => snapshot.changed().ok(),
            (_, Some(Before::Files(files))) => files.changed(),
            _ => None,
        }
    }

    /// Writes down where it is.
    pub fn note_in(&self, record: &mut Record) {
        record.cwd = self.directory.to_string_lossy().into_owned();
        if let Ground::Tree(tree) = &self.ground {
            record.repo = Some(tree.repo.to_string_lossy().into_owned());
            record.worktree = Some(tree.path.to_string_lossy().into_owned());
            record.branch = Some(tree.branch.clone());
            record.base_commit = Some(tree.base_commit.clone());
            record.notes.extend(tree.notes.iter().cloned());
        }
    }

    /// A changed file as it is called from the directory of the work.
    pub fn relative<'a>(&self, file: &'a str) -> &'a str {
        let top = match (&self.ground, self.before()) {
            (Ground::Tree(tree), _) => Some(tree.path.as_path()),
            (_, Some(Before::Git(snapshot))) => Some(snapshot.top()),
            _ => None,
        };
        let real = self.directory.canonicalize().unwrap_or_else(|_| self.directory.clone());
        let below = top.and_then(|top| real.strip_prefix(top).ok()).unwrap_or(Path::new(""));
        Path::new(file).strip_prefix(below).ok().and_then(Path::to_str).unwrap_or(file)
    }

    /// Leaves it after the work: what was done well is committed, everything else stays as it is. Tells how to take
    /// the work over.
    pub fn finish(self, world: &World, record: &mut Record) -> Option<String> {
        if let Some(Before::Unknown(error)) = self.before() {
            record.notes.push(error.to_string());
        }
        let changed = self.changed();
        if record.role.is_some() {
            cast::compare(record, changed.as_deref());
        }
        match changed {
            Some(files) => record.files = files,
            None => record.notes.push("which files were changed is not known".to_owned()),
        }
        let Ground::Tree(mut tree) = self.ground else { return None };
        if record.status == Some(Status::Done) {
            match tree.commit(&message(record)) {
                Ok(commit) => record.commit = commit,
                Err(error) => {
                    record.status = Some(Status::Failed);
                    record.error = Some(Failure { kind: "commit".to_owned(), text: error.to_string() });
                }
            }
            record.notes.append(&mut tree.notes);
        }
        let (branch, path) = (tree.branch.clone(), tree.path.clone());
        match tree.leave(world) {
            Ok(Left::Removed) => {
                (record.worktree, record.branch) = (None, None);
                None
            }
            Ok(Left::Committed) => Some(format!("git merge {branch}")),
            Ok(Left::Uncommitted) => {
                record.notes.push(format!("work that is not committed stays in {}", path.display()));
                record.commit.is_some().then(|| format!("git merge {branch}"))
            }
            Err(error) => {
                world.say.error(&error);
                None
            }
        }
    }

    /// Leaves it before anything was done.
    pub fn abandon(self, world: &World) {
        self.before();
        if let Ground::Tree(tree) = self.ground
            && let Err(error) = tree.leave(world)
        {
            world.say.error(&error);
        }
    }
}

fn message(record: &Record) -> Message {
    let first =
        record.summary.as_deref().and_then(|summary| summary.lines().find(|line| !line.trim().is_empty()));
    Message {
        title: record.title.clone().or_else(|| first.map(str::to_owned)),
        summary: record.summary.clone(),
        dispatch: record.id.clone(),
        worker: record.worker.clone(),
        model: record.model.clone(),
    }
}
