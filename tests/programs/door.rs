//! A loopback port that behaves as no well-behaved server would: it says fixed bytes, hangs up, or stays silent.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// What the port does with a client.
#[derive(Clone, Debug)]
pub enum Manner {
    /// Reads a little, says this, and hangs up.
    Says(Vec<u8>),
    /// Hangs up at once.
    HangsUp,
    /// Takes the connection and never says a word.
    Silent,
}

/// The port, until it is dropped.
#[derive(Debug)]
pub struct Door {
    address: SocketAddr,
    closing: Arc<AtomicBool>,
    clients: Arc<Mutex<Vec<TcpStream>>>,
    accepting: Option<JoinHandle<()>>,
}

impl Door {
    /// Opens a port.
    pub fn open(manner: Manner) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let closing = Arc::new(AtomicBool::new(false));
        let clients = Arc::new(Mutex::new(Vec::new()));
        let (seen, kept) = (Arc::clone(&closing), Arc::clone(&clients));
        let accepting = thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if seen.load(Ordering::SeqCst) {
                    break;
                }
                serve(client, &manner, &kept);
            }
        });
        Self { address, closing, clients, accepting: Some(accepting) }
    }

    /// A port that answers HTTP with this status line, these header lines and this body.
    pub fn answering(status: &str, headers: &str, body: &str) -> Self {
        let length = body.len();
        let head =
            format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n");
        Self::open(Manner::Says(format!("{head}{body}").into_bytes()))
    }

    /// Its URL.
    pub fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}", self.address)
    }
}

fn serve(mut client: TcpStream, manner: &Manner, kept: &Mutex<Vec<TcpStream>>) {
    match manner {
        Manner::Says(bytes) => {
            // A request that is left unread would turn the answer into a reset.
            let mut request = [0; 4096];
            let _ = client.read(&mut request);
            let _ = client.write_all(bytes);
            let _ = client.shutdown(Shutdown::Write);
            let _ = client.read(&mut request);
        }
        Manner::HangsUp => drop(client),
        Manner::Silent => kept.lock().unwrap().push(client),
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::SeqCst);
        self.clients.lock().unwrap().clear();
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}
