//! The tasks of this session at work: kept in one place, given out by one plan, each driven through its runs.

pub mod close;
pub mod command;
pub mod drive;
pub mod hub;
pub mod leases;
pub mod live;
pub mod picture;
pub mod plan;
pub mod run;
pub mod spent;
pub mod task;
