//! Where requests go: Anthropic with the client's own credentials, others with their worker's key.
//! A request carries its own way: no room outside can send what one upstream wrote to another.

pub mod origin;
pub mod failure;
mod trust;
mod tunnel;
pub mod dialer;
pub mod pool;
pub mod outgoing;
pub mod anthropic;
mod counting;
pub mod provider;
#[cfg(test)]
mod tests;
