//! Buffers of bodies that were sent, for the bodies that come next: what is not given back to the system need not be
//! asked for again.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many are kept while there is traffic.
const MOST: usize = 32;
/// So many are kept over a pause.
const FEW: usize = 4;
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

    /// Gives those back that a quiet gateway has no use for.
    pub fn thin(&self) {
        let mut spares = self.lock();
        spares.truncate(FEW);
        spares.shrink_to_fit();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_used_again_and_a_pause_gives_them_back() {
        let spares = Spares::default();
        assert_eq!(spares.take().capacity(), 0);
        spares.give(vec![1; 100]);
        let again = spares.take();
        assert!(again.is_empty() && again.capacity() >= 100);
        for _ in 0..100 {
            spares.give(vec![1; 100]);
        }
        spares.give(vec![1; LARGEST + 1]);
        assert_eq!(spares.lock().len(), MOST);
        spares.thin();
        assert_eq!(spares.lock().len(), FEW);
    }
}
