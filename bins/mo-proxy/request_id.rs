//! The id of a request: short, unique over restarts, made without asking the system for chance each time.

use std::sync::atomic::{AtomicU64, Ordering};

use uuid::Uuid;

/// Makes ids.
#[derive(Debug)]
pub struct Ids {
    start: String,
    next: AtomicU64,
}

impl Default for Ids {
    fn default() -> Self {
        let (chance, _) = Uuid::new_v4().as_u64_pair();
        Self { start: format!("mo-{:08x}", chance >> 32), next: AtomicU64::new(0) }
    }
}

impl Ids {
    /// The next id.
    pub fn next(&self) -> String {
        format!("{}{:08x}", self.start, self.next.fetch_add(1, Ordering::Relaxed))
    }
}
