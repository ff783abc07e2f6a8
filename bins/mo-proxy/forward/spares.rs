//! Buffers of bodies that were sent, for the bodies that come next: what is not given back to the system need not be
//! asked for again.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many are kept.
const MOST: usize = 8;
/// A larger one is given back.
const LARGEST: usize = 128 << 10;

/// The buffers.
#[derive(Debug, Default)]
pub struct Spares(Mutex<Vec<Vec<u8>>>);

impl Spares {
    /// An empty buffer.
    pub fn take(&self) -> Vec<u8> {
        self.lock().pop().unwrap_or_default()
    }

    /// Takes one back.
    pub fn give(&self, mut buffer: Vec<u8>) {
        if buffer.capacity() == 0 || buffer.capacity() > LARGEST {
            return;
        }
        buffer.clear();
        let mut spares = self.lock();
        if spares.len() < MOST {
            spares.push(buffer);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
