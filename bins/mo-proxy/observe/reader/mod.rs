//! Reads an answer on the side, while its bytes go on untouched: who answered, with which tokens, whether it came to
//! its end. Understands any chunking, gzip, br and zstd; what it cannot read it leaves out, and says so.

mod document;
#[cfg(test)]
mod fuzz;
mod lines;
mod message;
mod unpack;

pub use message::{Failure, Seen};

use document::Document;
use lines::Lines;
use unpack::Unpack;

/// The most bytes that one answer may unpack to; more is a bomb, or nothing that we need to understand.
const MOST_UNPACKED: u64 = 512 << 20;

/// What kind of body an answer has, by its `content-type`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shape {
    /// Server-sent events.
    Events,
    /// One JSON document.
    Document,
    /// Something else: not read.
    Other,
}

impl Shape {
    /// Of a `content-type`.
    pub fn of(content_type: &str) -> Self {
        let kind = content_type.split(';').next().unwrap_or_default().trim();
        if kind.eq_ignore_ascii_case("text/event-stream") {
            Self::Events
        } else if kind.eq_ignore_ascii_case("application/json") || kind.ends_with("+json") {
            Self::Document
        } else {
            Self::Other
        }
    }
}

/// One answer on its way.
#[derive(Debug)]
pub struct Reader {
    unpack: Unpack,
    body: Body,
    unpacked: u64,
    seen: Seen,
}

#[derive(Debug)]
enum Body {
    Events(Lines),
    Document(Document),
    Unread,
}

impl Reader {
    /// A reader for an answer with these headers' values.
    pub fn new(content_type: &str, content_encoding: &str) -> Self {
        let mut seen = Seen::default();
        let body = match Shape::of(content_type) {
            Shape::Events => Body::Events(Lines::default()),
            Shape::Document => Body::Document(Document::default()),
            Shape::Other => Body::Unread,
        };
        let unpack = Unpack::of(content_encoding).unwrap_or_else(|| {
            seen.unread = true;
            Unpack::Nothing
        });
        let body = if seen.unread { Body::Unread } else { body };
        Self { unpack, body, unpacked: 0, seen }
    }

    /// Reads the next piece.
    pub fn feed(&mut self, bytes: &[u8]) {
        if matches!(self.body, Body::Unread) {
            return;
        }
        let Self { unpack, body, unpacked, seen } = self;
        let read = unpack.feed(bytes, &mut |plain| {
            *unpacked += plain.len() as u64;
            match body {
                Body::Events(lines) => lines.feed(plain, seen),
                Body::Document(document) => document.feed(plain),
                Body::Unread => {}
            }
            *unpacked <= MOST_UNPACKED
        });
        if !read {
            self.give_up();
        }
    }

    /// The end of the body has come; what a document says is known only now.
    pub fn end(&mut self) {
        if let Body::Document(document) = &self.body
            && !document.read(&mut self.seen)
        {
            self.seen.unread = true;
        }
    }

    /// What is known so far.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    fn give_up(&mut self) {
        self.body = Body::Unread;
        self.seen.unread = true;
    }
}

#[cfg(test)]
mod tests;
