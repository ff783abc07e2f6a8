//! A scripted upstream on a loopback port: it keeps every request as it came, and answers as its script says.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The head, its empty line included.
    pub head: String,
    /// The body, without its framing.
    pub body: Vec<u8>,
}

impl Seen {
    /// The value of a field.
    pub fn field(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.filter(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
    }
}

/// What becomes of the connection behind an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Then {
    /// It stays.
    Keep,
    /// It ends.
    Close,
}

/// The other side of a connection.
pub trait Wire: Read + Write + Send {}

impl<W: Read + Write + Send> Wire for W {}

/// What is done with a request: anything may be written, or nothing.
pub type Script = dyn Fn(&Seen, &mut dyn Wire) -> io::Result<Then> + Send + Sync;

/// The upstream.
pub struct Upstream {
    /// Its port.
    pub port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<AtomicUsize>,
}

impl Upstream {
    /// An upstream that answers so.
    pub fn start(script: impl Fn(&Seen, &mut dyn Wire) -> io::Result<Then> + Send + Sync + 'static) -> Self {
        Self::start_behind(script, |stream| Some(Box::new(stream)))
    }

    /// An upstream whose connections are wrapped so: in TLS, for example.
    pub fn start_behind(
        script: impl Fn(&Seen, &mut dyn Wire) -> io::Result<Then> + Send + Sync + 'static,
        wrap: impl Fn(TcpStream) -> Option<Box<dyn Wire>> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (seen, connections) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let (script, wrap): (Arc<Script>, _) = (Arc::new(script), Arc::new(wrap));
        let upstream = Self { port, seen: Arc::clone(&seen), connections: Arc::clone(&connections) };
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                connections.fetch_add(1, Ordering::SeqCst);
                let (script, seen, wrap) = (Arc::clone(&script), Arc::clone(&seen), Arc::clone(&wrap));
                let serving = thread::Builder::new().stack_size(256 << 10);
                serving
                    .spawn(move || {
                        stream.set_nodelay(true).unwrap();
                        if let Some(mut wire) = wrap(stream) {
                            let _ = serve(wire.as_mut(), &*script, &seen);
                        }
                    })
                    .unwrap();
            }
        });
        upstream
    }

    /// An upstream that always gives this answer.
    pub fn saying(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |_, wire| {
            wire.write_all(&answer)?;
            Ok(Then::Keep)
        })
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// All requests until now.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The only request until now.
    #[track_caller]
    pub fn only(&self) -> Seen {
        let seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen[0].clone()
    }

    /// How many connections there were.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

fn serve(wire: &mut dyn Wire, script: &Script, seen: &Mutex<Vec<Seen>>) -> io::Result<()> {
    let mut inbox = Vec::new();
    loop {
        let end = loop {
            if let Some(end) = memchr::memmem::find(&inbox, b"\r\n\r\n") {
                break end + 4;
            }
            more(wire, &mut inbox)?;
        };
        let head = String::from_utf8(inbox.drain(..end).collect()).map_err(io::Error::other)?;
        let mut request = Seen { head, body: Vec::new() };
        // A chunked request would be ours to refuse: the gateway always tells a length.
        let length: usize = request.field("content-length").map_or(0, |length| length.parse().unwrap());
        assert_eq!(request.field("transfer-encoding"), None, "{}", request.head);
        while inbox.len() < length {
            more(wire, &mut inbox)?;
        }
        request.body = inbox.drain(..length).collect();
        seen.lock().unwrap().push(request.clone());
        let then = script(&request, wire)?;
        wire.flush()?;
        if then == Then::Close {
            return Ok(());
        }
    }
}

fn more(wire: &mut dyn Wire, inbox: &mut Vec<u8>) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    match wire.read(&mut buffer)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        count => {
            inbox.extend_from_slice(&buffer[..count]);
            Ok(())
        }
    }
}

/// An answer with a length.
pub fn json(status: &str, fields: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{fields}Content-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// The head of a stream.
pub const EVENTS: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n";

/// A chunk.
pub fn chunk(data: &str) -> String {
    format!("{:x}\r\n{data}\r\n", data.len())
}

/// The first event of a message.
pub fn start_event() -> String {
    let message = r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"usage":{"input_tokens":5,"output_tokens":1}}"#;
    format!("event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{message}}}\n\n")
}

/// A piece of text.
pub fn delta_event(text: &str) -> String {
    format!(
        "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}}}\n\n"
    )
}

/// The last event of a message.
pub fn stop_event() -> String {
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n".to_owned()
}
