//! The head of an answer: what an upstream said, kept as it was written.

use super::field::{Field, Kind, words};
use super::framing::{self, Framing};
use super::span::Span;

/// The longest head of an answer.
const LONGEST: usize = 64 << 10;
/// The most fields.
const MOST_FIELDS: usize = 128;

/// What came is no answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Malformed;

/// An answer's head.
#[derive(Debug)]
pub struct Status {
    raw: Vec<u8>,
    code: u16,
    reason: Span,
    fields: Vec<Field>,
    framing: Framing,
    keep_alive: bool,
}

impl Status {
    /// Reads a head from the front of the inbox, once it is there whole, and says how long it was.
    /// `to_head`: the answer to a HEAD has no body, whatever it says.
    pub fn parse(inbox: &[u8], to_head: bool) -> Result<Option<(Self, usize)>, Malformed> {
        let mut slots = [httparse::EMPTY_HEADER; MOST_FIELDS];
        let mut response = httparse::Response::new(&mut slots);
        let length = match response.parse(inbox) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if inbox.len() <= LONGEST => return Ok(None),
            _ => return Err(Malformed),
        };
        let (Some(code), Some(version)) = (response.code, response.version) else { return Err(Malformed) };
        let head = inbox.get(..length).unwrap_or_default();
        let reason = Span::of(response.reason.unwrap_or_default().as_bytes(), head);
        let fields: Vec<Field> = response
            .headers
            .iter()
            .map(|header| Field {
                name: Span::of(header.name.as_bytes(), head),
                value: Span::of(header.value, head),
                kind: Kind::of(header.name.as_bytes()),
            })
            .collect();
        let (framing, keep_alive) = decide(head, &fields, code, version == 1, to_head)?;
        Ok(Some((Self { raw: head.to_vec(), code, reason, fields, framing, keep_alive }, length)))
    }

    /// The status code.
    pub fn code(&self) -> u16 {
        self.code
    }

    /// The words behind the code.
    pub fn reason(&self) -> &[u8] {
        self.reason.of_bytes(&self.raw)
    }

    /// How the body is framed.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Whether the connection can be used again.
    pub fn keep_alive(&self) -> bool {
        self.keep_alive
    }

    /// All fields in their order.
    pub fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8], Kind)> {
        let all = self.fields.iter();
        all.map(|field| (field.name.of_bytes(&self.raw), field.value.of_bytes(&self.raw), field.kind))
    }

    /// The first field of this name.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.fields().find(|(own, _, _)| own.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value, _)| value)
    }

    /// Whether the body is a stream of events that we can read and add to.
    pub fn is_events(&self) -> bool {
        let is = |value: &[u8], wanted: &[u8]| {
            value.get(..wanted.len()).is_some_and(|start| start.eq_ignore_ascii_case(wanted))
        };
        self.get("content-type").is_some_and(|value| is(value, b"text/event-stream")) && !self.is_encoded()
    }

    /// Whether the body is compressed.
    pub fn is_encoded(&self) -> bool {
        self.get("content-encoding").is_some_and(|value| !value.eq_ignore_ascii_case(b"identity"))
    }
}

fn decide(
    head: &[u8],
    fields: &[Field],
    code: u16,
    http11: bool,
    to_head: bool,
) -> Result<(Framing, bool), Malformed> {
    let (mut length, mut chunked, mut keep_alive) = (None, None, http11);
    for field in fields {
        let value = field.value.of_bytes(head);
        match field.kind {
            Kind::Length => {
                let own = framing::length(value).ok_or(Malformed)?;
                if length.is_some_and(|other| other != own) {
                    return Err(Malformed);
                }
                length = Some(own);
            }
            Kind::Coding if chunked.is_none() => chunked = Some(value.eq_ignore_ascii_case(b"chunked")),
            Kind::Coding => return Err(Malformed),
            Kind::Connection => {
                for word in words(value) {
                    if word.eq_ignore_ascii_case(b"close") {
                        keep_alive = false;
                    } else if word.eq_ignore_ascii_case(b"keep-alive") {
                        keep_alive = true;
                    }
                }
            }
            _ => {}
        }
    }
    let framing = match (chunked, length) {
        _ if to_head || code < 200 || code == 204 || code == 304 => Framing::None,
        (Some(true), None) => Framing::Chunked,
        // Two lengths, or a coding we cannot undo: what follows could be anybody's.
        (Some(_), _) => return Err(Malformed),
        (None, Some(length)) => Framing::Length(length),
        (None, None) => Framing::Close,
    };
    Ok((framing, keep_alive && framing != Framing::Close))
}
