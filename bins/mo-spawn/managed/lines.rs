//! Lines out of a pipe in bounded memory: every byte is counted, and of a line that is too long only its start is kept.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::atomic::{AtomicU64, Ordering};

/// The longest line that is looked at; what Claude Code says in more is the output of a tool.
pub const LONGEST: usize = 2 << 20;
/// What is kept of a longer one.
const HEAD: usize = 4096;
/// A buffer that grew above this is given back after its line.
const USUAL: usize = 64 << 10;

/// One line, without its end.
#[derive(Debug, Eq, PartialEq)]
pub enum Line<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// The start of one that is too long.
    Cut(&'a [u8]),
}

/// A pipe, read by lines.
#[derive(Debug)]
pub struct Lines<R> {
    source: BufReader<R>,
    line: Vec<u8>,
}

impl<R: Read> Lines<R> {
    /// The lines of this pipe.
    pub fn of(source: R) -> Self {
        Self { source: BufReader::with_capacity(16 << 10, source), line: Vec::new() }
    }

    /// The next line; nothing at the end.
    pub fn next(&mut self, counted: &AtomicU64) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        if self.line.capacity() > USUAL {
            self.line.shrink_to(USUAL);
        }
        let (mut cut, mut any) = (false, false);
        loop {
            let piece = match self.source.fill_buf() {
                Ok(piece) => piece,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if piece.is_empty() {
                break;
            }
            any = true;
            let end = memchr::memchr(b'\n', piece);
            let part = piece.get(..end.unwrap_or(piece.len())).unwrap_or_default();
            if self.line.len() + part.len() > LONGEST {
                cut = true;
                self.line.truncate(HEAD);
            }
            if !cut {
                self.line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            counted.fetch_add(used as u64, Ordering::Relaxed);
            self.source.consume(used);
            if end.is_some() {
                break;
            }
        }
        Ok(any.then_some(if cut { Line::Cut(&self.line) } else { Line::Whole(&self.line) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_without_an_end_is_counted_and_costs_no_memory() {
        let counted = AtomicU64::new(0);
        let flood = io::repeat(b'x').take(20 << 20).chain(&b"\nnext\nlast"[..]);
        let mut lines = Lines::of(flood);
        assert_eq!(lines.next(&counted).unwrap(), Some(Line::Cut(&[b'x'; HEAD])));
        assert!(lines.line.capacity() <= 2 * LONGEST);
        assert_eq!(lines.next(&counted).unwrap(), Some(Line::Whole(b"next")));
        assert!(lines.line.capacity() <= USUAL);
        assert_eq!(lines.next(&counted).unwrap(), Some(Line::Whole(b"last")));
        assert_eq!(lines.next(&counted).unwrap(), None);
        assert_eq!(counted.load(Ordering::Relaxed), (20 << 20) + 10);
    }
}
