//! The audit: one line a request, chained by hashes, never content. Rotated, packed and thinned inside the program.

pub mod chain;
pub mod journal;
mod pack;
pub mod query;
pub mod verify;

#[cfg(test)]
mod tests;
