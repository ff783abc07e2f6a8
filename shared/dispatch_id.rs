//! The identity of one dispatch: sortable by time, safe as a file name, never given twice.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::exit::Exit;

/// Crockford's base 32, in lower case: its order is the order of the numbers.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// What one digit holds.
const BITS: usize = 5;
/// As many as 128 bits need.
const DIGITS: usize = 26;

/// `d-` and 26 characters: a UUIDv7 in base 32.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct DispatchId(String);

impl DispatchId {
    /// A new one, made at this time.
    pub fn new(now: Timestamp) -> Self {
        let since = now.duration_since(Timestamp::UNIX_EPOCH).unsigned_abs();
        let time = uuid::Timestamp::from_unix(uuid::NoContext, since.as_secs(), since.subsec_nanos());
        let number = Uuid::new_v7(time).as_u128();
        let mut text = String::from("d-");
        for place in (0..DIGITS).rev() {
            let digit = (number >> (BITS * place)) as usize % ALPHABET.len();
            text.extend(ALPHABET.get(digit).copied().map(char::from));
        }
        Self(text)
    }

    /// Checks an id that somebody chose or named.
    pub fn parse(text: &str) -> Result<Self> {
        let fits = text.strip_prefix("d-").is_some_and(|digits| {
            digits.len() == DIGITS && digits.bytes().all(|digit| ALPHABET.contains(&digit))
        });
        if fits {
            return Ok(Self(text.to_owned()));
        }
        let shown: String = text.chars().take(40).flat_map(char::escape_default).collect();
        Err(Error::new(Exit::Usage, format!("`{shown}` is no dispatch id"))
            .hint("an id is d- and 26 characters out of 0-9 and a-z without i, l, o, u"))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DispatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for DispatchId {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        Self::parse(&text)
    }
}

/// A new session id for Claude Code, which takes UUIDs only.
pub fn new_session() -> String {
    Uuid::new_v4().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time_and_pass_their_own_check() {
        let at = |time: &str| DispatchId::new(time.parse().unwrap());
        let (earlier, later) = (at("2026-01-01T00:00:00Z"), at("2026-01-01T00:00:00.002Z"));
        assert!(earlier < later);
        assert_eq!(DispatchId::parse(later.as_str()).unwrap(), later);
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for text in [
            "",
            "d-",
            "d-../../../../../../../../etc",
            "x-01hzzzzzzzzzzzzzzzzzzzzzzz",
            "d-01HZZZZZZZZZZZZZZZZZZZZZZZ",
        ] {
            assert!(DispatchId::parse(text).is_err(), "{text}");
        }
    }
}
