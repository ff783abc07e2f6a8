//! One field of a head, and what kind it is: decided once, when the head is read.

use super::span::Span;

/// What a field is for us.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Goes end to end.
    Plain,
    /// `Host`.
    Host,
    /// `Content-Length`.
    Length,
    /// `Transfer-Encoding`.
    Coding,
    /// `Connection`.
    Connection,
    /// `Expect`.
    Expect,
    /// Belongs to this connection alone: never passed on.
    Hop,
    /// Unlocks something at Anthropic: only Anthropic may see it.
    Credential,
    /// Our own token: never passed on.
    Token,
}

/// The header that carries our token.
pub const TOKEN: &str = "x-mo-token";

const KINDS: [(&str, Kind); 14] = [
    ("host", Kind::Host),
    ("content-length", Kind::Length),
    ("transfer-encoding", Kind::Coding),
    ("connection", Kind::Connection),
    ("expect", Kind::Expect),
    ("keep-alive", Kind::Hop),
    ("proxy-connection", Kind::Hop),
    ("proxy-authorization", Kind::Hop),
    ("te", Kind::Hop),
    ("trailer", Kind::Hop),
    ("upgrade", Kind::Hop),
    ("authorization", Kind::Credential),
    ("x-api-key", Kind::Credential),
    ("cookie", Kind::Credential),
];

impl Kind {
    /// The kind of a field of this name.
    pub fn of(name: &[u8]) -> Self {
        if name.eq_ignore_ascii_case(TOKEN.as_bytes()) {
            return Self::Token;
        }
        let known = KINDS.iter().find(|(known, _)| name.eq_ignore_ascii_case(known.as_bytes()));
        known.map_or(Self::Plain, |(_, kind)| *kind)
    }
}

/// A field.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name, as it was written.
    pub name: Span,
    /// Its value, without the white space around it.
    pub value: Span,
    /// What it is for us.
    pub kind: Kind,
}

/// The words of a list like `keep-alive, x-secret`.
pub fn words(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|word| !word.is_empty())
}

/// Adds a field to a head that is being written.
pub fn write(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}
