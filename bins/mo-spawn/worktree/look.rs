//! How a tree of ours stands: what would be lost if it went, and the proof where nothing would.

use std::fs;
use std::path::{Path, PathBuf};

use shared::error::Result;
use shared::world::World;

use super::card::{Card, Place};
use super::git::Git;
use super::hidden;
use super::include;
use super::occupant;
use super::proof::{self, Proof};
use super::repository::Repository;
use super::status::Status;
use super::submodules::{self, Homes};
use crate::sandbox::Enclosure;

/// How it stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum State {
    /// Somebody works in it.
    InUse(String),
    /// Repository and tree no longer know each other.
    Broken(String),
    /// There is something that no commit holds.
    Dirty(String),
    /// Committed, and nowhere else: the reason.
    Unmerged(String),
    /// Other refs hold its work.
    Merged(Proof),
    /// It holds no work.
    Empty(Proof),
}

/// One look at a tree.
#[derive(Clone, Debug)]
pub struct Look {
    /// How it stands.
    pub state: State,
    /// Whether the tree itself is there.
    pub has_tree: bool,
    /// The last commit of the branch, where there is a branch.
    pub tip: Option<String>,
    /// The files brought along, as they were.
    pub brought: Vec<PathBuf>,
}

/// What stands in a git directory in the middle of something.
const HALFWAY: &[(&str, &str)] = &[
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("sequencer", "sequence of picks"),
    ("BISECT_LOG", "bisect"),
];

impl State {
    /// The proof that it may go.
    pub fn proof(&self) -> Option<&Proof> {
        match self {
            Self::Merged(proof) | Self::Empty(proof) => Some(proof),
            _ => None,
        }
    }
}

/// Looks at the tree of this card. Whether somebody holds its lock is not looked at.
pub fn at(world: &World, git: &Git, place: &Place, card: &Card) -> Result<Look> {
    let mut look = Look {
        state: State::Broken(format!("its repository is gone: {}", card.common_dir.display())),
        has_tree: place.tree().is_dir(),
        tip: None,
        brought: Vec::new(),
    };
    if !card.common_dir.join("HEAD").is_file() {
        return Ok(look);
    }
    let repository = Repository::known(git, &card.common_dir);
    let own = format!("refs/heads/{}", card.branch);
    let answer = repository.git.ask(&["rev-parse", "--verify", "--quiet", &format!("{own}^{{commit}}")])?;
    look.tip = answer.is_yes().then(|| answer.text());
    if let Some(why) = unlinked(place, card, look.has_tree) {
        look.state = State::Broken(why);
        return Ok(look);
    }
    if let Some(who) = occupant::find(world, place.id(), &place.tree()) {
        look.state = State::InUse(who);
        return Ok(look);
    }
    // What a mo-spawn left that was killed while it made the tree is ours, not a worker's.
    if look.has_tree && !card.half_made {
        let (same, changed) = include::compare(&place.tree(), &card.included);
        look.brought = same;
        let git = if card.confined { &git.inside(&Enclosure::read_only(world)?) } else { git };
        if let Some(why) = unsaved(git, place, card, &look.brought, &changed)? {
            look.state = State::Dirty(why);
            return Ok(look);
        }
    }
    look.state = committed(&repository.git, git, card, &own, look.tip.as_deref())?;
    // The whole tree is walked for that: only where it would go.
    if look.has_tree && !card.half_made && look.state.proof().is_some() {
        let inside = git.within(&place.tree(), &card.git_dir, &card.common_dir);
        if let Some(why) = submodules::beside(&inside, &place.tree(), &card.git_dir)? {
            look.state = State::Dirty(why);
        }
    }
    Ok(look)
}

/// Why the repository and the tree do not belong together any more.
fn unlinked(place: &Place, card: &Card, has_tree: bool) -> Option<String> {
    let link = fs::read_to_string(card.git_dir.join("gitdir"));
    let Ok(link) = link else {
        return has_tree.then(|| "git does not know this tree any more; its files stay".to_owned());
    };
    let linked = Path::new(link.strip_suffix('\n').unwrap_or(&link)).parent()?.to_owned();
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let same = real(&linked) == real(&place.tree());
    match (same, linked.exists()) {
        (true, _) => None,
        (false, true) => Some(format!("it was moved to {}", linked.display())),
        (false, false) => has_tree
            .then(|| format!("git looks for it at {}; `git worktree repair` mends that", linked.display())),
    }
}

/// What of the tree no commit holds.
fn unsaved(
    git: &Git,
    place: &Place,
    card: &Card,
    brought: &[PathBuf],
    changed: &[PathBuf],
) -> Result<Option<String>> {
    if let Some((_, what)) = HALFWAY.iter().find(|(mark, _)| card.git_dir.join(mark).exists()) {
        return Ok(Some(format!("in the middle of a {what}")));
    }
    let tree = place.tree();
    let inside = git.within(&tree, &card.git_dir, &card.common_dir);
    let status = Status::of(&inside)?;
    let open: Vec<_> = status.without(brought).collect();
    if let Some(first) = open.first() {
        let more = if open.len() > 1 { format!(" and {} more", open.len() - 1) } else { String::new() };
        return Ok(Some(format!("not committed: {}{more}", first.path.display())));
    }
    if let Some(path) = hidden::changed(&inside)? {
        return Ok(Some(format!("not committed, and git was told not to look at it: {}", path.display())));
    }
    if let Some(first) = changed.first() {
        return Ok(Some(format!("changed since it was brought along: {}", first.display())));
    }
    submodules::in_the_way(&inside, &tree, &card.git_dir, &Homes::of(card))
}

/// Whether other refs hold all the commits that would go.
fn committed(repository: &Git, git: &Git, card: &Card, own: &str, tip: Option<&str>) -> Result<State> {
    if let Some(elsewhere) = checked_out(repository, card)? {
        return Ok(State::InUse(format!("its branch is checked out in {elsewhere}")));
    }
    for commit in trees_own(git, card)? {
        let ancestor = match tip {
            Some(tip) => repository.ask(&["merge-base", "--is-ancestor", &commit, tip])?.is_yes(),
            None => false,
        };
        if !ancestor && proof::holder(repository, &commit, own)?.is_none() {
            let short = commit.get(..10).unwrap_or_default();
            return Ok(State::Unmerged(format!("commit {short} is on no branch")));
        }
    }
    let Some(tip) = tip else {
        // Somebody deleted the branch; there is nothing of ours to prove.
        return Ok(match proof::holder(repository, &card.base_commit, own)? {
            Some(holder) => State::Empty(Proof::Held(holder)),
            None => State::Unmerged("its branch is gone".to_owned()),
        });
    };
    Ok(match proof::of(repository, tip, own)? {
        Some(proof) if tip == card.base_commit => State::Empty(proof),
        Some(proof) => State::Merged(proof),
        None if tip == card.base_commit => {
            State::Unmerged("no other ref holds the commit it began from".to_owned())
        }
        None => State::Unmerged("its commits are on no other ref".to_owned()),
    })
}

/// Commits that only this tree's own git directory names: its HEAD, refs of one tree.
fn trees_own(git: &Git, card: &Card) -> Result<Vec<String>> {
    if !card.git_dir.join("HEAD").is_file() {
        return Ok(Vec::new());
    }
    let own = git.without_tree(&card.git_dir, &card.common_dir);
    let head = own.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
    let mut commits = if head.is_yes() { vec![head.text()] } else { Vec::new() };
    let kinds = ["for-each-ref", "--format=%(objectname)", "refs/bisect", "refs/worktree", "refs/rewritten"];
    commits.extend(own.lines(&kinds)?.into_iter().filter(|line| !line.is_empty()));
    Ok(commits)
}

/// Another tree that has the branch checked out.
fn checked_out(repository: &Git, card: &Card) -> Result<Option<String>> {
    let list = repository.bytes(&["worktree", "list", "--porcelain", "-z"])?;
    let branch = format!("branch refs/heads/{}", card.branch);
    let mut tree = String::new();
    for line in list.split(|byte| *byte == 0).map(String::from_utf8_lossy) {
        if let Some(path) = line.strip_prefix("worktree ") {
            path.clone_into(&mut tree);
        } else if line == branch && !tree.ends_with(&card.id) {
            return Ok(Some(tree));
        }
    }
    Ok(None)
}
