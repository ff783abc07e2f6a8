//! Where the gateway listens: a loopback port, or a unix socket for its owner alone.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use shared::args::Matches;
use shared::error::{Error, Result};
use shared::exit::Exit;
use tokio::net::{TcpListener, UnixListener, UnixStream};

use crate::wire::line::Line;
use crate::wire::stream::Stream;

/// The usual port.
const PORT: u16 = 3457;
/// A pause when the system has no descriptor left for another connection.
const PAUSE: Duration = Duration::from_millis(50);

/// Where to listen.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Place {
    /// A port of 127.0.0.1; 0 is any that is free.
    Port(u16),
    /// A unix socket.
    Socket(PathBuf),
}

impl Place {
    /// What the command line says.
    pub fn of(matches: &Matches) -> Result<Self> {
        match (matches.value("port"), matches.value("socket")) {
            (Some(_), Some(_)) => Err(Error::new(Exit::Usage, "either --port or --socket, not both")),
            (None, Some(path)) => Ok(Self::Socket(PathBuf::from(path))),
            (None, None) => Ok(Self::Port(PORT)),
            (Some(port), None) => port.parse().map(Self::Port).map_err(|_| {
                Error::new(Exit::Usage, "--port takes a number from 0 to 65535").hint("0 means any free port")
            }),
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
            Place::Port(port) => {
                let failed = |error: io::Error| {
                    Error::new(Exit::Io, format!("cannot listen on 127.0.0.1:{port}"))
                        .because(&error)
                        .hint("another program listens there; --port names another port, 0 any free one")
                };
                let listener = TcpListener::bind(("127.0.0.1", *port)).await.map_err(failed)?;
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
