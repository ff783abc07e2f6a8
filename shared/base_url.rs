//! The base URL of a Messages API: what is accepted, what is normalised, what kind of host it names.
//! Reaching it is left to `mo-preset probe`; which URL a worker uses, to its preset and settings.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::exit::Exit;
use crate::host::Host;

/// Longest URL accepted, in bytes; real ones are below a hundred.
const LONGEST: usize = 2048;

/// What Claude Code appends to a base URL by itself, longest first: typed by hand it would be there twice.
const APPENDED_BY_CLIENT: [&str; 2] = ["/v1/messages", "/v1"];

/// A checked and normalised base URL: http or https, a host, maybe a port and a path, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BaseUrl {
    text: String,
    host: Host,
    port: Option<u16>,
    https: bool,
}

/// A base URL and what was taken off its end to get it (empty when nothing was).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Normalised {
    /// The URL to use.
    pub url: BaseUrl,
    /// The removed end, `/v1/messages` for example.
    pub removed: String,
}

impl Normalised {
    /// What to tell the user about the removed end.
    pub fn remark(&self) -> Option<String> {
        if self.removed.is_empty() {
            return None;
        }
        if self.removed.trim_matches('/').is_empty() {
            return Some(format!("using {} without the `/` at its end", self.url));
        }
        Some(format!(
            "using {} without `{}`: Claude Code adds /v1/messages itself",
            self.url,
            self.removed.trim_end_matches('/')
        ))
    }
}

/// Why a text is no base URL. Never holds the text: a user name, query or fragment may hold a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing but white space.
    Empty,
    /// More than [`LONGEST`] bytes.
    TooLong,
    /// A control character, a space, a backslash or a character that must be percent-encoded.
    BadCharacter,
    /// No `http://` or `https://` at the start.
    NotHttp,
    /// `user:password@` before the host.
    UserInfo,
    /// A `?` and what follows.
    Query,
    /// A `#` and what follows.
    Fragment,
    /// No host, or one that is no name and no address.
    BadHost,
    /// A port that is no number from 1 to 65535.
    BadPort,
}

impl Refusal {
    /// What to do about it.
    pub fn hint(self) -> &'static str {
        match self {
            Self::UserInfo => "store the key with mo-key; a base URL never holds one",
            Self::Query | Self::Fragment => "give only scheme, host, port and path; a key goes into mo-key",
            Self::BadHost => "write an international name in its xn-- form, an IPv6 address in [brackets]",
            _ => "write it like https://api.example.com/anthropic or http://localhost:11434",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the base URL is empty",
            Self::TooLong => "the base URL is longer than 2048 bytes",
            Self::BadCharacter => "the base URL holds a character that cannot stand in one",
            Self::NotHttp => "the base URL must begin with https:// or http://",
            Self::UserInfo => "the base URL holds a user name or password",
            Self::Query => "the base URL holds a query (`?…`)",
            Self::Fragment => "the base URL holds a fragment (`#…`)",
            Self::BadHost => "the base URL has no valid host",
            Self::BadPort => "the base URL has no valid port",
        })
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::new(Exit::Usage, refusal.to_string()).hint(refusal.hint())
    }
}

impl TryFrom<String> for BaseUrl {
    type Error = Refusal;

    fn try_from(typed: String) -> Result<Self, Refusal> {
        Ok(Self::parse(&typed)?.url)
    }
}

impl From<BaseUrl> for String {
    fn from(url: BaseUrl) -> Self {
        url.text
    }
}

impl BaseUrl {
    /// Checks and normalises what a user typed.
    pub fn parse(typed: &str) -> Result<Normalised, Refusal> {
        let typed = typed.trim();
        if typed.is_empty() {
            return Err(Refusal::Empty);
        }
        if typed.len() > LONGEST {
            return Err(Refusal::TooLong);
        }
        let (https, rest) = split_scheme(typed).ok_or(Refusal::NotHttp)?;
        let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at(end);
        if authority.contains('@') {
            return Err(Refusal::UserInfo);
        }
        if tail.contains('#') {
            return Err(Refusal::Fragment);
        }
        if tail.contains('?') {
            return Err(Refusal::Query);
        }
        if !tail.bytes().all(|byte| byte.is_ascii_graphic() && !b"\\\"<>^`{|}".contains(&byte)) {
            return Err(Refusal::BadCharacter);
        }
        let (host, port) = split_port(authority)?;
        let host = Host::parse(host).ok_or(Refusal::BadHost)?;
        let port = port.filter(|port| *port != if https { 443 } else { 80 });
        let path = without_appended(tail);
        let removed = tail.get(path.len()..).unwrap_or_default().to_owned();
        let scheme = if https { "https" } else { "http" };
        let text = match port {
            Some(port) => format!("{scheme}://{host}:{port}{path}"),
            None => format!("{scheme}://{host}{path}"),
        };
        Ok(Normalised { url: Self { text, host, port, https }, removed })
    }

    /// The whole URL, without a slash at its end.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The host.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The port, unless it is the usual one of the scheme.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Whether the connection is encrypted.
    pub fn is_https(&self) -> bool {
        self.https
    }

    /// Whether what is sent there stays on this machine.
    pub fn is_loopback(&self) -> bool {
        self.host.is_loopback()
    }

    /// Whether it is Anthropic itself, where none of the switches for other providers belong.
    pub fn is_anthropic(&self) -> bool {
        self.host.is_anthropic()
    }

    /// Where a path of the API lies, `/v1/messages` for example.
    pub fn endpoint(&self, path: &str) -> String {
        format!("{}{path}", self.text)
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn split_scheme(typed: &str) -> Option<(bool, &str)> {
    let (scheme, rest) = typed.split_once("://")?;
    match scheme.to_ascii_lowercase().as_str() {
        "https" => Some((true, rest)),
        "http" => Some((false, rest)),
        _ => None,
    }
}

fn split_port(authority: &str) -> Result<(&str, Option<u16>), Refusal> {
    let address_end = authority.rfind(']').map_or(0, |at| at + 1);
    let (address, rest) = authority.split_at(address_end);
    let Some((name, digits)) = rest.split_once(':') else {
        return Ok((authority, None));
    };
    if digits.contains(':') {
        return Err(Refusal::BadHost);
    }
    match digits.parse() {
        Ok(port) if port != 0 && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Ok((authority.get(..address.len() + name.len()).unwrap_or(authority), Some(port)))
        }
        _ => Err(Refusal::BadPort),
    }
}

fn without_appended(tail: &str) -> &str {
    let mut path = tail.trim_end_matches('/');
    while let Some(shorter) = APPENDED_BY_CLIENT.iter().find_map(|end| path.strip_suffix(end)) {
        path = shorter.trim_end_matches('/');
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn url(typed: &str) -> BaseUrl {
        BaseUrl::parse(typed).unwrap().url
    }

    #[test]
    fn what_claude_code_appends_is_taken_off_and_told() {
        for (typed, kept, removed) in [
            ("https://api.z.ai/api/anthropic", "https://api.z.ai/api/anthropic", ""),
            ("https://api.z.ai/api/anthropic/", "https://api.z.ai/api/anthropic", "/"),
            ("https://api.z.ai/api/anthropic/v1", "https://api.z.ai/api/anthropic", "/v1"),
            ("https://api.z.ai/api/anthropic/v1/", "https://api.z.ai/api/anthropic", "/v1/"),
            ("https://api.z.ai/api/anthropic/v1/messages", "https://api.z.ai/api/anthropic", "/v1/messages"),
            ("https://api.z.ai//v1//v1/messages//", "https://api.z.ai", "//v1//v1/messages//"),
            ("HTTP://LocalHost:11434/", "http://localhost:11434", "/"),
            ("https://h/v10", "https://h/v10", ""),
            ("https://h/V1", "https://h/V1", ""),
            ("https://h:443/x", "https://h/x", ""),
            ("http://h:443/x", "http://h:443/x", ""),
            (" https://h \n", "https://h", ""),
        ] {
            let parsed = BaseUrl::parse(typed).unwrap();
            assert_eq!((parsed.url.as_str(), parsed.removed.as_str()), (kept, removed), "{typed}");
            assert_eq!(parsed.remark().is_some(), !removed.is_empty(), "{typed}");
        }
        assert!(
            BaseUrl::parse("https://h/").unwrap().remark().unwrap().ends_with("without the `/` at its end")
        );
        assert_eq!(
            BaseUrl::parse("https://h/v1/").unwrap().remark().unwrap(),
            "using https://h without `/v1`: Claude Code adds /v1/messages itself"
        );
    }

    #[test]
    fn everything_but_scheme_host_port_and_path_is_refused() {
        for (typed, refusal) in [
            ("", Refusal::Empty),
            (" \t", Refusal::Empty),
            ("localhost:11434", Refusal::NotHttp),
            ("ftp://h", Refusal::NotHttp),
            ("https://user@h", Refusal::UserInfo),
            ("https://user:sk-secret@h/v1", Refusal::UserInfo),
            ("https://h/?key=sk-secret", Refusal::Query),
            ("https://h?x", Refusal::Query),
            ("https://h/#x", Refusal::Fragment),
            ("https://h/a b", Refusal::BadCharacter),
            ("https://h/a\nb", Refusal::BadCharacter),
            ("https://h\\@evil/", Refusal::BadCharacter),
            ("https://h/é", Refusal::BadCharacter),
            ("https://", Refusal::BadHost),
            ("https:///x", Refusal::BadHost),
            ("https://a b", Refusal::BadHost),
            ("https://münchen.example", Refusal::BadHost),
            ("https://a..b", Refusal::BadHost),
            ("https://[::1", Refusal::BadHost),
            ("https://[::g]", Refusal::BadHost),
            ("https://h:", Refusal::BadPort),
            ("https://h:0", Refusal::BadPort),
            ("https://h:65536", Refusal::BadPort),
            ("https://h:+80", Refusal::BadPort),
            ("https://h::80", Refusal::BadHost),
            ("http://::1", Refusal::BadHost),
        ] {
            assert_eq!(BaseUrl::parse(typed), Err(refusal), "{typed:?}");
            assert!(!format!("{refusal} {refusal:?} {}", refusal.hint()).contains("secret"));
        }
        assert_eq!(BaseUrl::parse(&format!("https://h/{}", "a".repeat(LONGEST))), Err(Refusal::TooLong));
    }

    #[test]
    fn the_parts_are_at_hand() {
        let local = url("http://[0:0::1]:1234/a");
        assert_eq!((local.host().as_str(), local.port(), local.is_https()), ("[::1]", Some(1234), false));
        assert_eq!(local.endpoint("/v1/messages"), "http://[::1]:1234/a/v1/messages");
        assert!(url("https://h").is_https() && !url("https://h").is_loopback() && local.is_loopback());
        assert!(url("https://api.anthropic.com/v1").is_anthropic());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]
        #[test]
        fn no_text_makes_it_panic_and_normalising_twice_changes_nothing(
            typed in "(https?://)?[a-z0-9.:@\\[\\]]{0,12}(/|/v1|/v1/messages|/a|\\?|#|\\PC){0,6}"
        ) {
            if let Ok(parsed) = BaseUrl::parse(&typed) {
                let again = BaseUrl::parse(parsed.url.as_str()).unwrap();
                prop_assert_eq!(&again.url, &parsed.url);
                prop_assert_eq!(again.removed, "");
            }
        }
    }
}
