//! The chain: each line ends in a hash over itself, the hash of the line before included. A line that was changed,
//! added or taken out breaks it from there on.

use sha2::{Digest, Sha256};
use shared::audit_line::AuditLine;
use shared::error::{Error, Result};
use shared::exit::Exit;

use crate::hex;

/// What stands between a line's fields and its hash.
const JOINT: &str = ",\"hash\":\"";
/// What a line ends in.
const END: &str = "\"}";
/// The digits of a hash.
const DIGITS: usize = 64;

/// Before the first line.
pub const BEGINNING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The line as it is written, with its line end, and its hash.
pub fn seal(line: &AuditLine) -> Result<(String, String)> {
    let mut text = serde_json::to_string(line)
        .map_err(|error| Error::new(Exit::Bug, "cannot write an audit line").caused_by(error))?;
    // The closing brace comes after the hash.
    text.pop();
    let hash = hash(text.as_bytes());
    text.reserve(JOINT.len() + DIGITS + END.len() + 1);
    text.push_str(JOINT);
    text.push_str(&hash);
    text.push_str(END);
    text.push('\n');
    Ok((text, hash))
}

/// What a written line says about the chain: the hash before it, and its own; nothing where it is not whole or
/// was changed.
pub fn open(line: &[u8]) -> Option<(AuditLine, String)> {
    let without_end = line.strip_suffix(END.as_bytes())?;
    let (rest, digits) = without_end.split_at_checked(without_end.len().checked_sub(DIGITS)?)?;
    let fields = rest.strip_suffix(JOINT.as_bytes())?;
    let digits = std::str::from_utf8(digits).ok()?;
    if hash(fields) != digits {
        return None;
    }
    let line = serde_json::from_slice(line).ok()?;
    Some((line, digits.to_owned()))
}

fn hash(bytes: &[u8]) -> String {
    hex::text(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> AuditLine {
        AuditLine { v: 1, request_id: "r".into(), prev_hash: BEGINNING.into(), ..AuditLine::default() }
    }

    #[test]
    fn a_sealed_line_opens_and_is_json() {
        let (text, hash) = seal(&line()).unwrap();
        let (opened, again) = open(text.trim_end().as_bytes()).unwrap();
        assert_eq!((opened, again), (line(), hash.clone()));
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["hash"], hash.as_str());
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let (text, _) = seal(&line()).unwrap();
        let text = text.trim_end().as_bytes();
        for at in 0..text.len() {
            let mut changed = text.to_vec();
            changed[at] ^= 1;
            assert!(open(&changed).is_none(), "byte {at}");
            assert!(open(&text[..at]).is_none(), "cut at {at}");
        }
    }
}
