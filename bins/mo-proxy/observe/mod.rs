//! What is known of the traffic: usage read on the side, the audit, what it cost, metrics, quotas. Nothing here is
//! on a request's path: it ends with one message into a bounded queue.

pub mod audit;
pub mod cost;
pub mod differences;
pub mod flat;
pub mod metrics;
pub mod observer;
pub mod quota;
pub mod reader;
