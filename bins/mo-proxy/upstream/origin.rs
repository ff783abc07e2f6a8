//! Where an upstream listens, and below which path.

use shared::base_url::BaseUrl;

/// An upstream's place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Origin {
    /// Whether it is reached through TLS.
    pub https: bool,
    /// Its host; an IPv6 address without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// What its `Host` field says.
    pub authority: String,
    /// The path before every path of the API; empty, or with a slash at its front and none at its end.
    pub prefix: String,
    /// Whether it is this machine.
    pub is_loopback: bool,
}

impl Origin {
    /// The place this URL names.
    pub fn of(url: &BaseUrl) -> Self {
        let host = url.host().as_str();
        let authority = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let path = url.as_str().splitn(4, '/').nth(3).map_or_else(String::new, |path| format!("/{path}"));
        Self {
            https: url.is_https(),
            host: host.trim_matches(['[', ']']).to_owned(),
            port: url.port().unwrap_or(if url.is_https() { 443 } else { 80 }),
            authority,
            prefix: path,
            is_loopback: url.is_loopback(),
        }
    }

    /// Host and port, as a resolver or a proxy wants them.
    pub fn address(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        let origin = |url: &str| Origin::of(&BaseUrl::parse(url).unwrap().url);
        let zai = origin("https://api.z.ai/api/anthropic");
        assert_eq!((zai.address().as_str(), zai.prefix.as_str()), ("api.z.ai:443", "/api/anthropic"));
        let local = origin("http://[::1]:1234");
        assert_eq!((local.host.as_str(), local.address().as_str()), ("::1", "[::1]:1234"));
        assert_eq!((local.authority.as_str(), local.prefix.as_str()), ("[::1]:1234", ""));
    }
}
