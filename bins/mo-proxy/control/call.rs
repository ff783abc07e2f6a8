//! One question to a gateway on this machine, and its whole answer. Small, and without a runtime.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// How long a gateway may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest answer of its own that a gateway gives.
const LONGEST: u64 = 64 << 20;

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its body.
    pub body: Vec<u8>,
}

/// Asks for this path; `token` goes along where it is given.
pub fn get(address: &str, path: &str, token: Option<&str>) -> io::Result<Answer> {
    let host = if address.starts_with("unix:") { "localhost" } else { address };
    let token = token.map(|token| format!("x-mo-token: {token}\r\n")).unwrap_or_default();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{token}\r\n");
    let mut bytes = Vec::new();
    if let Some(path) = address.strip_prefix("unix:") {
        let mut stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(request.as_bytes())?;
        stream.take(LONGEST).read_to_end(&mut bytes)?;
    } else {
        let address: SocketAddr = address.parse().map_err(io::Error::other)?;
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(request.as_bytes())?;
        stream.take(LONGEST).read_to_end(&mut bytes)?;
    }
    parse(&bytes).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no answer of a gateway"))
}

/// Our own answers have a length and are never packed; the end of the connection is the end of the body.
fn parse(bytes: &[u8]) -> Option<Answer> {
    let end = memchr::memmem::find(bytes, b"\r\n\r\n")?;
    let head = std::str::from_utf8(bytes.get(..end)?).ok()?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let body = bytes.get(end + 4..)?;
    if length.is_some_and(|length| length != body.len()) {
        return None;
    }
    Some(Answer { status, body: body.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_was_cut_is_none() {
        let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        assert_eq!(parse(whole).unwrap().body, b"ok");
        assert!(parse(&whole[..whole.len() - 1]).is_none());
        assert!(parse(b"SSH-2.0-x\r\n\r\n").is_none());
    }
}
