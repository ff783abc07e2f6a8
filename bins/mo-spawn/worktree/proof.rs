//! The proof that a branch may go: which other refs hold its commits, or hold its work after a squash or a rebase.
//! Where there is doubt there is no proof.

use std::collections::BTreeSet;

use shared::error::Result;

use super::git::Git;
use super::patches;

/// Branches of dispatches begin so.
pub const OURS: &str = "refs/heads/mo/";
/// So many branches are looked at for squashed work, the last changed first.
const MOST_REFS: usize = 100;

/// Refs that come and go, that belong to one tree, or that are not about commits: they hold nothing for long.
const FLEETING: &[&str] =
    &["refs/stash", "refs/bisect/", "refs/worktree/", "refs/rewritten/", "refs/notes/", "refs/replace/"];

/// A ref, as it stood when it was looked at.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Ref {
    /// Its full name.
    pub name: String,
    /// What it pointed at.
    pub object: String,
}

/// Why a branch may go.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Proof {
    /// Another ref holds its last commit, and so all of them.
    Held(Ref),
    /// These refs hold all its changes, in commits of their own.
    Squashed(Vec<Ref>),
}

impl Proof {
    /// The refs it rests on.
    pub fn rests_on(&self) -> &[Ref] {
        match self {
            Self::Held(holder) => std::slice::from_ref(holder),
            Self::Squashed(holders) => holders,
        }
    }

    /// Where the work is now, as a user names it.
    pub fn whereabouts(&self) -> String {
        let names = self.rests_on().iter().map(|holder| short(&holder.name).to_owned());
        names.collect::<Vec<_>>().join(", ")
    }
}

/// A ref's name as a user writes it.
pub fn short(name: &str) -> &str {
    ["refs/heads/", "refs/remotes/", "refs/tags/"]
        .iter()
        .find_map(|kind| name.strip_prefix(kind))
        .unwrap_or(name)
}

/// A ref other than `own` from which this commit is reached.
pub fn holder(git: &Git, commit: &str, own: &str) -> Result<Option<Ref>> {
    let found = list(git, &[&format!("--contains={commit}")])?;
    let mut holders: Vec<Ref> = found.into_iter().filter(|holder| holder.name != own).collect();
    // A branch of the user's own says most.
    holders.sort_by_key(|holder| {
        (holder.name.starts_with(OURS), !holder.name.starts_with("refs/heads/"), holder.name.clone())
    });
    Ok(holders.into_iter().next())
}

/// The proof for a branch with this last commit.
pub fn of(git: &Git, tip: &str, own: &str) -> Result<Option<Proof>> {
    if let Some(holder) = holder(git, tip, own)? {
        return Ok(Some(Proof::Held(holder)));
    }
    let mut others = list(git, &["--sort=-committerdate", "refs/heads", "refs/remotes"])?;
    // Two dispatches that did the same are no merge.
    others.retain(|other| other.name != own && !other.name.starts_with(OURS));
    others.truncate(MOST_REFS);
    let commits: BTreeSet<&str> = others.iter().map(|other| other.object.as_str()).collect();
    if commits.is_empty() {
        return Ok(None);
    }
    if let Some(into) = patches::absorbed(git, tip, &others)? {
        return Ok(Some(Proof::Squashed(vec![into.clone()])));
    }
    let Some(commits) = patches::repeated(git, tip, &commits)? else { return Ok(None) };
    let mut holders = BTreeSet::new();
    for commit in commits {
        let found = list(git, &[&format!("--contains={commit}"), "refs/heads", "refs/remotes"])?;
        let known = found.into_iter().find(|holder| others.contains(holder));
        let Some(holder) = known else { return Ok(None) };
        holders.insert(holder);
    }
    Ok(Some(Proof::Squashed(holders.into_iter().collect())))
}

/// The refs that hold something on their own: no symbolic ones, which are only another name.
fn list(git: &Git, which: &[&str]) -> Result<Vec<Ref>> {
    let format = "--format=%(objectname) %(refname) %(symref)";
    let lines = git.lines(&[&["for-each-ref", format], which].concat())?;
    let refs = lines.iter().filter_map(|line| {
        let mut parts = line.split(' ');
        let (object, name, target) = (parts.next()?, parts.next()?, parts.next()?);
        let lasts = target.is_empty() && !FLEETING.iter().any(|fleeting| name.starts_with(fleeting));
        lasts.then(|| Ref { name: name.to_owned(), object: object.to_owned() })
    });
    Ok(refs.collect())
}
