//! The ledger: every token counted once. The rooms below it, in dependency order.

pub mod usage;

pub mod fact;
