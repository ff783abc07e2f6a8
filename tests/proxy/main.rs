//! The gateway, run as a user runs it, against scripted upstreams. One module a concern.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at the first surprise, its helpers too"
)]

mod client;
mod gateway;
mod upstream;
mod gate;
mod tls;
mod tunnel;
mod staff;

mod books;
mod broken;
mod control;
mod counting;
mod crowd;
mod drain;
mod encrypted;
mod fidelity;
mod full;
mod limits;
mod models;
mod providers;
mod redirects;
mod restraint;
mod safety;
mod smuggling;
mod soak;
mod start;
mod whose;
