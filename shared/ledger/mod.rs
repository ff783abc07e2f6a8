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
mod record;
pub mod disk;
mod index;
mod store;
