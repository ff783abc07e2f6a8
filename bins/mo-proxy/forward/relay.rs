//! The answer on its way to the client: byte for byte, piece by piece, never more in memory than one piece.
//! A client that leaves ends the upstream's work at once; an upstream that breaks off never looks finished.

use std::fmt::Write as _;
use std::future::poll_fn;
use std::io;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until, timeout};

use super::After;
use super::account::Account;
use super::passed;
use super::told::Told;
use crate::config::Timeouts;
use crate::upstream::outgoing::Sent;
use crate::wire::chunk;
use crate::wire::events::{self, Watch};
use crate::wire::field::{self, Kind};
use crate::wire::framing::{Framing, Reader};
use crate::wire::head::Head;
use crate::wire::line::Line;
use crate::wire::reply;
use crate::wire::status_line::Status;

/// What still comes behind the end of a message must come soon.
const TAIL: Duration = Duration::from_millis(500);
/// How long a client may take to read a piece.
const STALL: Duration = Duration::from_secs(300);

/// How the answer is framed for the client.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Wrap {
    /// As it is: its length was told, or its end is the connection's.
    Plain,
    /// In chunks.
    Chunks,
}

/// Why an answer broke off.
enum Broken {
    /// The client left, or does not read.
    Client,
    /// The upstream stopped: in a word, and in words.
    Upstream(&'static str, &'static str),
}

/// What an answer is given with.
#[derive(Clone, Copy)]
pub struct Answering<'a> {
    /// The request's head.
    pub head: &'a Head,
    /// The request's id.
    pub id: &'a str,
    /// What the client is told beside the answer.
    pub told: &'a Told,
    /// How long anything may take.
    pub timeouts: &'a Timeouts,
    /// Whether a stream was begun before the upstream answered.
    pub begun: bool,
}

/// Relays an answer.
pub async fn relay(
    line: &mut Line,
    answering: &Answering<'_>,
    account: &mut Account<'_>,
    mut sent: Sent,
    status: &Status,
) -> After {
    let head = answering.head;
    let wrap = match status.framing() {
        _ if answering.begun => Wrap::Chunks,
        Framing::Chunked | Framing::Close if !head.is_http10() => Wrap::Chunks,
        _ => Wrap::Plain,
    };
    let bounded = wrap == Wrap::Chunks || matches!(status.framing(), Framing::Length(_) | Framing::None);
    let keep = head.keep_alive() && bounded;
    let mut relay = Relay {
        line,
        account,
        out: if answering.begun { Vec::new() } else { start(status, answering, wrap, keep) },
        wrap,
        watch: status.is_events().then(Watch::default),
        timer: Box::pin(sleep_until(Instant::now() + answering.timeouts.ping)),
        timeouts: answering.timeouts,
        began: Instant::now(),
        heard: Instant::now(),
    };
    match relay.body(&mut sent, Reader::new(status.framing())).await {
        Ok(whole) => {
            relay.account.ended(None);
            if whole {
                sent.give_back(status.keep_alive());
            }
            if keep { After::Keep } else { After::Close }
        }
        Err(Broken::Client) => {
            relay.account.left();
            After::Close
        }
        Err(Broken::Upstream(how, why)) => {
            relay.account.ended(Some(how));
            relay.broken(answering.id, why).await;
            After::Close
        }
    }
}

/// The head of the answer, as the upstream wrote it, but for what belongs to one connection alone; of a provider's only
/// what the client reads.
fn start(status: &Status, answering: &Answering<'_>, wrap: Wrap, keep: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(4 << 10);
    let mut line = String::with_capacity(16);
    let _ = write!(line, "HTTP/1.1 {} ", status.code());
    out.extend_from_slice(line.as_bytes());
    out.extend_from_slice(status.reason());
    out.extend_from_slice(b"\r\n");
    for (name, value, kind) in status.fields() {
        match kind {
            Kind::Coding | Kind::Connection | Kind::Hop => {}
            Kind::Length if wrap == Wrap::Chunks => {}
            _ if answering.told.upstream.is_some() && !passed::is(name) => {}
            _ => field::write(&mut out, name, value),
        }
    }
    field::write(&mut out, b"x-mo-request-id", answering.id.as_bytes());
    for (name, value) in answering.told.fields() {
        field::write(&mut out, name.as_bytes(), value.as_bytes());
    }
    if wrap == Wrap::Chunks {
        field::write(&mut out, b"transfer-encoding", b"chunked");
    }
    if !keep {
        field::write(&mut out, b"connection", b"close");
    }
    out.extend_from_slice(b"\r\n");
    out
}

struct Relay<'a, 'g> {
    line: &'a mut Line,
    account: &'a mut Account<'g>,
    /// What is about to be sent: the head, then piece by piece.
    out: Vec<u8>,
    wrap: Wrap,
    watch: Option<Watch>,
    timer: std::pin::Pin<Box<Sleep>>,
    timeouts: &'a Timeouts,
    began: Instant,
    heard: Instant,
}

impl Relay<'_, '_> {
    /// Passes the body on. Tells whether the upstream's connection was read to the end of the answer.
    async fn body(&mut self, sent: &mut Sent, mut reader: Reader) -> Result<bool, Broken> {
        loop {
            let ended = loop {
                let inbox = sent.line().inbox();
                let step = reader
                    .step(inbox)
                    .map_err(|_| Broken::Upstream("cut", "the upstream sent a malformed chunk"))?;
                let data = inbox.get(step.skip..step.skip + step.data).unwrap_or_default();
                self.pass(data);
                sent.line().used(step.skip + step.data);
                if step.end || step.skip + step.data == 0 {
                    break step.end;
                }
            };
            if ended {
                self.finish().await?;
                return Ok(true);
            }
            self.flush().await?;
            match self.more(sent).await? {
                1.. => self.heard = Instant::now(),
                0 if reader.ends_with_connection() => {
                    self.finish().await?;
                    return Ok(false);
                }
                0 if self.is_over() => {
                    self.finish().await?;
                    return Ok(false);
                }
                0 => {
                    return Err(Broken::Upstream(
                        "cut",
                        "the upstream broke off in the middle of its answer",
                    ));
                }
            }
        }
    }

    fn pass(&mut self, data: &[u8]) {
        self.account.feed(data);
        if let Some(watch) = &mut self.watch {
            watch.feed(data);
        }
        match self.wrap {
            Wrap::Plain => self.out.extend_from_slice(data),
            Wrap::Chunks => chunk::write(&mut self.out, data),
        }
    }

    /// Whether the message has ended, whatever the connection does.
    fn is_over(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.is_over() && watch.is_between())
    }

    /// The end of the body. A stream that never said that its message ended has not.
    async fn finish(&mut self) -> Result<(), Broken> {
        if self.watch.as_ref().is_some_and(|watch| watch.has_started() && !watch.is_over()) {
            self.flush().await?;
            return Err(Broken::Upstream("cut", "the upstream ended its answer in the middle of a message"));
        }
        if self.wrap == Wrap::Chunks {
            self.out.extend_from_slice(chunk::LAST);
        }
        self.flush().await
    }

    async fn flush(&mut self) -> Result<(), Broken> {
        if !self.out.is_empty() {
            match timeout(STALL, self.line.send(&self.out)).await {
                Ok(Ok(())) => self.out.clear(),
                _ => return Err(Broken::Client),
            }
        }
        Ok(())
    }

    /// Waits for more of the answer; signs of life go out meanwhile. 0 is the end.
    async fn more(&mut self, sent: &mut Sent) -> Result<usize, Broken> {
        if self.is_over() {
            self.timer.as_mut().reset(Instant::now() + TAIL);
        }
        loop {
            let timer = &mut self.timer;
            let line = &mut *self.line;
            let next: Option<Result<io::Result<usize>, ()>> = poll_fn(|cx| {
                if let Poll::Ready(read) = sent.line().poll_fill(cx) {
                    return Poll::Ready(Some(Ok(read)));
                }
                if line.poll_gone(cx).is_ready() {
                    return Poll::Ready(Some(Err(())));
                }
                timer.as_mut().poll(cx).map(|()| None)
            })
            .await;
            match next {
                Some(Ok(Ok(count))) => return Ok(count),
                Some(Ok(Err(_))) => return Ok(0),
                Some(Err(())) => return Err(Broken::Client),
                None => {
                    if self.tick().await? {
                        return Ok(0);
                    }
                }
            }
        }
    }

    /// Time has passed. Tells whether the message is over and its connection is not.
    async fn tick(&mut self) -> Result<bool, Broken> {
        let now = Instant::now();
        let silent = now.duration_since(self.heard);
        if self.is_over() && silent >= TAIL {
            return Ok(true);
        }
        if now.duration_since(self.began) >= self.timeouts.total {
            return Err(Broken::Upstream("deadline", "the answer took too long"));
        }
        if silent >= self.timeouts.idle {
            return Err(Broken::Upstream("idle", "the upstream fell silent"));
        }
        if silent >= self.timeouts.ping
            && self.wrap == Wrap::Chunks
            && let Some(watch) = &self.watch
        {
            let sign = match (watch.is_between(), watch.is_line_start()) {
                (true, _) => events::PING,
                (false, true) => events::COMMENT,
                (false, false) => b"",
            };
            chunk::write(&mut self.out, sign);
            self.flush().await?;
        }
        let pause = if self.is_over() { TAIL } else { self.timeouts.ping };
        self.timer.as_mut().reset(now + pause);
        Ok(false)
    }

    /// Tells the client that the answer broke off. What cannot be told in words is told by an unclean end.
    async fn broken(&mut self, id: &str, why: &str) {
        let Some(watch) = &self.watch else { return };
        if self.wrap == Wrap::Plain || watch.is_over() {
            return;
        }
        let error = reply::error(502, why, id);
        let gap = if watch.is_between() { &b""[..] } else { events::BREAK };
        let mut event = gap.to_vec();
        event.extend_from_slice(format!("event: error\ndata: {error}\n\n").as_bytes());
        chunk::write(&mut self.out, &event);
        self.out.extend_from_slice(chunk::LAST);
        let _ = self.flush().await;
    }
}
