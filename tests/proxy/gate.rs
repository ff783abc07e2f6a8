//! A gate that scripts wait at until the test opens it: in the place of pauses.

use std::sync::{Arc, Condvar, Mutex};

use support::PATIENCE;

/// The gate.
#[derive(Clone, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    /// Lets all through, from now on.
    pub fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    /// Waits until it is open.
    pub fn pass(&self) {
        let open = self.0.0.lock().unwrap();
        let (open, _) = self.0.1.wait_timeout_while(open, PATIENCE, |open| !*open).unwrap();
        assert!(*open, "the gate was never opened");
    }
}
