//! Anthropic: what the client sent goes there as it came, its credentials included, and nowhere else.

use std::sync::Arc;

use shared::base_url::BaseUrl;
use shared::error::{Error, Result};
use shared::exit::Exit;

use super::dialer::Dialer;
use super::origin::Origin;
use super::outgoing::Outgoing;
use super::pool::Pool;
use crate::wire::field::{self, Kind};
use crate::wire::framing::{self, Framing};
use crate::wire::head::Head;

/// Where Anthropic's API is.
const API: &str = "https://api.anthropic.com";

/// Opens a client's credentials. There is one in each [`Anthropic`], and no other way to get one.
pub struct Seal(());

/// Anthropic's API.
pub struct Anthropic {
    pool: Arc<Pool>,
    seal: Seal,
}

impl Anthropic {
    /// The API, or a stand-in for it on this machine that a test or a bench names in the environment.
    /// No configuration can name another host.
    pub fn new(dialer: Arc<Dialer>, stand_in: Option<&str>) -> Result<Self> {
        let url = BaseUrl::parse(stand_in.unwrap_or(API))?.url;
        let is_theirs = url.is_https() && url.is_anthropic();
        if !is_theirs && !url.is_loopback() {
            return Err(Error::new(
                Exit::Config,
                format!("{} must not get the login of a Claude subscription", url.host()),
            )
            .hint("a stand-in for Anthropic's API must be on this machine"));
        }
        Ok(Self { pool: Pool::new(Origin::of(&url), dialer), seal: Seal(()) })
    }

    /// Its connections.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// The request as it came: every field in its order and case, but what belongs to one connection alone.
    pub fn outgoing(&self, head: &Head, body: usize) -> Outgoing {
        let origin = self.pool.origin();
        let mut out = Vec::with_capacity(2 << 10);
        let (method, target) = (head.method(), head.target());
        for part in [method, " ", &origin.prefix, target, " HTTP/1.1\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        let mut length_is_told = false;
        let mut host_is_told = false;
        for (name, value, kind) in head.credentials(&self.seal) {
            match kind {
                Kind::Host => {
                    host_is_told = true;
                    field::write(&mut out, name, origin.authority.as_bytes());
                }
                Kind::Length => {
                    length_is_told = true;
                    // The name of a role is another length than its model's.
                    let length = body.to_string();
                    let kept = framing::length(value) == Some(body as u64);
                    field::write(&mut out, name, if kept { value } else { length.as_bytes() });
                }
                Kind::Plain | Kind::Credential => field::write(&mut out, name, value),
                Kind::Coding | Kind::Connection | Kind::Expect | Kind::Hop | Kind::Token => {}
            }
        }
        if !host_is_told {
            field::write(&mut out, b"Host", origin.authority.as_bytes());
        }
        if !length_is_told && head.framing() != Framing::None {
            field::write(&mut out, b"Content-Length", body.to_string().as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        Outgoing::new(Arc::clone(&self.pool), out, method == "HEAD")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::env::Env;

    #[test]
    fn no_other_host_can_stand_in_for_anthropic() {
        let made = |url: &str| Anthropic::new(Arc::new(Dialer::new(&Env::default())), Some(url)).is_ok();
        for url in ["https://api.anthropic.com", "http://127.0.0.1:1", "https://localhost:2"] {
            assert!(made(url), "{url}");
        }
        for url in [
            "http://api.anthropic.com",
            "https://api.z.ai",
            "https://api.anthropic.com.evil.example",
            "https://10.0.0.1",
            "http://localhost.example",
        ] {
            assert!(!made(url), "{url}");
        }
    }
}
