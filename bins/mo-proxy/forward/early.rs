//! An answer that is begun before there is one: a provider that thinks for minutes before its first byte would lose
//! the client, which gives up after three. From then on nothing but events can be said, errors too.

use serde_json::Value;
use tokio::time::{Duration, timeout};

use super::whole;
use crate::upstream::outgoing::Sent;
use crate::wire::chunk;
use crate::wire::events;
use crate::wire::line::Line;
use crate::wire::reply;
use crate::wire::status_line::Status;

/// So many silent times of a ping are waited before an answer is begun.
const PATIENCE: u32 = 4;
/// How long an error may take to arrive.
const ERROR: Duration = Duration::from_secs(10);

/// Signs of life to a client whose upstream has not answered yet.
#[derive(Debug)]
pub struct Early {
    ping: Duration,
    begun: bool,
}

impl Early {
    /// With a sign of life this often.
    pub fn new(ping: Duration) -> Self {
        Self { ping, begun: false }
    }

    /// Whether an answer has been begun.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// Waits until the next sign of life is due.
    pub async fn due(&self) {
        let pause = if self.begun { self.ping } else { self.ping.saturating_mul(PATIENCE) };
        tokio::time::sleep(pause).await;
    }

    /// Gives one.
    pub async fn sign(&mut self, line: &mut Line, id: &str) -> std::io::Result<()> {
        let mut out = Vec::new();
        if !self.begun {
            out.extend_from_slice(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n\
                  transfer-encoding: chunked\r\n",
            );
            out.extend_from_slice(format!("x-mo-request-id: {id}\r\n\r\n").as_bytes());
            self.begun = true;
        }
        chunk::write(&mut out, events::PING);
        line.send(&out).await
    }
}

/// An error as the only event of a stream that was begun, and its end.
pub async fn end_with(line: &mut Line, error: &[u8]) -> std::io::Result<()> {
    let mut event = b"event: error\ndata: ".to_vec();
    // One line, whatever it was.
    let flat = serde_json::from_slice::<Value>(error).unwrap_or_default().to_string();
    event.extend_from_slice(flat.as_bytes());
    event.extend_from_slice(b"\n\n");
    let mut out = Vec::new();
    chunk::write(&mut out, &event);
    out.extend_from_slice(chunk::LAST);
    line.send(&out).await
}

/// The error that an upstream tells in its answer, in Anthropic's shape.
pub async fn told_by(sent: &mut Sent, status: &Status, id: &str) -> Vec<u8> {
    let (body, _) = timeout(ERROR, whole::read(sent, status)).await.unwrap_or_default();
    let parsed = serde_json::from_slice::<Value>(&body).unwrap_or_default();
    let is_error = parsed.get("type").is_some_and(|kind| kind == "error");
    if is_error {
        return body;
    }
    let code = if status.code() >= 400 { status.code() } else { 502 };
    let what = format!("{} answered with status {} and no stream", sent.place(), status.code());
    reply::error(code, &what, id).to_string().into_bytes()
}
