//! HTTP/1.1 as far as one client on loopback needs it: read a request, write a reply whole or in pieces.

use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::net::TcpStream;

use flate2::Compression;
use flate2::write::GzEncoder;

/// No request of Claude Code comes near this.
const LARGEST_BODY: usize = 256 << 20;
/// Longest request line or header.
const LONGEST_LINE: u64 = 1 << 16;

/// A request as it came.
#[derive(Debug, Default)]
pub(super) struct Wire {
    pub(super) method: String,
    /// Path and query.
    pub(super) target: String,
    /// In the order and case they came in.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// Looks a header up, whatever its case.
pub(super) fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

/// Reads the next request; nothing when the client has closed the connection.
pub(super) fn read(client: &mut impl BufRead, reply: &mut impl Write) -> io::Result<Option<Wire>> {
    let first = line(client)?;
    if first.is_empty() {
        return Ok(None);
    }
    let mut parts = first.split(' ');
    let mut wire = Wire {
        method: parts.next().unwrap_or_default().into(),
        target: parts.next().unwrap_or_default().into(),
        ..Wire::default()
    };
    loop {
        let text = line(client)?;
        if text.is_empty() {
            break;
        }
        let (name, value) = text.split_once(':').ok_or_else(|| bad("a header without a colon"))?;
        wire.headers.push((name.into(), value.trim().into()));
    }
    if header(&wire.headers, "expect").is_some() {
        reply.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    if header(&wire.headers, "transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
        wire.body = chunks(client)?;
    } else if let Some(length) = header(&wire.headers, "content-length") {
        let length: usize = length.parse().map_err(|_| bad("content-length"))?;
        if length > LARGEST_BODY {
            return Err(bad("a body beyond all measure"));
        }
        wire.body = vec![0; length];
        client.read_exact(&mut wire.body)?;
    }
    Ok(Some(wire))
}

fn line(client: &mut impl BufRead) -> io::Result<String> {
    let mut text = String::new();
    client.take(LONGEST_LINE).read_line(&mut text)?;
    Ok(text.trim_end().into())
}

fn chunks(client: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(client)?;
        let size = size.split(';').next().unwrap_or_default();
        let size = usize::from_str_radix(size.trim(), 16).map_err(|_| bad("a chunk size"))?;
        if body.len() + size > LARGEST_BODY {
            return Err(bad("a body beyond all measure"));
        }
        let start = body.len();
        body.resize(start + size, 0);
        client.read_exact(&mut body[start..])?;
        line(client)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

fn bad(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

/// The head of a reply.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    /// The body is to be compressed.
    pub(super) gzip: bool,
    /// The request was HEAD: no body follows.
    pub(super) bodiless: bool,
}

impl Head {
    fn write(&self, client: &mut impl Write, framing: &str) -> io::Result<()> {
        let mut text = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        for (name, value) in &self.headers {
            text.extend([name, ": ", value, "\r\n"]);
        }
        if self.gzip {
            text += "content-encoding: gzip\r\n";
        }
        text += framing;
        text += "\r\n\r\n";
        client.write_all(text.as_bytes())
    }
}

/// Writes a whole reply.
pub(super) fn whole(client: &mut TcpStream, head: &Head, body: &[u8]) -> io::Result<()> {
    let body = if head.gzip {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(body)?;
        packer.finish()?
    } else {
        body.to_vec()
    };
    head.write(client, &format!("content-length: {}", body.len()))?;
    if head.bodiless { Ok(()) } else { client.write_all(&body) }
}

/// A reply written piece by piece.
pub(super) struct Pieces<'a> {
    client: &'a mut TcpStream,
    packer: Option<GzEncoder<Vec<u8>>>,
}

impl<'a> Pieces<'a> {
    /// Writes the head.
    pub(super) fn start(client: &'a mut TcpStream, head: &Head) -> io::Result<Self> {
        head.write(client, "transfer-encoding: chunked")?;
        let packer = head.gzip.then(|| GzEncoder::new(Vec::new(), Compression::fast()));
        Ok(Self { client, packer })
    }

    /// Writes one piece, at once.
    pub(super) fn piece(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.packer {
            Some(packer) => {
                packer.write_all(bytes)?;
                packer.flush()?;
                let ready = std::mem::take(packer.get_mut());
                chunk(self.client, &ready)
            }
            None => chunk(self.client, bytes),
        }
    }

    /// Writes the end.
    pub(super) fn finish(self) -> io::Result<()> {
        if let Some(packer) = self.packer {
            chunk(self.client, &packer.finish()?)?;
        }
        self.client.write_all(b"0\r\n\r\n")
    }
}

fn chunk(client: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
    framed.extend_from_slice(bytes);
    framed.extend_from_slice(b"\r\n");
    client.write_all(&framed)
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Payload Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        529 => "Overloaded",
        _ => "Status",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> io::Result<Option<Wire>> {
        read(&mut text.as_bytes(), &mut Vec::new())
    }

    #[test]
    fn a_body_comes_by_length_or_in_chunks() {
        let wire =
            parse("POST /a?b HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcrest").expect("fine").expect("one");
        assert_eq!(
            (wire.method.as_str(), wire.target.as_str(), wire.body.as_slice()),
            ("POST", "/a?b", &b"abc"[..])
        );
        let chunked = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n1;x\r\nc\r\n0\r\n\r\n";
        assert_eq!(parse(chunked).expect("fine").expect("one").body, b"abc");
    }

    #[test]
    fn damage_is_an_error_and_a_closed_connection_is_none() {
        assert!(parse("").expect("fine").is_none());
        for text in [
            "GET / HTTP/1.1\r\nno colon\r\n\r\n",
            "GET / HTTP/1.1\r\ncontent-length: x\r\n\r\n",
            "GET / HTTP/1.1\r\ncontent-length: 9\r\n\r\nshort",
            "GET / HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n",
            "GET / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
