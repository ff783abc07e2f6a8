//! A connection with what has arrived on it and was not used yet.

use std::io::{self, IoSlice};
use std::pin::pin;
use std::task::{Context, Poll};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::stream::Stream;

/// So much is read at once.
const READ: usize = 16 << 10;
/// So much is made ready for a client that should be silent.
const GLANCE: usize = 256;
/// A client that sends more than this ahead of its turn has to wait.
const AHEAD: usize = 64 << 10;

/// A connection.
#[derive(Debug)]
pub struct Line {
    stream: Stream,
    inbox: BytesMut,
}

impl Line {
    /// A fresh connection.
    pub fn new(stream: Stream) -> Self {
        Self { stream, inbox: BytesMut::new() }
    }

    /// What has arrived and was not used yet.
    pub fn inbox(&self) -> &[u8] {
        &self.inbox
    }

    /// Takes these many bytes off the front of the inbox.
    pub fn used(&mut self, count: usize) {
        self.inbox.advance(count.min(self.inbox.len()));
    }

    /// Puts bytes that were read too far before what has arrived.
    pub fn unused(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            let arrived = self.inbox.split();
            self.inbox.extend_from_slice(bytes);
            self.inbox.unsplit(arrived);
        }
    }

    /// Gives the memory of an empty inbox back, for a connection that will be silent for a while.
    pub fn rest(&mut self) {
        if self.inbox.is_empty() {
            self.inbox = BytesMut::new();
        }
    }

    /// Reads more into the inbox; 0 is the end.
    pub async fn fill(&mut self) -> io::Result<usize> {
        self.inbox.reserve(READ);
        self.stream.read_buf(&mut self.inbox).await
    }

    /// Reads more into the inbox, when there is more.
    pub fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.poll_read(cx, READ)
    }

    fn poll_read(&mut self, cx: &mut Context<'_>, room: usize) -> Poll<io::Result<usize>> {
        self.inbox.reserve(room);
        let read = pin!(self.stream.read_buf(&mut self.inbox));
        read.poll(cx)
    }

    /// Reads straight into the end of `body`, at most `most` bytes, without the inbox between.
    pub async fn fill_into(&mut self, body: &mut Vec<u8>, most: usize) -> io::Result<usize> {
        let mut limited = bytes::BufMut::limit(body, most);
        self.stream.read_buf(&mut limited).await
    }

    /// Ready once the other side has hung up. What it sends meanwhile is kept for its turn.
    pub fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.inbox.len() < AHEAD {
            match self.poll_read(cx, GLANCE) {
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => break,
            }
        }
        Poll::Pending
    }

    /// Whether an idle connection can still be used: the other side has neither hung up nor said anything.
    pub fn is_quiet(&mut self) -> bool {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        self.inbox.is_empty() && self.poll_read(&mut cx, GLANCE).is_pending()
    }

    /// Sends all of it.
    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    /// Sends both, in as few packets as they need.
    pub async fn send_two(&mut self, first: &[u8], second: &[u8]) -> io::Result<()> {
        let (mut head, mut rest) = (first, second);
        while !head.is_empty() {
            let pieces = [IoSlice::new(head), IoSlice::new(rest)];
            match self.stream.write_vectored(&pieces).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                sent if sent < head.len() => head.advance(sent),
                sent => {
                    rest.advance(sent - head.len());
                    head = &[];
                }
            }
        }
        self.stream.write_all(rest).await?;
        self.stream.flush().await
    }

    /// Says that nothing more will come from us.
    pub async fn finish(&mut self) -> io::Result<()> {
        self.stream.shutdown().await
    }
}
