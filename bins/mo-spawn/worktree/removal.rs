//! A tree and its branch, taken away: only with the proof that nothing is lost, found and used under one lock.

use std::fs;

use shared::error::Result;
use shared::lock::Lock;
use shared::world::World;

use super::card::{Card, Place};
use super::git::Git;
use super::look::{self, Look, State};
use super::proof::{self, Proof};
use super::repository::Repository;

/// How it ended.
#[derive(Clone, Debug)]
pub enum Removal {
    /// Gone: the branch's last commit, and where its work is.
    Gone { tip: Option<String>, proof: Proof },
    /// Still there.
    Kept(Look),
}

/// Takes the tree away if nothing is lost. `occupied` shows that nobody else works in it.
pub fn remove(world: &World, git: &Git, place: &Place, card: &Card, occupied: &Lock) -> Result<Removal> {
    remove_if(world, git, place, card, occupied, |state| state.proof().is_some())
}

/// Takes the tree away if it never held any work.
pub fn remove_empty(
    world: &World,
    git: &Git,
    place: &Place,
    card: &Card,
    occupied: &Lock,
) -> Result<Removal> {
    remove_if(world, git, place, card, occupied, |state| matches!(state, State::Empty(_)))
}

/// Takes away what was just made and holds nothing of a worker's: git has not filled it, or only with commits.
pub fn remove_half_made(repository: &Git, place: &Place, card: &Card) -> Result<()> {
    let _change = place.change()?;
    let tree = place.tree();
    let words = ["worktree", "remove", "--force", "--force"];
    let words: Vec<_> = words.iter().map(AsRef::as_ref).chain([tree.as_os_str()]).collect();
    repository.ask(&words)?;
    let own = format!("refs/heads/{}", card.branch);
    if let Some(holder) = proof::holder(repository, &card.base_commit, &own)? {
        delete_branch(repository, card, &card.base_commit, &Proof::Held(holder))?;
    }
    place.forget();
    Ok(())
}

/// Takes tree and branch away with whatever they hold: their user has something better. Tells the branch's last
/// commit, from which they can be had back until git forgets it; nothing where somebody still works there.
pub fn discard(
    world: &World,
    git: &Git,
    place: &Place,
    card: &Card,
    _occupied: &Lock,
) -> Result<Option<String>> {
    let _change = place.change()?;
    let look = look::at(world, git, place, card)?;
    if matches!(look.state, State::InUse(_) | State::Broken(_)) {
        return Ok(None);
    }
    let repository = Repository::known(git, &card.common_dir);
    let tree = place.tree();
    repository.git.ask(&["worktree".as_ref(), "unlock".as_ref(), tree.as_os_str()])?;
    let words = ["worktree", "remove", "--force"];
    repository.git.run(&words.iter().map(AsRef::as_ref).chain([tree.as_os_str()]).collect::<Vec<_>>())?;
    if let Some(tip) = &look.tip {
        let own = format!("refs/heads/{}", card.branch);
        repository.git.run(&["update-ref", "--no-deref", "-d", &own, tip])?;
    }
    place.forget();
    Ok(look.tip)
}

fn remove_if(
    world: &World,
    git: &Git,
    place: &Place,
    card: &Card,
    _occupied: &Lock,
    may: fn(&State) -> bool,
) -> Result<Removal> {
    let _change = place.change()?;
    let look = look::at(world, git, place, card)?;
    let Some(proof) = look.state.proof().filter(|_| may(&look.state)).cloned() else {
        return Ok(Removal::Kept(look));
    };
    let repository = Repository::known(git, &card.common_dir);
    remove_tree(&repository.git, place, card)?;
    if let Some(tip) = &look.tip
        && let Some(why) = delete_branch(&repository.git, card, tip, &proof)?
    {
        return Ok(Removal::Kept(Look { state: State::Unmerged(why), has_tree: false, ..look }));
    }
    place.forget();
    Ok(Removal::Gone { tip: look.tip, proof })
}

/// Just looked at by us and found clean. Git's own look would go into submodules and obey what they are configured to.
fn remove_tree(repository: &Git, place: &Place, card: &Card) -> Result<()> {
    let known = card.git_dir.join("HEAD").is_file();
    if !known {
        return Ok(());
    }
    let tree = place.tree();
    let _unlocked = repository.ask(&["worktree".as_ref(), "unlock".as_ref(), tree.as_os_str()])?;
    repository.run(&["worktree".as_ref(), "remove".as_ref(), "--force".as_ref(), tree.as_os_str()])?;
    // Ignored files that cannot be deleted are the file system's business; an empty folder is ours.
    let _ = fs::remove_dir(&tree);
    Ok(())
}

/// Deletes the branch in one step with the proof: if one of the refs it rests on moved, nothing happens.
fn delete_branch(repository: &Git, card: &Card, tip: &str, proof: &Proof) -> Result<Option<String>> {
    let mut steps = String::from("start\n");
    for holder in proof.rests_on() {
        steps.push_str(&format!("verify {} {}\n", holder.name, holder.object));
    }
    steps.push_str(&format!("delete refs/heads/{} {tip}\nprepare\ncommit\n", card.branch));
    let answer = repository.feed(&["update-ref", "--no-deref", "--stdin"], steps.as_bytes())?;
    Ok((!answer.is_yes()).then(|| format!("its branch was not deleted: {}", answer.reason())))
}
