//! Who does which task: pure decisions over a picture of the workers. Nothing here reads a file, a clock or a process.

pub mod after;
pub mod candidate;
pub mod choose;
pub mod guards;
pub mod next;
#[cfg(test)]
mod properties;
pub mod reason;
