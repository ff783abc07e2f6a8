//! What we know of a tree, kept beside it and not in it: a card, a lock that its user holds, and the lock of all
//! changes to its repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use shared::dispatch_id::DispatchId;
use shared::document;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::file::{self, Durability};
use shared::lock::Lock;
use shared::world::World;

/// How long others may change the repository's trees and branches before we say so.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is written on the card.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Card {
    /// The format: 1.
    pub version: u32,
    /// The dispatch that the tree is for.
    pub id: String,
    /// The directory that all trees of the repository share.
    pub common_dir: PathBuf,
    /// The repository's own tree; nothing of a bare one.
    pub repo: Option<PathBuf>,
    /// The tree's git directory.
    pub git_dir: PathBuf,
    /// Below the tree's top, where the worker works.
    pub prefix: PathBuf,
    /// Its branch.
    pub branch: String,
    /// The commit it began from.
    pub base_commit: String,
    /// Whether it is still being made: then nobody has worked in it.
    pub half_made: bool,
    /// When it was made.
    pub created: String,
    /// Whether a confined worker works or worked in it: then git of ours is confined there too.
    pub confined: bool,
    /// The files brought along.
    pub included: Vec<Included>,
}

/// A file that git does not know, brought along.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Included {
    /// Below the top.
    pub path: PathBuf,
    /// Of its bytes as they were.
    pub fingerprint: u64,
}

/// Where the tree, its card and its locks lie.
#[derive(Clone, Debug)]
pub struct Place {
    folder: PathBuf,
    id: String,
}

impl Place {
    /// The place of this dispatch's tree in this folder of a repository.
    pub fn of(folder: &Path, id: &str) -> Self {
        Self { folder: folder.to_owned(), id: id.to_owned() }
    }

    /// Every place that there is a card of, in the order of time.
    pub fn all(world: &World) -> Result<Vec<Self>> {
        let mut found = Vec::new();
        for folder in directories(&world.paths.worktrees()?) {
            let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            let ids = names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned));
            let ids = ids.filter(|id| DispatchId::parse(id).is_ok());
            found.extend(ids.map(|id| Self::of(&folder, &id)));
        }
        found.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(found)
    }

    /// The place of this dispatch's tree, in whatever repository.
    pub fn find(world: &World, id: &DispatchId) -> Result<Self> {
        let folders = directories(&world.paths.worktrees()?).into_iter();
        let mut places = folders.map(|folder| Self::of(&folder, id.as_str()));
        places.find(|place| place.card_path().exists()).ok_or_else(|| {
            Error::new(Exit::CouldNot, format!("dispatch {id} has no worktree any more"))
                .hint("`mo-spawn worktrees --all` lists those that there are")
        })
    }

    /// The dispatch.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The tree.
    pub fn tree(&self) -> PathBuf {
        self.folder.join(&self.id)
    }

    /// Whether there is or was something here.
    pub fn is_taken(&self) -> bool {
        self.card_path().exists() || self.tree().exists()
    }

    fn card_path(&self) -> PathBuf {
        self.folder.join(format!("{}.json", self.id))
    }

    fn lock_path(&self) -> PathBuf {
        self.folder.join(format!("{}.lock", self.id))
    }

    /// Reads the card.
    pub fn card(&self) -> Result<Card> {
        let path = self.card_path();
        let card: Option<Card> = document::read(&path)?;
        card.filter(|card| card.id == self.id)
            .ok_or_else(|| Error::new(Exit::Data, "this is not the card of a worktree:").at(&path))
    }

    /// Writes the card.
    pub fn write(&self, card: &Card) -> Result<()> {
        document::replace(&self.card_path(), card, Durability::Synced)
    }

    /// Says that somebody works in the tree, for as long as the lock lives; nothing where somebody does already.
    pub fn occupy(&self) -> Result<Option<Lock>> {
        file::create_private_dir(&self.folder)?;
        Lock::try_acquire(&self.lock_path())
    }

    /// Holds off all our other changes to the repository's trees and branches.
    pub fn change(&self) -> Result<Lock> {
        Lock::acquire(&self.folder.join(".lock"), PATIENCE)
    }

    /// Takes card and lock away, when the tree is gone.
    pub fn forget(&self) {
        // What stays is a card without a tree, which the next look tells.
        let _ = fs::remove_file(self.card_path());
        let _ = fs::remove_file(self.lock_path());
    }
}

fn directories(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}
