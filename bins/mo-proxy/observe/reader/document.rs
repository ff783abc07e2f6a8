//! A whole JSON answer, kept until its end: its tokens stand last.

use super::message::Seen;

/// The largest document that is kept; an answer of a million tokens is smaller.
const LONGEST: usize = 8 << 20;

/// The bytes so far.
#[derive(Debug, Default)]
pub struct Document {
    bytes: Vec<u8>,
    too_long: bool,
}

impl Document {
    /// Keeps the next piece.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.too_long {
            return;
        }
        if self.bytes.len() + bytes.len() > LONGEST {
            self.too_long = true;
            self.bytes = Vec::new();
            return;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Reads it; tells whether it could.
    pub fn read(&self, seen: &mut Seen) -> bool {
        seen.note_signatures(&self.bytes);
        !self.too_long && seen.take(&self.bytes)
    }
}
