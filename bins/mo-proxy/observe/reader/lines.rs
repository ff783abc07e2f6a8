//! Server-sent events, line by line, over any chunking. Only the events that tell something are decoded; the text
//! of an answer passes by uncopied where its line is whole.

use memchr::{memchr2, memmem};

use super::message::Seen;

/// The longest line that is kept; events that tell something are short.
const LONGEST: usize = 256 * 1024;
/// The events that tell something.
const TELLING: [&[u8]; 4] = [b"message_start", b"message_delta", b"message_stop", b"error"];

/// The state between two pieces.
#[derive(Debug, Default)]
pub struct Lines {
    /// The beginning of a line whose end has not come.
    open: Vec<u8>,
    /// Whether the open line grew too long and is passed over.
    skipping: bool,
    /// Whether the last byte was a carriage return: a line feed now belongs to it.
    after_return: bool,
    event: Event,
    /// The data of the event so far, of several lines where it has them.
    data: Vec<u8>,
}

/// What the event's name says.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Event {
    /// No name yet: the data decides.
    #[default]
    Unnamed,
    Telling,
    Other,
}

impl Lines {
    /// Reads the next piece of plain bytes.
    pub fn feed(&mut self, mut bytes: &[u8], seen: &mut Seen) {
        if self.after_return && !bytes.is_empty() {
            self.after_return = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(at) = memchr2(b'\n', b'\r', bytes) {
            let (line, end) = bytes.split_at(at);
            self.piece_ended(line, seen);
            bytes = match end {
                [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
                [] => &[],
            };
            self.after_return = end == b"\r";
        }
        if !self.skipping {
            self.open.extend_from_slice(bytes);
            if self.open.len() > LONGEST {
                self.open.clear();
                self.skipping = true;
            }
        }
    }

    /// The end of a line has come; what was open before it belongs to it.
    fn piece_ended(&mut self, piece: &[u8], seen: &mut Seen) {
        if std::mem::take(&mut self.skipping) {
            return;
        }
        if self.open.is_empty() {
            self.line(piece, seen);
            return;
        }
        let mut line = std::mem::take(&mut self.open);
        line.extend_from_slice(piece);
        self.line(&line, seen);
        line.clear();
        self.open = line;
    }

    fn line(&mut self, line: &[u8], seen: &mut Seen) {
        if line.is_empty() {
            if !self.data.is_empty() {
                seen.take(&self.data);
                self.data.clear();
            }
            self.event = Event::Unnamed;
        } else if let Some(name) = field(line, b"event:") {
            self.event = if TELLING.contains(&name) { Event::Telling } else { Event::Other };
        } else if let Some(data) = field(line, b"data:") {
            if self.event != Event::Telling {
                seen.note_signatures(data);
            }
            self.more_data(data);
        }
    }

    fn more_data(&mut self, data: &[u8]) {
        let tells = match self.event {
            Event::Telling => true,
            Event::Other => false,
            Event::Unnamed => TELLING.iter().any(|word| memmem::find(data, word).is_some()),
        };
        let goes_on = !self.data.is_empty();
        if tells || goes_on {
            if goes_on {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(data);
            if self.data.len() > LONGEST {
                self.data.clear();
                self.event = Event::Other;
            }
        }
    }
}

/// The value of a field, without the one space that may stand before it.
fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let value = line.strip_prefix(name)?;
    Some(value.strip_prefix(b" ").unwrap_or(value))
}
