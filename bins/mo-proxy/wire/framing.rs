//! Where a body ends: by its length, by its last chunk, or with its connection. Also how much may be read of it.

use super::chunk::{self, Decoder};

/// How a body is framed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Framing {
    /// There is none.
    None,
    /// So many bytes.
    Length(u64),
    /// Chunk by chunk.
    Chunked,
    /// Until the connection ends.
    Close,
}

/// The length in a field, digits only.
pub fn length(value: &[u8]) -> Option<u64> {
    if value.is_empty() || value.len() > 18 || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// A body that is being read.
#[derive(Debug)]
pub enum Reader {
    /// So many bytes are left.
    Length(u64),
    /// Chunks.
    Chunked(Decoder),
    /// Everything that comes.
    Close,
}

/// A step of reading.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Step {
    /// Bytes before the data that carry none.
    pub skip: usize,
    /// Bytes of data.
    pub data: usize,
    /// Whether the body has ended.
    pub end: bool,
}

impl Reader {
    /// A reader for this framing.
    pub fn new(framing: Framing) -> Self {
        match framing {
            Framing::None => Self::Length(0),
            Framing::Length(length) => Self::Length(length),
            Framing::Chunked => Self::Chunked(Decoder::default()),
            Framing::Close => Self::Close,
        }
    }

    /// What the next bytes are. A step without progress wants more bytes.
    pub fn step(&mut self, inbox: &[u8]) -> Result<Step, chunk::Malformed> {
        match self {
            Self::Length(left) => {
                let data = inbox.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= data as u64;
                Ok(Step { skip: 0, data, end: *left == 0 })
            }
            Self::Chunked(decoder) => decoder.step(inbox),
            Self::Close => Ok(Step { skip: 0, data: inbox.len(), end: false }),
        }
    }

    /// Whether the end of the connection is the end of the body.
    pub fn ends_with_connection(&self) -> bool {
        matches!(self, Self::Close)
    }
}
