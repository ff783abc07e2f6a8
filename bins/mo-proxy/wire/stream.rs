//! A socket of any kind: TCP, unix, or TLS over TCP.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::client::TlsStream;

/// The socket.
#[derive(Debug)]
pub enum Stream {
    /// Plain TCP.
    Tcp(TcpStream),
    /// A socket in the file system.
    Unix(UnixStream),
    /// TLS, with us as its client.
    Tls(Box<TlsStream<TcpStream>>),
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(inner) => Pin::new(inner).poll_read(cx, into),
            Self::Unix(inner) => Pin::new(inner).poll_read(cx, into),
            Self::Tls(inner) => Pin::new(inner.as_mut()).poll_read(cx, into),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(inner) => Pin::new(inner).poll_write(cx, bytes),
            Self::Unix(inner) => Pin::new(inner).poll_write(cx, bytes),
            Self::Tls(inner) => Pin::new(inner.as_mut()).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(inner) => Pin::new(inner).poll_write_vectored(cx, pieces),
            Self::Unix(inner) => Pin::new(inner).poll_write_vectored(cx, pieces),
            Self::Tls(inner) => Pin::new(inner.as_mut()).poll_write_vectored(cx, pieces),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(inner) => Pin::new(inner).poll_flush(cx),
            Self::Unix(inner) => Pin::new(inner).poll_flush(cx),
            Self::Tls(inner) => Pin::new(inner.as_mut()).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(inner) => Pin::new(inner).poll_shutdown(cx),
            Self::Unix(inner) => Pin::new(inner).poll_shutdown(cx),
            Self::Tls(inner) => Pin::new(inner.as_mut()).poll_shutdown(cx),
        }
    }
}
