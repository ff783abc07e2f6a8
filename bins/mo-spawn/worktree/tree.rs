//! One dispatch's own work tree and branch: made from HEAD, worked in, committed, left or taken away.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, thread};

use shared::clock::rfc3339;
use shared::dispatch_id::DispatchId;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::file;
use shared::lock::Lock;
use shared::world::World;

use super::card::{Card, Place};
use super::changes;
use super::commit;
use super::git::Git;
use super::include;
use super::look::{Look, State};
use super::message::Message;
use super::removal::{self, Removal};
use super::repository::Repository;
use super::status::Status;
use super::submodules::{self, Homes};
use crate::sandbox::{Enclosure, Sandbox};

/// A tree that this process works in: nobody else touches it before this goes.
#[derive(Debug)]
pub struct Worktree {
    /// The top of the tree.
    pub path: PathBuf,
    /// Where to work: the directory of the tree that corresponds to the caller's.
    pub workdir: PathBuf,
    /// Its branch.
    pub branch: String,
    /// The commit it began from.
    pub base_commit: String,
    /// The repository: the top of its own tree, or a bare one's directory.
    pub repo: PathBuf,
    /// The tree's git directory, which a worker must be able to write to.
    pub git_dir: PathBuf,
    /// The directory that all trees of the repository share.
    pub common_dir: PathBuf,
    /// What the user should know of how it was made.
    pub notes: Vec<String>,
    git: Git,
    place: Place,
    card: Card,
    occupied: Lock,
}

/// How a tree was left.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Left {
    /// Nothing was changed: tree and branch are gone.
    Removed,
    /// All work is on the branch.
    Committed,
    /// Work that is not committed, or not all of it, is in the tree.
    Uncommitted,
}

/// The repository around `cwd`, and the commit that a tree would begin with.
fn origin(git: &Git, cwd: &Path, base: Option<&str>) -> Result<(Repository, String)> {
    let repository = Repository::around(git, cwd)?.ok_or_else(|| {
        Error::new(Exit::Usage, "there is no git repository around").at(cwd).hint(
            "--worktree and --best-of need one: `git init` and a first commit, or leave them out to work in the directory itself",
        )
    })?;
    let commit = repository.base(base)?;
    Ok((repository, commit))
}

/// Whether trees can be made here: told once, before several runs begin.
pub fn can_be_made(world: &World, cwd: &Path, base: Option<&str>) -> Result<()> {
    origin(&Git::find(world, cwd)?, cwd, base).map(drop)
}

impl Worktree {
    /// Makes the tree of this dispatch from HEAD of the repository around `cwd`, or from `base`.
    pub fn create(world: &World, cwd: &Path, id: &DispatchId, base: Option<&str>) -> Result<Self> {
        let git = Git::find(world, cwd)?;
        let (repository, base_commit) = origin(&git, cwd, base)?;
        let root = world.paths.worktrees()?;
        file::create_private_dir(&root)?;
        // Git tells of real paths only.
        let root = root.canonicalize().map_err(|error| Error::io("cannot enter", &root, &error))?;
        let place = Place::of(&root.join(repository.folder()), id.as_str());
        let occupied = place.occupy()?.filter(|_| !place.is_taken()).ok_or_else(|| {
            Error::new(Exit::Usage, format!("there is already a worktree of dispatch {id}"))
                .hint("each dispatch needs an id of its own")
        })?;
        let mut card = Card {
            version: 1,
            id: id.to_string(),
            common_dir: repository.common_dir.clone(),
            repo: repository.top.clone(),
            git_dir: repository.common_dir.join("worktrees").join(id.as_str()),
            prefix: repository.prefix.clone(),
            branch: format!("mo/{id}"),
            base_commit,
            half_made: true,
            created: rfc3339(world.clock.now()),
            confined: false,
            included: Vec::new(),
        };
        match make(&repository, &git, &place, &mut card) {
            Ok(notes) => Ok(Self::of(&git, place, card, occupied, notes)),
            Err(error) => {
                // Half a tree helps nobody; what went wrong here is told, not what goes wrong with tidying up.
                let _ = removal::remove_half_made(&repository.git, &place, &card);
                Err(error)
            }
        }
    }

    /// Goes on in the tree that this dispatch left.
    pub fn open(world: &World, id: &DispatchId) -> Result<Self> {
        /// How long a look of `mo-spawn worktrees` may stand in the way.
        const GLANCE: Duration = Duration::from_secs(5);
        let place = Place::find(world, id)?;
        let start = Instant::now();
        let occupied = loop {
            match place.occupy()? {
                Some(lock) => break lock,
                None if start.elapsed() < GLANCE => thread::sleep(Duration::from_millis(10)),
                None => {
                    return Err(Error::new(Exit::Busy, format!("dispatch {id} still works in its worktree"))
                        .hint(format!("`mo-spawn wait {id}` waits for its end")));
                }
            }
        };
        let card = place.card()?;
        if !place.tree().is_dir() || !card.git_dir.join("HEAD").is_file() {
            return Err(Error::new(Exit::CouldNot, "the worktree is not there any more:")
                .at(&place.tree())
                .hint("`mo-spawn worktrees --all` tells what is left of it"));
        }
        let git = Git::find(world, &place.tree())?;
        Ok(Self::of(&git, place, card, occupied, Vec::new()))
    }

    fn of(git: &Git, place: Place, card: Card, occupied: Lock, notes: Vec<String>) -> Self {
        let path = place.tree();
        Self {
            git: git.within(&path, &card.git_dir, &card.common_dir),
            workdir: if card.prefix.as_os_str().is_empty() { path.clone() } else { path.join(&card.prefix) },
            branch: card.branch.clone(),
            base_commit: card.base_commit.clone(),
            repo: card.repo.clone().unwrap_or_else(|| card.common_dir.clone()),
            git_dir: card.git_dir.clone(),
            common_dir: card.common_dir.clone(),
            path,
            notes,
            place,
            card,
            occupied,
        }
    }

    /// A worker in this sandbox will work in it: from now on git does no more there than the worker may.
    pub fn confine(&mut self, sandbox: &Sandbox) -> Result<()> {
        self.card.confined = true;
        self.place.write(&self.card)?;
        self.git = self.git.inside(&Enclosure::of(sandbox));
        Ok(())
    }

    /// The files that differ from the commit it began from, committed or not, without ignored ones and those that
    /// were only brought along.
    pub fn changed_files(&self) -> Result<Vec<String>> {
        let (brought, _) = include::compare(&self.path, &self.card.included);
        changes::since(&self.git, &self.base_commit, &brought)
    }

    /// Commits all work on the branch. Returns the branch's last commit; nothing where there is no work.
    pub fn commit(&mut self, message: &Message) -> Result<Option<String>> {
        // Whoever worked here has ended; a killed git leaves its lock behind.
        let _ = fs::remove_file(self.git_dir.join("index.lock"));
        let homes = Homes::of(&self.card);
        submodules::commit(&self.git, &self.path, &self.git_dir, &homes, &self.branch, message)?;
        let brought: Vec<PathBuf> = self.card.included.iter().map(|one| one.path.clone()).collect();
        let _change = self.place.change()?;
        self.notes = commit::all(&self.git, &Status::of(&self.git)?, &brought, message)?;
        let tip = self.back_on_branch()?;
        Ok((tip != self.base_commit).then_some(tip))
    }

    /// Moves the branch to where HEAD is, when the worker left it for another; never back, never aside.
    fn back_on_branch(&self) -> Result<String> {
        let own = format!("refs/heads/{}", self.branch);
        let head = self.git.text(&["rev-parse", "--verify", "HEAD^{commit}"])?;
        if self.git.ask(&["symbolic-ref", "--quiet", "HEAD"])?.text() == own {
            return Ok(head);
        }
        let known = self.git.ask(&["rev-parse", "--verify", "--quiet", &own])?;
        let tip = if known.is_yes() { known.text() } else { String::new() };
        if !tip.is_empty() && !self.git.ask(&["merge-base", "--is-ancestor", &tip, &head])?.is_yes() {
            return Err(Error::new(
                Exit::CouldNot,
                format!("the worker went to a line of its own: {head} does not follow {}", self.branch),
            )
            .at(&self.path)
            .hint("its commits are safe where they are; merge them by hand"));
        }
        self.git.run(&["update-ref", &own, &head, &tip])?;
        self.git.run(&["symbolic-ref", "HEAD", &own])?;
        Ok(head)
    }

    /// Leaves the tree to whoever comes next; takes it away where nothing was changed.
    pub fn leave(self, world: &World) -> Result<Left> {
        let git = &self.git;
        let _unlocked = git.ask(&["worktree".as_ref(), "unlock".as_ref(), self.path.as_os_str()])?;
        let plain = Git::find(world, &self.common_dir)?;
        match removal::remove_empty(world, &plain, &self.place, &self.card, &self.occupied)? {
            Removal::Gone { .. } => Ok(Left::Removed),
            Removal::Kept(Look { state: State::Dirty(_), .. }) => Ok(Left::Uncommitted),
            Removal::Kept(_) => {
                let (brought, _) = include::compare(&self.path, &self.card.included);
                let open = Status::of(git)?.without(&brought).next().is_some();
                Ok(if open { Left::Uncommitted } else { Left::Committed })
            }
        }
    }
}

/// Where the work of this dispatch is, when it has a tree.
pub fn workdir(world: &World, id: &DispatchId) -> Result<Option<PathBuf>> {
    let Ok(place) = Place::find(world, id) else { return Ok(None) };
    let directory = place.tree().join(place.card()?.prefix);
    Ok(Some(directory).filter(|directory| directory.is_dir()))
}

/// Whether there is still something of this dispatch: a tree, or its branch in that repository.
pub fn remains(world: &World, id: &str, branch: Option<(&str, &str)>) -> Result<bool> {
    if DispatchId::parse(id).is_ok_and(|id| Place::find(world, &id).is_ok()) {
        return Ok(true);
    }
    let Some((repo, branch)) = branch.filter(|(repo, _)| Path::new(repo).is_dir()) else { return Ok(false) };
    let git = Git::find(world, Path::new(repo))?;
    Ok(git.ask(&["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}")])?.is_yes())
}

/// Takes away the tree and the branch of a dispatch whose work is not wanted. Tells the branch's last commit.
pub fn discard(world: &World, id: &DispatchId) -> Result<Option<String>> {
    let Ok(place) = Place::find(world, id) else { return Ok(None) };
    let Some(occupied) = place.occupy()? else { return Ok(None) };
    let git = Git::find(world, Path::new("/"))?;
    removal::discard(world, &git, &place, &place.card()?, &occupied)
}

/// Branch, tree, files. The branch and the tree change what the repository shares; to fill the tree does not.
fn make(repository: &Repository, git: &Git, place: &Place, card: &mut Card) -> Result<Vec<String>> {
    let tree = place.tree();
    {
        let _change = place.change()?;
        place.write(card)?;
        let own = format!("refs/heads/{}", card.branch);
        repository.git.run(&["update-ref", &own, &card.base_commit, ""]).map_err(|error| {
            error.hint("a branch named `mo` would stand in the way of branches below `mo/`: rename it")
        })?;
        let reason = format!("dispatch {} works in it", card.id);
        let words = ["worktree", "add", "--quiet", "--no-checkout", "--lock", "--reason", &reason, "--"];
        let mut words: Vec<_> = words.iter().map(AsRef::as_ref).collect();
        words.extend([tree.as_os_str(), card.branch.as_ref()]);
        repository.git.run(&words)?;
        card.git_dir = git.at(&tree).path(&["rev-parse", "--path-format=absolute", "--git-dir"])?;
        place.write(card)?;
    }
    git.at(&tree).run(&["reset", "--hard", "--quiet", "--no-recurse-submodules"])?;
    let mut notes = submodules::fill(git, &tree, &Homes::of(card))?;
    if let Some(top) = &card.repo {
        let brought = include::bring(&git.at(top), top, &tree)?;
        card.included = brought.files;
        notes.extend(brought.notes);
    }
    let workdir = tree.join(&card.prefix);
    // The directory it was called in may hold nothing that is committed.
    fs::create_dir_all(&workdir).map_err(|error| Error::io("cannot create", &workdir, &error))?;
    card.half_made = false;
    place.write(card)?;
    Ok(notes)
}
