//! A key: it never prints whole, never travels by argument, and is wiped from memory when dropped.

use std::fmt;

use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::exit::Exit;

/// The longest key we take; real ones are shorter than 300 bytes.
pub const CAP: usize = 4096;

/// A provider key.
#[derive(Clone, Eq, PartialEq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes what a user or a command gave: white space around it goes, everything else must look like one key.
    pub fn parse(given: &[u8]) -> Result<Self> {
        let refused = |what: &str, hint: &str| Err(Error::new(Exit::Data, what).hint(hint));
        if given.len() > CAP {
            return refused("this is too long for a key: more than 4 KiB", "copy only the key");
        }
        let Ok(text) = std::str::from_utf8(given) else {
            return refused("this is no key: it is not valid UTF-8", "copy the key as text");
        };
        let text = text.trim_matches(|character: char| character.is_whitespace() || character == '\u{feff}');
        if text.is_empty() {
            return refused("the key is empty", "paste the key, or pipe it in");
        }
        if text.chars().any(char::is_whitespace) {
            return refused("the key has white space inside", "copy only the key, on one line");
        }
        if !text.chars().all(|character| character.is_ascii_graphic()) {
            return refused(
                "the key has a character that no key has",
                "copy it again from the provider's page",
            );
        }
        Ok(Self(Zeroizing::new(text.to_owned())))
    }

    /// A secret that needs no checking, as read from our own files.
    pub fn from_file(text: &str) -> Self {
        Self(Zeroizing::new(text.to_owned()))
    }

    /// The whole key. Only for the child's environment and the settings file.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The most of it that may be shown: its last four characters, and of a short one nothing.
    pub fn masked(&self) -> String {
        let characters: Vec<char> = self.0.chars().collect();
        match characters.len().checked_sub(4).and_then(|from| characters.get(from..)) {
            Some(last) if characters.len() >= 16 => format!("…{}", last.iter().collect::<String>()),
            _ => "…".to_owned(),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[hidden {}]", self.masked())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_around_a_key_goes() {
        assert_eq!(Secret::parse(b" \tabc.def\r\n").unwrap().reveal(), "abc.def");
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for given in
            [&b""[..], b" \n", b"a b", b"a\nb", b"a\x07b", "schlüssel".as_bytes(), b"\xff", &[b'a'; 5000]]
        {
            assert_eq!(Secret::parse(given).unwrap_err().exit(), Exit::Data, "{given:?}");
        }
    }

    #[test]
    fn a_key_prints_masked() {
        let key = Secret::parse(b"0123456789abcdefWXYZ").unwrap();
        assert_eq!(format!("{key:?}"), "[hidden …WXYZ]");
        assert_eq!(Secret::parse(b"short-key").unwrap().masked(), "…");
    }
}
