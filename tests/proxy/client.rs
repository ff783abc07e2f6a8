//! A client that sends bytes as they stand, and reads an answer to its end, clean or not.

use std::io::{Read, Write};
use std::net::TcpStream;

use support::PATIENCE;

/// A connection to the gateway.
pub struct Client {
    stream: TcpStream,
    inbox: Vec<u8>,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The head as it came.
    pub head: String,
    /// The body, without its framing.
    pub body: Vec<u8>,
    /// Whether it came to its end.
    pub whole: bool,
}

impl Answer {
    /// The value of a field.
    pub fn field(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.filter(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The kind of error it tells, in Anthropic's shape.
    #[track_caller]
    pub fn error(&self) -> String {
        let json = self.json();
        assert_eq!(json["type"], "error", "{json}");
        assert!(json["request_id"].is_string() && json["error"]["message"].is_string(), "{json}");
        json["error"]["type"].as_str().unwrap().to_owned()
    }
}

impl Client {
    /// Connects.
    pub fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, inbox: Vec::new() }
    }

    /// Sends bytes as they stand. The gateway may have hung up already.
    pub fn send(&mut self, bytes: &[u8]) -> &mut Self {
        let _ = self.stream.write_all(bytes);
        self
    }

    /// One request and its answer.
    #[track_caller]
    pub fn ask(&mut self, bytes: &[u8]) -> Answer {
        self.send(bytes).answer()
    }

    /// Reads until the inbox holds this.
    #[track_caller]
    pub fn read_until(&mut self, needle: &str) {
        while !String::from_utf8_lossy(&self.inbox).contains(needle) {
            assert!(self.more(), "{needle:?} never came: {}", self.inbox.escape_ascii());
        }
    }

    /// Whether the gateway hangs up without another byte.
    pub fn is_hung_up(&mut self) -> bool {
        self.inbox.is_empty() && !self.more()
    }

    fn more(&mut self) -> bool {
        let mut buffer = vec![0; 64 << 10];
        match self.stream.read(&mut buffer) {
            Ok(count) => {
                self.inbox.extend_from_slice(&buffer[..count]);
                count > 0
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                panic!("no more came: {}", self.inbox.escape_ascii())
            }
            Err(_) => false,
        }
    }

    /// Reads a head alone: of an answer without a body, or of a word on the way.
    #[track_caller]
    pub fn head(&mut self) -> Answer {
        let end = loop {
            if let Some(end) = memchr::memmem::find(&self.inbox, b"\r\n\r\n") {
                break end + 4;
            }
            assert!(self.more(), "no answer: {}", self.inbox.escape_ascii());
        };
        let head = String::from_utf8(self.inbox.drain(..end).collect()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head, body: Vec::new(), whole: true }
    }

    /// Reads one answer.
    #[track_caller]
    pub fn answer(&mut self) -> Answer {
        let mut answer = self.head();
        answer.whole = false;
        let chunked = answer.field("transfer-encoding") == Some("chunked");
        if chunked {
            answer.whole = self.chunks(&mut answer.body);
        } else if let Some(length) = answer.field("content-length") {
            let length: usize = length.parse().unwrap();
            while self.inbox.len() < length && self.more() {}
            answer.whole = self.inbox.len() >= length;
            answer.body = self.inbox.drain(..length.min(self.inbox.len())).collect();
        } else {
            while self.more() {}
            answer.body = std::mem::take(&mut self.inbox);
            answer.whole = true;
        }
        answer
    }

    fn chunks(&mut self, body: &mut Vec<u8>) -> bool {
        loop {
            let Some(end) = memchr::memmem::find(&self.inbox, b"\r\n") else {
                if !self.more() {
                    return false;
                }
                continue;
            };
            let size = std::str::from_utf8(&self.inbox[..end]).unwrap();
            let size = usize::from_str_radix(size, 16).unwrap();
            while self.inbox.len() < end + 2 + size + 2 {
                if !self.more() {
                    let here = self.inbox.len().min(end + 2 + size);
                    body.extend_from_slice(&self.inbox[end + 2..here]);
                    return false;
                }
            }
            body.extend_from_slice(&self.inbox[end + 2..end + 2 + size]);
            assert_eq!(&self.inbox[end + 2 + size..end + 4 + size], b"\r\n");
            self.inbox.drain(..end + 4 + size);
            if size == 0 {
                return true;
            }
        }
    }
}

/// A request as Claude Code sends one, with this body.
pub fn messages(body: &str) -> Vec<u8> {
    request("POST", "/v1/messages?beta=true", "authorization: Bearer sk-ant-oat01-the-login\r\n", body)
}

/// A request with these further fields, each with its line end.
pub fn request(method: &str, target: &str, fields: &str, body: &str) -> Vec<u8> {
    let length = if method == "POST" {
        format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len())
    } else {
        String::new()
    };
    format!("{method} {target} HTTP/1.1\r\nhost: 127.0.0.1\r\n{fields}{length}\r\n{body}").into_bytes()
}
