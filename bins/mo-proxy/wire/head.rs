//! The head of a request: read strictly, kept as it was written.
//! Its credentials can be read by nobody but [`crate::upstream::anthropic`]: see [`Head::credentials`].

use super::field::{Field, Kind, words};
use super::framing::{self, Framing};
use super::span::Span;
use crate::upstream::anthropic::Seal;

/// The longest head.
pub const LONGEST: usize = 64 << 10;
/// The most fields.
const MOST_FIELDS: usize = 128;
/// The most bytes of empty lines before a request: two lines.
const LEAD: usize = 4;

/// Why a head is refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Refusal {
    /// It is no HTTP that two readers would read alike.
    Malformed(&'static str),
    /// It is too long.
    TooLong,
}

/// A request's head.
pub struct Head {
    raw: Vec<u8>,
    method: Span,
    target: Span,
    fields: Vec<Field>,
    framing: Framing,
    http10: bool,
    keep_alive: bool,
    expects: bool,
}

impl Head {
    /// Reads a head from the front of the inbox, once it is there whole, and says how long it was. `seen`: so much of
    /// the inbox was there before, and held no whole head: its end is not looked for again.
    pub fn parse(inbox: &[u8], seen: usize) -> Result<Option<(Self, usize)>, Refusal> {
        // Empty lines before a request are tolerated, as the standard asks; for ever they are no request.
        let lead = inbox.iter().take(LEAD + 1).take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        if lead > LEAD {
            return Err(Refusal::Malformed("too many empty lines stand before the request"));
        }
        let inbox = inbox.get(lead..).unwrap_or_default();
        // The end may have begun in what was there.
        let from = seen.saturating_sub(lead + 3).min(inbox.len());
        let found = memchr::memmem::find(inbox.get(from..).unwrap_or_default(), b"\r\n\r\n");
        let Some(end) = found.map(|at| from + at) else {
            return if inbox.len() > LONGEST { Err(Refusal::TooLong) } else { Ok(None) };
        };
        if end > LONGEST {
            return Err(Refusal::TooLong);
        }
        let raw = inbox.get(..end + 4).unwrap_or_default();
        // The parser would take it for a line end, and the next reader perhaps not.
        if memchr::memchr_iter(b'\n', raw).any(|at| at == 0 || raw.get(at - 1) != Some(&b'\r')) {
            return Err(Refusal::Malformed("a bare line feed"));
        }
        let raw = raw.to_vec();
        Self::read(raw).map(|head| Some((head, lead + end + 4)))
    }

    fn read(raw: Vec<u8>) -> Result<Self, Refusal> {
        let malformed = |what| Err(Refusal::Malformed(what));
        let mut slots = [httparse::EMPTY_HEADER; MOST_FIELDS];
        let mut request = httparse::Request::new(&mut slots);
        match request.parse(&raw) {
            Ok(httparse::Status::Complete(length)) if length == raw.len() => {}
            Err(httparse::Error::TooManyHeaders) => return Err(Refusal::TooLong),
            _ => return malformed("this is not HTTP/1.1"),
        }
        let (Some(method), Some(target), Some(version)) = (request.method, request.path, request.version)
        else {
            return malformed("this is not HTTP/1.1");
        };
        if !target.starts_with('/') {
            return malformed("the request's target must be a path");
        }
        let fields: Vec<Field> = request
            .headers
            .iter()
            .map(|header| Field {
                name: Span::of(header.name.as_bytes(), &raw),
                value: Span::of(header.value, &raw),
                kind: Kind::of(header.name.as_bytes()),
            })
            .collect();
        let (method, target) = (Span::of(method.as_bytes(), &raw), Span::of(target.as_bytes(), &raw));
        let http10 = version == 0;
        let mut head = Self {
            raw,
            method,
            target,
            fields,
            framing: Framing::None,
            http10,
            keep_alive: !http10,
            expects: false,
        };
        head.decide()?;
        Ok(head)
    }

    /// Framing, connection, and what may not stand twice.
    fn decide(&mut self) -> Result<(), Refusal> {
        let (mut length, mut coding, mut hosts) = (None, None, 0);
        let mut named = Vec::new();
        for field in &self.fields {
            let value = field.value.of_bytes(&self.raw);
            match field.kind {
                Kind::Host => hosts += 1,
                Kind::Length if length.is_none() => {
                    length = Some(framing::length(value).ok_or(Refusal::Malformed("a bad content-length"))?);
                }
                Kind::Coding if coding.is_none() => coding = Some(value.eq_ignore_ascii_case(b"chunked")),
                Kind::Length | Kind::Coding => {
                    return Err(Refusal::Malformed("its length stands in it twice"));
                }
                Kind::Expect => {
                    if !value.eq_ignore_ascii_case(b"100-continue") {
                        return Err(Refusal::Malformed("it expects what we cannot do"));
                    }
                    self.expects = true;
                }
                Kind::Connection => {
                    for word in words(value) {
                        if word.eq_ignore_ascii_case(b"close") {
                            self.keep_alive = false;
                        } else if word.eq_ignore_ascii_case(b"keep-alive") {
                            self.keep_alive = true;
                        } else {
                            named.push(Span::of(word, &self.raw));
                        }
                    }
                }
                _ => {}
            }
        }
        if hosts != 1 && !(hosts == 0 && self.http10) {
            return Err(Refusal::Malformed("it must name one host"));
        }
        self.framing = match (length, coding) {
            (None, None) => Framing::None,
            (Some(length), None) => Framing::Length(length),
            (None, Some(true)) if !self.http10 => Framing::Chunked,
            (None, Some(_)) => return Err(Refusal::Malformed("a transfer-encoding that is not chunked")),
            (Some(_), Some(_)) => return Err(Refusal::Malformed("its length stands in it twice")),
        };
        for name in named {
            let name = name.of_bytes(&self.raw).to_vec();
            let own = self.fields.iter_mut().filter(|field| field.kind == Kind::Plain);
            for field in own.filter(|field| field.name.of_bytes(&self.raw).eq_ignore_ascii_case(&name)) {
                field.kind = Kind::Hop;
            }
        }
        Ok(())
    }

    /// The method, as it was written.
    pub fn method(&self) -> &str {
        std::str::from_utf8(self.method.of_bytes(&self.raw)).unwrap_or_default()
    }

    /// Path and query, as they were written.
    pub fn target(&self) -> &str {
        std::str::from_utf8(self.target.of_bytes(&self.raw)).unwrap_or_default()
    }

    /// The path without its query.
    pub fn path(&self) -> &str {
        self.target().split('?').next().unwrap_or_default()
    }

    /// What stands behind the question mark.
    pub fn query(&self) -> &str {
        self.target().split_once('?').map_or("", |(_, query)| query)
    }

    /// How the body is framed.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Whether the client wants another request on this connection.
    pub fn keep_alive(&self) -> bool {
        self.keep_alive
    }

    /// Whether the client waits for a word before it sends the body.
    pub fn expects(&self) -> bool {
        self.expects
    }

    /// Whether the client speaks HTTP/1.0, and so knows no chunks.
    pub fn is_http10(&self) -> bool {
        self.http10
    }

    /// The first field of this name, unless it is a credential.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.fields().find(|(own, _, _)| own.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value, _)| value)
    }

    /// The first field of this name as text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(|value| std::str::from_utf8(value).ok())
    }

    /// Whether it stands there more than once.
    pub fn repeats(&self, name: &str) -> bool {
        self.fields().filter(|(own, _, _)| own.eq_ignore_ascii_case(name.as_bytes())).count() > 1
    }

    /// All fields of this name, unless it is a credential.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        let own = self.fields().filter(move |(own, _, _)| own.eq_ignore_ascii_case(name.as_bytes()));
        own.map(|(_, value, _)| value)
    }

    /// Whether the client brings a credential of its own: a key or a bearer's token. A cookie, or a login in the schemes
    /// that browsers know, is none: those come along with what any page sends.
    pub fn has_credential_of_its_own(&self) -> bool {
        let mut credentials = self.fields.iter().filter(|field| field.kind == Kind::Credential);
        credentials.any(|field| {
            let (name, value) = (field.name.of_bytes(&self.raw), field.value.of_bytes(&self.raw));
            let is_bearer = value.get(..7).is_some_and(|start| start.eq_ignore_ascii_case(b"bearer "));
            name.eq_ignore_ascii_case(b"x-api-key")
                || (name.eq_ignore_ascii_case(b"authorization") && is_bearer)
        })
    }

    /// All fields in their order, but the credentials.
    pub fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8], Kind)> {
        let open = self.fields.iter().filter(|field| field.kind != Kind::Credential);
        open.map(|field| (field.name.of_bytes(&self.raw), field.value.of_bytes(&self.raw), field.kind))
    }

    /// All fields in their order, the client's own credentials among them. Only who holds Anthropic's seal can
    /// ask, and that is nobody but the upstream whose every connection leads to Anthropic.
    pub fn credentials(&self, _: &Seal) -> impl Iterator<Item = (&[u8], &[u8], Kind)> {
        let all = self.fields.iter();
        all.map(|field| (field.name.of_bytes(&self.raw), field.value.of_bytes(&self.raw), field.kind))
    }
}

impl std::fmt::Debug for Head {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method(), self.path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &[u8]) -> Result<Option<(Head, usize)>, Refusal> {
        Head::parse(text, 0)
    }

    #[test]
    fn credentials_are_not_among_what_others_can_read() {
        let text = b"GET / HTTP/1.1\r\nHost: h\r\nAUTHORIZATION: Bearer b\r\nX-Api-Key: k\r\ncookie: c\r\nA: b\r\n\r\n";
        let (head, length) = parse(text).unwrap().unwrap();
        assert_eq!(length, text.len());
        assert!(head.has_credential_of_its_own());
        for name in ["authorization", "x-api-key", "cookie"] {
            assert_eq!(head.get(name), None, "{name}");
        }
        assert_eq!(head.get("a"), Some(&b"b"[..]));
        assert!(!format!("{head:?}").contains('b'));
    }

    #[test]
    fn what_a_browser_sends_by_itself_is_no_credential_of_ones_own() {
        for (field, is) in [
            ("Authorization: bearer b", true),
            ("x-api-key: k", true),
            ("Cookie: a=b", false),
            ("Authorization: Basic YTpi", false),
            ("Authorization: Negotiate x", false),
            ("Authorization: Bearer", false),
            ("X: y", false),
        ] {
            let text = format!("GET / HTTP/1.1\r\nHost: h\r\n{field}\r\n\r\n");
            let (head, _) = parse(text.as_bytes()).unwrap().unwrap();
            assert_eq!(head.has_credential_of_its_own(), is, "{field}");
        }
    }

    #[test]
    fn a_field_that_the_connection_names_stays_on_it() {
        let text = b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close, X-Own\r\nX-Own: 1\r\nX-Other: 2\r\n\r\n";
        let (head, _) = parse(text).unwrap().unwrap();
        let kinds: Vec<Kind> = head.fields().map(|(_, _, kind)| kind).collect();
        assert_eq!(kinds, [Kind::Host, Kind::Connection, Kind::Hop, Kind::Plain]);
        assert!(!head.keep_alive());
    }

    #[test]
    fn empty_lines_before_a_request_are_few() {
        let with = |lead: &str| {
            parse(format!("{lead}GET / HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes()).map(|read| read.is_some())
        };
        assert_eq!((with("\r\n"), with("\r\n\r\n")), (Ok(true), Ok(true)));
        assert!(with("\r\n\r\n\r\n").is_err());
        // Also before anything else has come.
        assert!(parse(b"\r\n\r\n").unwrap().is_none() && parse(b"\r\n\r\n\r").is_err());
    }

    #[test]
    fn a_head_that_comes_in_pieces_is_read_when_it_is_whole_and_no_byte_twice() {
        let text = b"\r\nGET / HTTP/1.1\r\nHost: h\r\nX: \r\n\r\nGET /next";
        let whole = text.len() - b"GET /next".len();
        for seen in 0..whole {
            assert!(parse(&text[..seen]).unwrap().is_none());
            for here in [whole, text.len()] {
                let (_, length) = Head::parse(&text[..here], seen).unwrap().unwrap();
                assert_eq!(length, whole, "{seen} of {here}");
            }
        }
        // What was seen is not looked at again: an end that stands there is not found.
        assert!(Head::parse(&text[..whole], whole + 3).unwrap().is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]
        #[test]
        fn no_bytes_make_it_panic_and_what_is_taken_has_one_length(
            mut text in Just(
                b"POST /v1/messages?x=1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nConnection: x\r\nX: y\r\n\r\n"
                    .to_vec()
            ),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        ) {
            for (at, byte) in changes {
                let at = at.index(text.len());
                text[at] = byte;
            }
            if let Ok(Some((head, length))) = parse(&text) {
                prop_assert!(length <= text.len());
                let told = head.fields().filter(|(_, _, kind)| matches!(kind, Kind::Length | Kind::Coding)).count();
                prop_assert!(told <= 1 && (told == 1) == (head.framing() != Framing::None));
                let sound = |value: &[u8]| !value.iter().any(|byte| b"\r\n\0".contains(byte));
                prop_assert!(head.fields().all(|(name, value, _)| !name.is_empty() && sound(value)));
            }
        }
    }
}
