//! The ledger as a whole: golden cases, a slow reference counter, faults, many processes at once.

mod golden;
mod home;
