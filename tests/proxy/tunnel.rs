//! A proxy as companies have them: it makes tunnels, and says where to. It leads names of the internet to ports
//! of this machine.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The proxy.
pub struct Tunnel {
    /// Its port.
    pub port: u16,
    wishes: Arc<Mutex<Vec<String>>>,
}

impl Tunnel {
    /// A proxy that knows these places.
    pub fn to(places: &[(&str, u16)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let places: BTreeMap<String, u16> =
            places.iter().map(|(name, port)| ((*name).to_owned(), *port)).collect();
        let places = Arc::new(places);
        let wishes = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&wishes);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (places, kept) = (Arc::clone(&places), Arc::clone(&kept));
                thread::spawn(move || serve(stream, &places, &kept));
            }
        });
        Self { port, wishes }
    }

    /// The wishes until now, each its whole head.
    pub fn wishes(&self) -> Vec<String> {
        self.wishes.lock().unwrap().clone()
    }
}

fn serve(mut client: TcpStream, places: &BTreeMap<String, u16>, kept: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        head.extend_from_slice(&byte);
    }
    let head = String::from_utf8(head).map_err(io::Error::other)?;
    let place = head.split(' ').nth(1).unwrap_or_default().to_owned();
    kept.lock().unwrap().push(head);
    let Some(port) = places.get(&place) else {
        return client.write_all(b"HTTP/1.1 403 Forbidden\r\n\r\n");
    };
    let upstream = TcpStream::connect(("127.0.0.1", *port))?;
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    let (from, to) = (client.try_clone()?, upstream.try_clone()?);
    thread::spawn(move || pass(from, to));
    pass(upstream, client);
    Ok(())
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
    let _ = from.shutdown(Shutdown::Read);
}
