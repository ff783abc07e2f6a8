//! The scripted provider: a fast fake of the Messages API on a free loopback port.
//!
//! It behaves like the real thing, errors included, and keeps its own account of what it served. A request for a
//! message is answered by the first that has an answer: a rule given with [`Provider::on`], the queue filled with
//! [`Provider::next`], the directives in the prompt (see [`directive`]), the word a smoke test asks for, `ok`.

mod account;
mod answer;
pub mod base64;
pub mod directive;
mod events;
mod http;
mod plan;
mod request;
mod script;
mod serve;
mod setup;

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

pub use account::{Served, Usage};
pub use answer::{Answer, Block};
pub use request::Request;
use serve::State;
pub use setup::Setup;

use crate::patience::wait_for;

/// A provider that answers until it is dropped.
#[derive(Debug)]
pub struct Provider {
    state: Arc<State>,
    address: SocketAddr,
    accepting: Option<JoinHandle<()>>,
}

impl Provider {
    /// A provider that takes any key and any model.
    #[track_caller]
    pub fn start() -> Self {
        Setup::default().start()
    }

    /// A provider to be set up first.
    pub fn setup() -> Setup {
        Setup::default()
    }

    #[track_caller]
    fn of(setup: Setup) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free loopback port");
        let address = listener.local_addr().expect("its address");
        let state = Arc::new(State::new(setup));
        let ours = Arc::clone(&state);
        let accepting = thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if ours.is_stopping() {
                    break;
                }
                let ours = Arc::clone(&ours);
                thread::spawn(move || ours.serve(client));
            }
        });
        Self { state, address, accepting: Some(accepting) }
    }

    /// The base URL for `ANTHROPIC_BASE_URL`.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.state.setup.base_path)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Answers requests for a message by a rule; the newest rule is asked first, `None` passes the request on.
    pub fn on(&self, rule: impl Fn(&Request) -> Option<Answer> + Send + Sync + 'static) -> &Self {
        self.state.add_rule(Box::new(rule));
        self
    }

    /// Puts an answer at the end of the queue: each answers one request for a message.
    pub fn next(&self, answer: Answer) -> &Self {
        self.state.queue(answer);
        self
    }

    /// Every request until now.
    pub fn requests(&self) -> Vec<Request> {
        self.state.requests()
    }

    /// The requests for a message until now.
    pub fn asked(&self) -> Vec<Request> {
        self.requests().into_iter().filter(Request::is_message).collect()
    }

    /// Every message served until now.
    pub fn served(&self) -> Vec<Served> {
        self.state.served()
    }

    /// The tokens of all messages served until now.
    pub fn total(&self) -> Usage {
        self.served().iter().map(|served| served.usage).sum()
    }

    /// Waits for a request like this.
    #[track_caller]
    pub fn wait_for(&self, what: &str, like: impl Fn(&Request) -> bool) -> Request {
        wait_for(what, || self.requests().into_iter().find(&like))
    }

    /// Tells of every answered request, with the message served if there was one.
    pub fn observe(&self, observer: impl Fn(&Request, Option<&Served>) + Send + Sync + 'static) {
        self.state.add_observer(Box::new(observer));
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.state.stop();
        // Wakes the accepting thread up.
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

#[cfg(test)]
mod tests;
