//! Serving: what a path answers, the checks a real API makes, the delivery, the account.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, BufReader, ErrorKind, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::account::{Served, Usage};
use super::answer::{Answer, Block, Body, error_document};
use super::events::{Message, line};
use super::http::{self, Head, Pieces};
use super::request::Request;
use super::script::{self, Faults};
use super::setup::Setup;

type Rule = Box<dyn Fn(&Request) -> Option<Answer> + Send + Sync>;
type Observer = Box<dyn Fn(&Request, Option<&Served>) + Send + Sync>;

/// How often a hanging answer looks whether its client is still there.
const GLANCE: Duration = Duration::from_millis(20);

/// Numbers the messages of this process, over all its providers: an id must never come twice.
static MESSAGES: AtomicU64 = AtomicU64::new(1);

/// Everything the threads of one provider share.
pub(super) struct State {
    pub(super) setup: Setup,
    started: Instant,
    stopping: Mutex<bool>,
    stopped: Condvar,
    clients: Mutex<Vec<TcpStream>>,
    requests: Mutex<Vec<Request>>,
    served: Mutex<Vec<Served>>,
    rules: Mutex<Vec<Rule>>,
    queue: Mutex<VecDeque<Answer>>,
    faults: Mutex<Faults>,
    observers: Mutex<Vec<Observer>>,
}

impl fmt::Debug for State {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("State").field("setup", &self.setup).finish_non_exhaustive()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    pub(super) fn new(setup: Setup) -> Self {
        Self {
            setup,
            started: Instant::now(),
            stopping: Mutex::new(false),
            stopped: Condvar::new(),
            clients: Mutex::default(),
            requests: Mutex::default(),
            served: Mutex::default(),
            rules: Mutex::default(),
            queue: Mutex::default(),
            faults: Mutex::default(),
            observers: Mutex::default(),
        }
    }

    pub(super) fn add_rule(&self, rule: Rule) {
        locked(&self.rules).push(rule);
    }

    pub(super) fn add_observer(&self, observer: Observer) {
        locked(&self.observers).push(observer);
    }

    pub(super) fn queue(&self, answer: Answer) {
        locked(&self.queue).push_back(answer);
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        locked(&self.requests).clone()
    }

    pub(super) fn served(&self) -> Vec<Served> {
        locked(&self.served).clone()
    }

    pub(super) fn is_stopping(&self) -> bool {
        *locked(&self.stopping)
    }

    pub(super) fn stop(&self) {
        *locked(&self.stopping) = true;
        self.stopped.notify_all();
        for client in locked(&self.clients).drain(..) {
            let _ = client.shutdown(Shutdown::Both);
        }
    }

    /// Waits, but not beyond the provider's end.
    fn nap(&self, time: Duration) {
        if !time.is_zero() {
            let _ = self.stopped.wait_timeout_while(locked(&self.stopping), time, |stopping| !*stopping);
        }
    }

    /// Serves one client until it leaves.
    pub(super) fn serve(&self, mut client: TcpStream) {
        let _ = client.set_nodelay(true);
        let (Ok(reading), Ok(kept)) = (client.try_clone(), client.try_clone()) else { return };
        locked(&self.clients).push(kept);
        let mut reading = BufReader::new(reading);
        while !self.is_stopping() {
            let Ok(Some(wire)) = http::read(&mut reading, &mut client) else { break };
            let request = Request::new(wire, self.started.elapsed());
            let place = {
                let mut requests = locked(&self.requests);
                requests.push(request.clone());
                requests.len() - 1
            };
            if self.reply(&mut client, request, place).is_err() {
                break;
            }
        }
        let _ = client.shutdown(Shutdown::Both);
    }

    fn reply(&self, client: &mut TcpStream, mut request: Request, place: usize) -> io::Result<()> {
        let answer = self.answer(&request);
        self.nap(answer.first_byte_after);
        request.status = answer.status();
        locked(&self.requests)[place].status = request.status;
        let number = MESSAGES.fetch_add(1, Ordering::SeqCst);
        let id = format!("01{:08x}{number:012x}", std::process::id());
        let mut head = Head {
            status: request.status,
            headers: answer.headers.clone(),
            gzip: self.setup.gzip
                && request.header("accept-encoding").is_some_and(|value| value.contains("gzip")),
            bodiless: request.method == "HEAD",
        };
        if self.setup.request_ids {
            head.headers.push(("request-id".into(), format!("req_{id}")));
        }
        let mut typed = |kind: &str| head.headers.push(("content-type".into(), kind.into()));
        let mut served = None;
        let outcome = match &answer.body {
            Body::Hang => {
                self.hang(client);
                Err(io::Error::from(ErrorKind::ConnectionAborted))
            }
            Body::Page { content_type, text, .. } => {
                typed(content_type);
                http::whole(client, &head, text.as_bytes())
            }
            Body::Failure { kind, message, .. } => {
                typed("application/json");
                let document = error_document(kind, message, &format!("req_{id}"));
                http::whole(client, &head, document.to_string().as_bytes())
            }
            Body::Message(blocks) => {
                let usage = answer.usage.unwrap_or_else(|| Usage::of_message(number));
                let streaming = request.body["stream"] == true;
                typed(if streaming { "text/event-stream; charset=utf-8" } else { "application/json" });
                let at = self.open_account(&request, &format!("msg_{id}"), usage);
                let outcome = self.message(client, &head, &answer, blocks, at, streaming);
                served = locked(&self.served).get(at).cloned();
                outcome
            }
        };
        for observer in locked(&self.observers).iter() {
            observer(&request, served.as_ref());
        }
        outcome
    }

    /// Enters a message into the account: its input is spent, its output not yet.
    fn open_account(&self, request: &Request, id: &str, usage: Usage) -> usize {
        let mut account = locked(&self.served);
        account.push(Served {
            id: id.into(),
            model: request.model.clone().unwrap_or_default(),
            usage,
            key: request.key.clone().unwrap_or_default(),
            session: request.session.clone(),
            agent: request.agent.clone(),
            complete: false,
        });
        account.len() - 1
    }

    fn message(
        &self,
        client: &mut TcpStream,
        head: &Head,
        answer: &Answer,
        blocks: &[Block],
        at: usize,
        streaming: bool,
    ) -> io::Result<()> {
        let Served { id, model, usage, .. } = locked(&self.served)[at].clone();
        let message = Message { id: &id, model: &model, blocks, usage };
        // Until the end is out, the client knows of one token of output only.
        locked(&self.served)[at].usage.output = 1;
        if streaming {
            let events = message.events();
            let sent = if answer.cut { events.len() / 2 } else { events.len() };
            let mut pieces = Pieces::start(client, head)?;
            for (name, data) in &events[..sent] {
                pieces.piece(&line(name, data))?;
                self.nap(answer.pace);
            }
            if answer.cut || self.is_stopping() {
                return Err(ErrorKind::ConnectionAborted.into());
            }
            pieces.finish()?;
        } else {
            let document = message.document().to_string();
            if answer.cut {
                // The length promises more than comes.
                client.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n")?;
                client.write_all(&document.as_bytes()[..document.len() / 2])?;
                return Err(ErrorKind::ConnectionAborted.into());
            }
            http::whole(client, head, document.as_bytes())?;
        }
        let mut account = locked(&self.served);
        account[at].usage = usage;
        account[at].complete = true;
        Ok(())
    }

    /// Waits until the client or the provider gives up.
    fn hang(&self, client: &TcpStream) {
        let _ = client.set_read_timeout(Some(GLANCE));
        while !self.is_stopping() {
            match client.peek(&mut [0]) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                _ => break,
            }
        }
    }

    fn answer(&self, request: &Request) -> Answer {
        let Some(path) = request.path.strip_prefix(&self.setup.base_path) else { return not_here() };
        match (request.method.as_str(), path) {
            ("GET" | "HEAD", "" | "/") => {
                let text = if self.setup.ollama.is_some() { "Ollama is running" } else { "ok" };
                Answer::page(200, "text/plain", text)
            }
            ("GET", "/api/hello") => json_page(&json!({"message": "hello"})),
            ("GET", "/api/version") if self.setup.ollama.is_some() => {
                json_page(&json!({"version": self.setup.ollama}))
            }
            ("GET", "/api/tags") if self.setup.ollama.is_some() => {
                let pulled = self.setup.models.iter().map(|name| json!({"name": name, "model": name}));
                json_page(&json!({"models": pulled.collect::<Vec<_>>()}))
            }
            ("GET", "/v1/models") => self.unauthorized(request).unwrap_or_else(|| {
                let models = self.setup.models.iter().map(|id| json!({"type": "model", "id": id}));
                json_page(&json!({"data": models.collect::<Vec<_>>(), "has_more": false}))
            }),
            ("POST", "/v1/messages/count_tokens") => self.refused(request).unwrap_or_else(|| {
                let size = request.body.to_string().len() as u64;
                json_page(&json!({"input_tokens": size / 4}))
            }),
            ("POST", "/v1/messages") => self.refused(request).unwrap_or_else(|| self.scripted(request)),
            (_, "/v1/messages" | "/v1/messages/count_tokens" | "/v1/models") => {
                Answer::error(405, "invalid_request_error", "Method Not Allowed")
            }
            _ => not_here(),
        }
    }

    fn scripted(&self, request: &Request) -> Answer {
        let by_rule = locked(&self.rules).iter().rev().find_map(|rule| rule(request));
        let answer = by_rule.or_else(|| locked(&self.queue).pop_front());
        answer.unwrap_or_else(|| script::answer(request, &mut locked(&self.faults)))
    }

    fn unauthorized(&self, request: &Request) -> Option<Answer> {
        match request.key.as_deref().filter(|key| !key.is_empty()) {
            None => Some(Answer::error(401, "authentication_error", "x-api-key header is required")),
            Some(key) if self.setup.keys.is_empty() || self.setup.keys.iter().any(|known| known == key) => {
                None
            }
            Some(_) => Some(Answer::fail(401)),
        }
    }

    /// What a real API checks before a model sees anything.
    fn refused(&self, request: &Request) -> Option<Answer> {
        if let Some(answer) = self.unauthorized(request) {
            return Some(answer);
        }
        let invalid = |what: &str| Some(Answer::error(400, "invalid_request_error", what));
        if request.header("anthropic-version").is_none() {
            return invalid("anthropic-version: header is required");
        }
        let Some(model) = request.model.as_deref() else { return invalid("model: field required") };
        if request.messages().is_empty() {
            return invalid("messages: at least one message is required");
        }
        if request.is_message() && request.body["max_tokens"].as_u64().is_none_or(|count| count == 0) {
            return invalid("max_tokens: must be at least 1");
        }
        if let Some(what) = broken_pair(request.messages()) {
            return invalid(&what);
        }
        let known = self.setup.models.is_empty() || self.setup.models.iter().any(|known| known == model);
        (!known).then(|| Answer::error(404, "not_found_error", format!("model: {model}")))
    }
}

/// A tool result must follow the turn that asked for it, and every request for a tool must get one.
fn broken_pair(messages: &[Value]) -> Option<String> {
    fn ids<'a>(message: &'a Value, kind: &str, field: &str) -> Vec<&'a str> {
        let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        let blocks = blocks.iter().filter(|block| block["type"] == kind);
        blocks.filter_map(|block| block[field].as_str()).collect()
    }
    let mut asked = Vec::new();
    for (place, message) in messages.iter().enumerate().filter(|(_, message)| message["role"] != "system") {
        let given = ids(message, "tool_result", "tool_use_id");
        if let Some(id) = given.iter().find(|id| !asked.contains(*id)) {
            return Some(format!(
                "messages.{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}"
            ));
        }
        if let Some(id) = asked.iter().find(|id| !given.contains(*id)) {
            return Some(format!(
                "messages.{place}: `tool_use` ids were found without `tool_result` blocks: {id}"
            ));
        }
        asked = ids(message, "tool_use", "id");
    }
    None
}

fn json_page(document: &Value) -> Answer {
    Answer::page(200, "application/json", document.to_string())
}

fn not_here() -> Answer {
    Answer::page(
        404,
        "text/html",
        "<html>\n<head><title>404 Not Found</title></head>\n<body><h1>404 Not Found</h1></body>\n</html>\n",
    )
}
