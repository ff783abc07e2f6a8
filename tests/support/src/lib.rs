//! What the tests and the demo share: a sealed world, a scripted provider, the pinned Claude Code.
//!
//! The rooms stand in dependency order. Nothing here knows the programs under test: they are given by path.

pub mod claude;
pub mod golden;
mod output;
mod outside;
pub mod patience;
pub mod provider;
pub mod run;
mod running;
pub mod tmpfs;
pub mod world;

pub use output::Output;
pub use patience::{PATIENCE, wait_for, wait_until};
pub use provider::{Answer, Provider};
pub use run::Run;
pub use running::Running;
pub use world::World;
