//! The ledger: every token counted once. The rooms below it, in dependency order.

pub mod usage;
pub mod fact;
mod hash;
mod json;
pub mod row;
pub mod winner;
mod sighting;
mod scan;
pub mod homes;
pub mod count;
mod audit;
mod layout;
mod id;
mod record;
pub mod disk;
mod index;
mod store;
mod names;
pub mod book;
mod state;
mod tally;
mod managers;
mod grants;
mod merge;
mod served;
mod credits;
pub mod publish;
mod era;
mod intake;
mod update;
mod reader;
#[doc(hidden)]
pub mod fuzz;

pub use reader::{Facts, Ledger, Unlogged};
pub use update::{Budget, Outcome, rebuild, rebuild_on, update, update_on};
