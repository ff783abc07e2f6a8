//! The programs, run as a user runs them, in sealed worlds. One module a program.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise, its helpers too"
)]

mod accounts;
mod broken;
mod check;
mod crash;
mod doctor;
mod dispatches;
mod door;
mod hook;
mod house;
mod identity;
mod keeper;
mod key;
mod key_ending;
mod name_taken;
mod orders;
mod preset;
mod probe;
mod roles;
mod sandbox;
mod savings;
mod spawn;
mod staff;
mod strace;
mod terminal;
mod tree;
mod worker;
mod worktrees;
