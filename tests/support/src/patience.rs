//! Waiting for a condition with a deadline: the only room that may poll.

use std::thread;
use std::time::{Duration, Instant};

/// How long a test waits before it calls a thing stuck: far above what a loaded machine needs, far below a hang.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// The first pause between two looks; it grows to `LONGEST_PAUSE`.
const FIRST_PAUSE: Duration = Duration::from_micros(300);
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// Looks until there is an answer; fails the test when `PATIENCE` runs out.
#[track_caller]
pub fn wait_for<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    match within(PATIENCE, look) {
        Some(found) => found,
        None => panic!("waited {PATIENCE:?} in vain for {what}"),
    }
}

/// Looks until the condition holds; fails the test when `PATIENCE` runs out.
#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    wait_for(what, || holds().then_some(()));
}

/// Looks until there is an answer or the limit has passed.
pub fn within<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + limit;
    let mut pause = FIRST_PAUSE;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if Instant::now() >= deadline {
            return None;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_ends_the_wait() {
        let mut looks = 0;
        let found = wait_for("the third look", || {
            looks += 1;
            (looks == 3).then_some(looks)
        });
        assert_eq!(found, 3);
    }

    #[test]
    fn the_limit_ends_the_wait() {
        assert_eq!(within(Duration::from_millis(1), || None::<()>), None);
    }
}
