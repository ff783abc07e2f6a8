//! Where the gateway listens: a loopback port, or a unix socket for its owner alone.

use std::fs::{self, Permissions};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use shared::args::Matches;
use shared::error::{Error, Result};
use shared::exit::Exit;
use tokio::net::{TcpListener, UnixListener, UnixStream};

use crate::config::Listen;
use crate::wire::line::Line;
use crate::wire::stream::Stream;

/// A pause when the system has no descriptor left for another connection.
const PAUSE: Duration = Duration::from_millis(50);

/// Where to listen.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Place {
    /// A port of a loopback address; 0 is any that is free.
    Port(IpAddr, u16),
    /// A unix socket.
    Socket(PathBuf),
}

impl Place {
    /// What the command line says, else the configuration.
    pub fn of(matches: &Matches, listen: &Listen) -> Result<Self> {
        let address = match listen {
            Listen::Loopback(address, _) => *address,
            Listen::Socket(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        };
        match (matches.value("port"), matches.value("socket"), listen) {
            (Some(_), Some(_), _) => Err(Error::new(Exit::Usage, "either --port or --socket, not both")),
            (None, Some(path), _) => Ok(Self::Socket(PathBuf::from(path))),
            (Some(port), None, _) => port.parse().map(|port| Self::Port(address, port)).map_err(|_| {
                Error::new(Exit::Usage, "--port takes a number from 0 to 65535").hint("0 means any free port")
            }),
            (None, None, Listen::Loopback(address, port)) => Ok(Self::Port(*address, *port)),
            (None, None, Listen::Socket(path)) => Ok(Self::Socket(path.clone())),
        }
    }
}

/// A bound listener.
#[derive(Debug)]
pub enum Listener {
    /// On a port.
    Tcp(TcpListener, String),
    /// On a unix socket.
    Unix(UnixListener, PathBuf),
}

impl Listener {
    /// Listens there. A place that is taken is an error.
    pub async fn bind(place: &Place) -> Result<Self> {
        match place {
            Place::Port(address, port) => {
                let failed = |error: io::Error| {
                    Error::new(Exit::Io, format!("cannot listen on {}", SocketAddr::new(*address, *port)))
                        .because(&error)
                        .hint("another program listens there; --port names another port, 0 any free one")
                };
                let listener = TcpListener::bind((*address, *port)).await.map_err(failed)?;
                let address = listener.local_addr().map_err(failed)?.to_string();
                Ok(Self::Tcp(listener, address))
            }
            Place::Socket(path) => {
                clear(path).await?;
                let failed = |error: io::Error| Error::io("cannot listen on", path, &error);
                let listener = UnixListener::bind(path).map_err(failed)?;
                fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
                Ok(Self::Unix(listener, path.clone()))
            }
        }
    }

    /// The address that clients connect to.
    pub fn address(&self) -> String {
        match self {
            Self::Tcp(_, address) => address.clone(),
            Self::Unix(_, path) => format!("unix:{}", path.display()),
        }
    }

    /// The next connection; none when the system could not give it to us.
    pub async fn next(&mut self) -> Option<Line> {
        let accepted = match self {
            Self::Tcp(listener, _) => listener.accept().await.and_then(|(stream, _)| {
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }),
            Self::Unix(listener, _) => listener.accept().await.map(|(stream, _)| Stream::Unix(stream)),
        };
        match accepted {
            Ok(stream) => Some(Line::new(stream)),
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => None,
            Err(_) => {
                tokio::time::sleep(PAUSE).await;
                None
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            // What we bound is ours to take away; one that is gone is what we want.
            let _ = fs::remove_file(path);
        }
    }
}

/// Takes away a socket that nobody listens on any more; nothing else is touched.
async fn clear(path: &Path) -> Result<()> {
    let Ok(meta) = fs::symlink_metadata(path) else { return Ok(()) };
    if !meta.file_type().is_socket() || UnixStream::connect(path).await.is_ok() {
        return Err(Error::new(Exit::Io, "cannot listen on")
            .at(path)
            .caused_by("it is taken")
            .hint("another program listens there, or it is no socket: name another path"));
    }
    fs::remove_file(path).map_err(|error| Error::io("cannot replace", path, &error))
}
