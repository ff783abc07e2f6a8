//! The proxies of a company's network: HTTPS_PROXY, HTTP_PROXY and NO_PROXY, and the tunnel through one.

use std::fmt::Write as _;

use shared::env::Env;
use shared::host::Host;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::origin::Origin;

/// The longest answer of a proxy to our wish for a tunnel.
const LONGEST_ANSWER: usize = 8 << 10;

/// The proxies that the environment names.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    https: Option<Proxy>,
    http: Option<Proxy>,
    none: Vec<String>,
}

/// A proxy.
#[derive(Clone, Eq, PartialEq)]
pub struct Proxy {
    /// Host and port.
    pub address: String,
    authorization: Option<String>,
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.address)
    }
}

impl Proxies {
    /// What the variables say. Names in small letters come first, as with curl.
    pub fn of(env: &Env) -> Self {
        let either = |small: &str, large: &str| env.text(small).or_else(|| env.text(large));
        let none = either("no_proxy", "NO_PROXY").unwrap_or_default();
        let none = none.split([',', ' ']).map(|host| host.trim().to_ascii_lowercase());
        Self {
            https: either("https_proxy", "HTTPS_PROXY").and_then(Proxy::parse),
            http: either("http_proxy", "HTTP_PROXY").and_then(Proxy::parse),
            none: none.filter(|host| !host.is_empty()).collect(),
        }
    }

    /// The proxy on the way to this place. This machine needs none.
    pub fn to(&self, origin: &Origin) -> Option<&Proxy> {
        if origin.is_loopback || self.none.iter().any(|rule| excepts(rule, origin)) {
            return None;
        }
        if origin.https { self.https.as_ref() } else { self.http.as_ref() }
    }
}

fn excepts(rule: &str, origin: &Origin) -> bool {
    let (name, port) = match rule.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.contains(':') => {
            (name, port.parse().ok())
        }
        _ => (rule, None),
    };
    let name = name.trim_start_matches('*').trim_start_matches('.').trim_matches(['[', ']']);
    let fits = rule == "*"
        || origin.host == name
        || origin.host.strip_suffix(name).is_some_and(|before| before.ends_with('.'));
    fits && port.is_none_or(|port: u16| port == origin.port)
}

impl Proxy {
    fn parse(text: &str) -> Option<Self> {
        let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
        let rest = rest.split('/').next().unwrap_or_default();
        let (login, address) = match rest.rsplit_once('@') {
            Some((login, address)) => (Some(login), address),
            None => (None, rest),
        };
        let (host, port) = match address.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
            _ => (address, 80),
        };
        Host::parse(host)?;
        let authorization = login.map(|login| format!("Basic {}", base64(&unescaped(login))));
        Some(Self { address: format!("{host}:{port}"), authorization })
    }

    /// Asks for a tunnel to this place on a connection to the proxy.
    pub async fn tunnel(&self, stream: &mut TcpStream, origin: &Origin) -> Result<(), String> {
        let address = origin.address();
        let mut wish = format!("CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n");
        if let Some(authorization) = &self.authorization {
            let _ = write!(wish, "Proxy-Authorization: {authorization}\r\n");
        }
        wish.push_str("\r\n");
        let lost = |error: std::io::Error| format!("the proxy {} hung up: {error}", self.address);
        stream.write_all(wish.as_bytes()).await.map_err(lost)?;
        let mut answer = Vec::new();
        // Byte by byte: what follows the head belongs to the tunnel.
        while !answer.ends_with(b"\r\n\r\n") {
            if answer.len() >= LONGEST_ANSWER {
                return Err(format!("the proxy {} does not speak HTTP", self.address));
            }
            answer.push(stream.read_u8().await.map_err(lost)?);
        }
        let line = String::from_utf8_lossy(answer.split(|byte| *byte == b'\r').next().unwrap_or_default());
        match line.split(' ').nth(1) {
            Some("200") => Ok(()),
            status => Err(format!("the proxy {} refused with {}", self.address, status.unwrap_or("nothing"))),
        }
    }
}

fn unescaped(login: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(login.len());
    let mut rest = login.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| byte == b'%');
        let code = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(byte));
        rest = if code.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    bytes
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let number = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let letter = LETTERS.get((number >> (18 - 6 * place) & 63) as usize).copied().unwrap_or(b'=');
            text.push(if place <= group.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::base_url::BaseUrl;

    fn to(variables: &[(&str, &str)], url: &str) -> Option<String> {
        let proxies = Proxies::of(&variables.iter().copied().collect());
        proxies.to(&Origin::of(&BaseUrl::parse(url).unwrap().url)).map(|proxy| proxy.address.clone())
    }

    #[test]
    fn the_environment_names_the_proxy() {
        let proxy =
            [("HTTPS_PROXY", "http://p.example:3128/"), ("NO_PROXY", "api.z.ai, .corp.example,h:8443")];
        for (url, through) in [
            ("https://api.anthropic.com", true),
            ("https://api.z.ai/x", false),
            ("https://a.corp.example", false),
            ("https://notcorp.example", true),
            ("https://h:8443", false),
            ("https://h", true),
            ("https://localhost:1", false),
            ("http://plain.example", false),
        ] {
            assert_eq!(to(&proxy, url).is_some(), through, "{url}");
        }
        assert_eq!(to(&[("https_proxy", "p"), ("NO_PROXY", "*")], "https://h"), None);
        assert_eq!(to(&[("https_proxy", "p")], "https://h").as_deref(), Some("p:80"));
    }

    #[test]
    fn a_login_is_sent_and_never_shown() {
        let proxy = Proxy::parse("http://user:p%40ss@p:1").unwrap();
        assert_eq!(proxy.authorization.as_deref(), Some("Basic dXNlcjpwQHNz"));
        assert_eq!(format!("{proxy:?}"), "p:1");
        for (plain, packed) in
            [("", ""), ("a", "YQ=="), ("ab", "YWI="), ("abc", "YWJj"), ("abcd", "YWJjZA==")]
        {
            assert_eq!(base64(plain.as_bytes()), packed);
        }
    }
}
