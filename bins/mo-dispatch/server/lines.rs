//! The client's side of standard input and output: one JSON message a line. Reading and writing have a thread each,
//! because a pipe that nobody empties must not hold up the tasks. What is no message is answered as the protocol asks.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ErrorData, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::mpsc as queue;

/// The longest message that is read; a task's prompt is far shorter.
const LONGEST: u64 = 16 << 20;
/// What the threads need: they hold no frames of ours to speak of.
const STACK: usize = 256 << 10;

/// How long the last words may take to leave.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What the writing thread is given.
enum Out {
    /// A line.
    Line(Vec<u8>),
    /// Tell when everything before this is written.
    Mark(mpsc::Sender<()>),
}

/// What stands in one line.
#[derive(Debug)]
enum Line {
    /// A message for the protocol.
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    /// Nothing that has to be answered.
    Nothing,
    /// No message: the answer, and to which request where that can be told.
    Wrong(ErrorData, Option<RequestId>),
}

/// The transport over standard input and output.
#[derive(Debug)]
pub struct Lines {
    incoming: queue::UnboundedReceiver<RxJsonRpcMessage<RoleServer>>,
    outgoing: mpsc::Sender<Out>,
}

impl Lines {
    /// Starts reading and writing; `ended` is called when the client has closed its side, `deaf` when it reads no more.
    pub fn start(
        ended: impl FnOnce() + Send + 'static,
        deaf: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let (to_us, incoming) = queue::unbounded_channel();
        let (outgoing, to_client) = mpsc::channel::<Out>();
        let answers = outgoing.clone();
        thread::Builder::new().name("reader".into()).stack_size(STACK).spawn(move || {
            read(&mut BufReader::new(io::stdin()), &to_us, &answers);
            ended();
        })?;
        thread::Builder::new().name("writer".into()).stack_size(STACK).spawn(move || {
            let mut stdout = io::stdout();
            for out in to_client {
                let written = match out {
                    Out::Line(line) => stdout.write_all(&line).and_then(|()| stdout.flush()).is_ok(),
                    Out::Mark(done) => done.send(()).is_ok(),
                };
                if !written {
                    // What still comes is thrown away.
                    deaf();
                    return;
                }
            }
        })?;
        Ok(Self { incoming, outgoing })
    }
}

/// Reads until the end, in bounded memory.
fn read(
    input: &mut impl BufRead,
    to_us: &queue::UnboundedSender<RxJsonRpcMessage<RoleServer>>,
    answers: &mpsc::Sender<Out>,
) {
    let mut line = Vec::new();
    let mut begun = false;
    loop {
        line.clear();
        match input.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let parsed = if line.len() as u64 >= LONGEST && !line.ends_with(b"\n") {
            if skip_line(input).is_err() {
                return;
            }
            Line::Wrong(ErrorData::invalid_request("the message is longer than 16 MiB", None), None)
        } else {
            parse(&line, &mut begun)
        };
        let sent = match parsed {
            Line::Nothing => Ok(()),
            Line::Message(message) => to_us.send(*message).map_err(|_| ()),
            Line::Wrong(error, id) => answers.send(Out::Line(refused(&error, id.as_ref()))).map_err(|_| ()),
        };
        if sent.is_err() {
            return;
        }
    }
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let piece = input.fill_buf()?;
        let (used, ends) = match memchr::memchr(b'\n', piece) {
            Some(at) => (at + 1, true),
            None => (piece.len(), piece.is_empty()),
        };
        input.consume(used);
        if ends {
            return Ok(());
        }
    }
}

fn parse(line: &[u8], begun: &mut bool) -> Line {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Line::Nothing;
    }
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(_) => return Line::Wrong(ErrorData::parse_error("not JSON", None), None),
    };
    let is_request = value.get("id").is_some_and(|id| !id.is_null());
    let Some(method) = value.get("method").and_then(Value::as_str) else {
        // An answer to something we never asked is nothing to us; anything else is no message.
        let is_answer = is_request && (value.get("result").is_some() || value.get("error").is_some());
        let what = "a message is one object with `jsonrpc`, `method` and, where it is a request, `id`";
        if is_answer {
            return Line::Nothing;
        }
        return Line::Wrong(ErrorData::invalid_request(what, None), None);
    };
    // Before its first request a client has nothing to notify us of.
    if !is_request && !*begun {
        return Line::Nothing;
    }
    *begun |= method == "initialize";
    let id = value.get("id").cloned().and_then(|id| serde_json::from_value(id).ok());
    match serde_json::from_value(value) {
        Ok(message) => Line::Message(Box::new(message)),
        // A notification that we do not understand needs no answer.
        Err(_) if !is_request => Line::Nothing,
        Err(_) => {
            Line::Wrong(ErrorData::invalid_request("the request is not as the protocol has it", None), id)
        }
    }
}

/// The answer to what is no message. JSON-RPC wants `id` in it also where it could not be read, as null; the
/// library's own type leaves it out then.
fn refused(error: &ErrorData, id: Option<&RequestId>) -> Vec<u8> {
    let answer = serde_json::json!({"jsonrpc": "2.0", "id": id, "error": error});
    format!("{answer}\n").into_bytes()
}

fn written(message: &TxJsonRpcMessage<RoleServer>) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

impl Transport<RoleServer> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        // Queued here and now, so that messages leave in the order in which they were sent.
        let sent = self.outgoing.send(Out::Line(written(&message))).is_ok();
        std::future::ready(if sent { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) })
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        let (done, written) = mpsc::channel();
        if self.outgoing.send(Out::Mark(done)).is_ok() {
            let _ = written.recv_timeout(LAST_WORDS);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &str) -> Option<i32> {
        match parse(line.as_bytes(), &mut true) {
            Line::Wrong(error, _) => Some(error.code.0),
            Line::Nothing => None,
            Line::Message(_) => Some(0),
        }
    }

    #[test]
    fn what_is_no_message_gets_the_answer_the_protocol_asks_for() {
        assert_eq!(code("not json"), Some(-32700));
        assert_eq!(code("{\"jsonrpc\":\"2.0\""), Some(-32700));
        assert_eq!(code("[]"), Some(-32600));
        assert_eq!(code("{\"jsonrpc\":\"2.0\",\"id\":1}"), Some(-32600));
        assert_eq!(code(""), None);
        assert_eq!(code("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"), None);
        assert_eq!(code("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/whatever\",\"params\":3}"), None);
        assert_eq!(code("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"), Some(0));
        let call = "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\",\"params\":{\"name\":\"x\",\"arguments\":{}}}";
        assert_eq!(code(call), Some(0));
    }

    #[test]
    fn a_message_without_an_end_is_skipped_and_the_next_is_read() {
        let mut input = vec![b'x'; (LONGEST + 10) as usize];
        input.extend_from_slice(b"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
        let (to_us, mut incoming) = queue::unbounded_channel();
        let (answers, to_client) = mpsc::channel();
        read(&mut input.as_slice(), &to_us, &answers);
        assert!(incoming.try_recv().is_ok());
        let Out::Line(line) = to_client.try_recv().unwrap() else { panic!("a line") };
        assert!(String::from_utf8(line).unwrap().contains("16 MiB"));
    }

    #[test]
    fn every_refusal_names_the_request_or_null() {
        let deep =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{}", "[".repeat(100_000));
        for (line, id) in [
            (deep.as_str(), Value::Null),
            ("[]", Value::Null),
            ("{\"jsonrpc\":\"1.0\",\"id\":7,\"method\":\"ping\"}", 7.into()),
        ] {
            let (to_us, _incoming) = queue::unbounded_channel();
            let (answers, to_client) = mpsc::channel();
            read(&mut format!("{line}\n").as_bytes(), &to_us, &answers);
            let Out::Line(answer) = to_client.try_recv().unwrap() else { panic!("a line") };
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            assert_eq!(answer.get("id"), Some(&id), "{answer}");
            assert!(answer["error"]["code"].is_i64() && answer["jsonrpc"] == "2.0", "{answer}");
        }
    }
}
