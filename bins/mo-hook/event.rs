//! The event that Claude Code writes to a hook's standard input, as far as we read it.

use std::io::{self, Read};

use serde::Deserialize;
use shared::error::{Error, Result};
use shared::exit::Exit;

/// The largest event that is read; real ones hold a tool's output at most.
const CAP: u64 = 8 << 20;

const SESSION: &[u8] = br#""session_id":""#;

/// What all events have in common.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Event {
    /// The session.
    pub session_id: String,
    /// The call of a tool, where the event is about one.
    pub tool_use_id: String,
    /// Why a session starts: startup, resume, clear or compact.
    pub source: String,
}

/// Reads standard input whole.
pub fn bytes() -> Result<Vec<u8>> {
    let failed = |error: io::Error| Error::new(Exit::Io, "cannot read the event").because(&error);
    let mut bytes = Vec::new();
    let mut stdin = io::stdin().lock();
    stdin.by_ref().take(CAP + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > CAP {
        // The rest is read too, so that the client does not see its pipe break.
        io::copy(&mut stdin, &mut io::sink()).map_err(failed)?;
        return Err(Error::new(Exit::Data, "the event is larger than 8 MiB"));
    }
    Ok(bytes)
}

/// The event in these bytes; fields that we do not know are left out.
pub fn parse(bytes: &[u8]) -> Result<Event> {
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(Error::new(Exit::Data, "the event is no JSON object"));
    }
    serde_json::from_slice(bytes)
        .map_err(|error| Error::new(Exit::Data, "cannot understand the event").caused_by(error))
}

/// The session, read off without parsing: the client writes it first, in this spelling. Inside of strings
/// the quotes would be escaped, so nothing that a tool printed can stand in for it.
pub fn session_at_a_glance(bytes: &[u8]) -> Option<&str> {
    let at = memchr::memmem::find(bytes, SESSION)?;
    let rest = bytes.get(at + SESSION.len()..)?;
    let end = memchr::memchr(b'"', rest)?;
    std::str::from_utf8(rest.get(..end)?).ok()
}

#[cfg(test)]
mod tests {
    use super::{parse, session_at_a_glance};

    #[test]
    fn the_session_is_read_off() {
        let event = br#"{"session_id":"s-1","tool_input":{"session_id":"evil"},"tool_response":"\"session_id\":\"x\""}"#;
        assert_eq!(session_at_a_glance(event), Some("s-1"));
        assert_eq!(session_at_a_glance(br#"{"x":"\"session_id\":\"x\""}"#), None);
        assert_eq!(session_at_a_glance(br#"{"session_id":"cut"#), None);
    }

    #[test]
    fn unknown_fields_pass_and_wrong_types_do_not() {
        assert_eq!(parse(br#"{"session_id":"s","source":"startup","new":[1]}"#).unwrap().session_id, "s");
        for bytes in [&b""[..], b"[]", b"null", b"{", b"{\"session_id\":1}", b"{\"session_id\":\"\xff\"}"] {
            assert!(parse(bytes).is_err(), "{bytes:?}");
        }
    }
}
