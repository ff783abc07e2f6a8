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
    /// `to_head`: the answer to a HEAD has no body, whatever it says. `seen`: so much of the inbox was there before, and
    /// held no whole head: nothing is read before one can have ended in what has come.
    pub fn parse(inbox: &[u8], to_head: bool, seen: usize) -> Result<Option<(Self, usize)>, Malformed> {
        let new = inbox.get(seen.saturating_sub(3).min(inbox.len())..).unwrap_or_default();
        let may_end = memchr::memchr_iter(b'\n', new)
            .any(|at| matches!(new.get(at + 1..), Some([b'\n', ..] | [b'\r', b'\n', ..])));
        if seen > 0 && !may_end {
            return if inbox.len() <= LONGEST { Ok(None) } else { Err(Malformed) };
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answers_head_that_comes_in_pieces_is_read_when_it_is_whole() {
        for text in
            ["HTTP/1.1 200 OK\r\nA: b\r\n\r\n", "HTTP/1.1 200 OK\nA: b\n\n", "HTTP/1.1 204 No\r\n\r\n"]
        {
            let whole = text.len();
            let text = format!("{text}{{\"a\":1}}");
            for seen in 0..whole {
                assert!(Status::parse(&text.as_bytes()[..seen], false, 0).unwrap().is_none(), "{seen}");
                for here in [whole, text.len()] {
                    let (_, length) = Status::parse(&text.as_bytes()[..here], false, seen).unwrap().unwrap();
                    assert_eq!(length, whole, "{seen} of {here} of {text}");
                }
            }
        }
    }

    #[test]
    fn a_head_without_an_end_is_given_up_in_whatever_pieces_it_comes() {
        let long = format!("HTTP/1.1 200 OK\r\nA: {}", "b".repeat(LONGEST));
        assert!(Status::parse(long.as_bytes(), false, 0).is_err());
        assert!(Status::parse(long.as_bytes(), false, long.len() - 1).is_err());
        assert!(Status::parse(&long.as_bytes()[..LONGEST], false, LONGEST - 1).unwrap().is_none());
    }
}
