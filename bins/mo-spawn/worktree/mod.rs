//! A dispatch's own work tree, and the files that a run changed: the real git does the work, and nothing is ever
//! deleted that no other ref holds.

mod card;
mod changes;
mod commit;
mod git;
mod hidden;
mod include;
pub mod listing;
mod look;
mod message;
mod occupant;
mod patches;
mod proof;
mod removal;
mod repository;
mod status;
mod submodules;
#[cfg(test)]
mod tests;
mod tree;

pub use changes::Snapshot;
pub use message::Message;
pub use tree::{Left, Worktree, can_be_made, discard, remains, workdir};
