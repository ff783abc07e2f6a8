//! The ledger as a whole: golden cases, a slow reference counter, faults, many processes at once.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise, its helpers too"
)]

mod audit;
mod corpus;
mod credit;
mod crowd;
mod faults;
mod files;
mod full;
mod fuzz;
mod golden;
mod home;
mod json;
mod property;
mod reference;
mod reports;
mod served;
