//! A piece of a buffer, by its place: cheaper than a copy, and free of the buffer's lifetime.

/// From here to there.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Span {
    from: u32,
    to: u32,
}

impl Span {
    /// Where `part` lies in `whole`. A part that lies elsewhere is an empty span.
    pub fn of(part: &[u8], whole: &[u8]) -> Self {
        let from = (part.as_ptr() as usize).wrapping_sub(whole.as_ptr() as usize);
        if from.saturating_add(part.len()) > whole.len() {
            return Self::default();
        }
        Self { from: from as u32, to: (from + part.len()) as u32 }
    }

    /// The piece.
    pub fn of_bytes(self, whole: &[u8]) -> &[u8] {
        whole.get(self.from as usize..self.to as usize).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_found_again_and_a_stranger_is_empty() {
        let whole = b"abcdef".to_vec();
        assert_eq!(Span::of(&whole[2..4], &whole).of_bytes(&whole), b"cd");
        assert_eq!(Span::of(b"cd", &whole).of_bytes(&whole), b"");
    }
}
