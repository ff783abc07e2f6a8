//! Whether a provider counts tokens, as far as was learnt by asking it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// It does not.
const NEVER: u64 = u64::MAX;

/// What was learnt of one provider.
#[derive(Debug)]
pub struct Counting {
    began: Instant,
    /// When it is asked again, in milliseconds since it began.
    again: AtomicU64,
}

impl Default for Counting {
    fn default() -> Self {
        Self { began: Instant::now(), again: AtomicU64::new(0) }
    }
}

impl Counting {
    /// Whether it may be asked now.
    pub fn is_due(&self) -> bool {
        let again = self.again.load(Ordering::Relaxed);
        again != NEVER && self.began.elapsed() >= Duration::from_millis(again)
    }

    /// It is not asked for a while.
    pub fn rests(&self, pause: Duration) {
        let again = (self.began.elapsed() + pause).as_millis();
        // What was learnt for ever meanwhile stays.
        let _ = self.again.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| {
            (old != NEVER).then(|| u64::try_from(again).unwrap_or(NEVER - 1))
        });
    }

    /// It is not asked again.
    pub fn never(&self) {
        self.again.store(NEVER, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_rests_is_asked_again_and_who_never_counts_is_not() {
        let counting = Counting::default();
        assert!(counting.is_due());
        counting.rests(Duration::from_secs(3600));
        assert!(!counting.is_due());
        counting.rests(Duration::ZERO);
        assert!(counting.is_due());
        counting.never();
        counting.rests(Duration::ZERO);
        assert!(!counting.is_due());
    }
}
