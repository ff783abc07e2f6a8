//! Watches a stream of events go by: whether it stands between two events, and whether it came to its end.
//! It looks at line starts alone; what the events say is read elsewhere.

/// So much of a line's start decides what it is.
const START: usize = 40;

/// Where in the stream we are.
#[derive(Debug)]
pub struct Watch {
    start: [u8; START],
    length: usize,
    between: bool,
    over: bool,
    started: bool,
}

impl Default for Watch {
    fn default() -> Self {
        Self { start: [0; START], length: 0, between: true, over: false, started: false }
    }
}

impl Watch {
    /// Looks at the next bytes.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let end = memchr::memchr(b'\n', bytes);
            let line = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
            for (slot, byte) in self.start.iter_mut().skip(self.length).zip(line) {
                *slot = *byte;
            }
            self.length = self.length.saturating_add(line.len());
            let Some(end) = end else { break };
            self.line();
            bytes = bytes.get(end + 1..).unwrap_or_default();
        }
    }

    /// A line has ended.
    fn line(&mut self) {
        let start = self.start.get(..self.length.min(START)).unwrap_or_default();
        let start = if self.length <= START { start.strip_suffix(b"\r").unwrap_or(start) } else { start };
        self.between = start.is_empty();
        if let Some(name) = start.strip_prefix(b"event:") {
            match name.trim_ascii() {
                b"message_start" => self.started = true,
                b"message_stop" | b"error" => self.over = true,
                _ => {}
            }
        } else if let Some(data) = start.strip_prefix(b"data:") {
            let data = data.trim_ascii_start();
            self.over |= data.starts_with(br#"{"type":"message_stop""#) || data == b"[DONE]";
        }
        self.length = 0;
    }

    /// Whether an event of ours can stand here.
    pub fn is_between(&self) -> bool {
        self.between && self.length == 0
    }

    /// Whether a line of ours can stand here.
    pub fn is_line_start(&self) -> bool {
        self.length == 0
    }

    /// Whether the message has ended, or an error has been told: nothing of worth follows.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Whether a message has begun: only then its end is to be expected.
    pub fn has_started(&self) -> bool {
        self.started
    }
}

/// What ends the line and the event in which a stream was cut.
pub const BREAK: &[u8] = b"\n\n";
/// A sign of life, as Anthropic sends it.
pub const PING: &[u8] = b"event: ping\ndata: {\"type\": \"ping\"}\n\n";
/// A sign of life inside an event.
pub const COMMENT: &[u8] = b":\n";

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] = b"event: message_start\ndata: {\"type\":\"message_start\",\"x\":\"message_stop\"}\n\n\
        event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":\"event: message_stop\"}\n\n\
        event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

    #[test]
    fn the_end_is_seen_when_it_comes_and_never_before_however_the_stream_is_cut() {
        let stop = STREAM.len() - b"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n".len();
        for size in 1..70 {
            let (mut watch, mut fed) = (Watch::default(), 0);
            for piece in STREAM.chunks(size) {
                watch.feed(piece);
                fed += piece.len();
                assert!(!watch.is_over() || fed > stop, "pieces of {size}");
                assert_eq!(watch.is_between(), STREAM[..fed].ends_with(b"\n\n"), "pieces of {size} at {fed}");
            }
            assert!(watch.is_over() && watch.has_started());
        }
    }

    #[test]
    fn returns_before_line_ends_and_data_without_a_name_are_understood() {
        let mut watch = Watch::default();
        watch.feed(b"data: {\"type\":\"message_stop\"}\r\n\r\n");
        assert!(watch.is_over() && watch.is_between());
        let mut watch = Watch::default();
        watch.feed(b"event:error\r\ndata:{}\r\n");
        assert!(watch.is_over() && !watch.is_between() && watch.is_line_start());
    }
}
