//! The other side of the gateway: commands that find the one that runs, look at it, and tell it what to do.

pub mod audit;
mod call;
pub mod cost;
pub mod exec;
mod found;
mod project;
pub mod reload;
mod service_file;
pub mod service;
pub mod status;
pub mod stop;
pub mod top;
