//! JSON files as typed nouns: a broken one is reported by file, line and column, and says what was wrong.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::file::{self, Durability};

/// Reads a JSON file into its type; `None` where there is no file.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    file::read_if_there(path, file::JSON_CAP)?.map(|bytes| parse(path, &bytes)).transpose()
}

/// Makes a type out of the bytes of a JSON file.
pub fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T> {
    refuse_mark(path, bytes)?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(broken(path, 1, "it is empty"));
    }
    serde_json::from_slice(bytes).map_err(|error| broken(path, error.line(), &reason(&error.to_string())))
}

/// What the parser says, without its place, and without the value it met: that may be a key.
fn reason(said: &str) -> String {
    let said = said.rsplit_once(" at line ").map_or(said, |(said, _)| said);
    match said.rsplit_once(", expected ") {
        Some((found, expected)) => {
            let kind = found.split(['"', '`', '\'']).next().unwrap_or_default().trim_end();
            format!("{kind}, expected {expected}")
        }
        None => said.to_owned(),
    }
}

fn refuse_mark(path: &Path, bytes: &[u8]) -> Result<()> {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Err(
            broken(path, 1, "it starts with a byte order mark").hint("save it as UTF-8 without a BOM")
        );
    }
    Ok(())
}

/// Refuses a document that is no object: a derived struct would take an array for its fields in order.
pub fn must_be_object(path: &Path, bytes: &[u8]) -> Result<()> {
    refuse_mark(path, bytes)?;
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') | None => Ok(()),
        Some(_) => Err(broken(path, 1, "it is no JSON object")),
    }
}

/// Puts the value in the file's place, readable for people, for the owner alone.
pub fn replace<T: Serialize>(path: &Path, value: &T, durability: Durability) -> Result<()> {
    let mut text = serde_json::to_string_pretty(value)
        .map_err(|error| Error::new(Exit::Bug, "cannot write JSON for").at(path).caused_by(error))?;
    text.push('\n');
    file::replace(path, text.as_bytes(), file::PRIVATE, durability)
}

/// The error for a file that does not say what it should.
pub fn broken(path: &Path, line: usize, reason: &str) -> Error {
    Error::new(Exit::Data, format!("{}:{line}: {reason}", path.display()))
}

/// The line where the member of this name stands; the first line where it cannot be found.
pub fn line_of(bytes: &[u8], name: &str) -> usize {
    let text = String::from_utf8_lossy(bytes);
    let quoted = format!("\"{name}\"");
    let member = text.match_indices(&quoted).find(|(at, found)| {
        text.get(at + found.len()..).is_some_and(|rest| rest.trim_start().starts_with(':'))
    });
    member.map_or(1, |(at, _)| text.get(..at).unwrap_or_default().matches('\n').count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_in_the_wrong_place_is_never_shown() {
        for text in
            [r#""sk-secret""#, "[\"sk-secret at line 1, expected x\"]", "4242", "[1.5]", "{\"sk\": 1}"]
        {
            let error = parse::<Vec<u32>>(Path::new("/f"), text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("expected") && error.starts_with("/f:1: "), "{error}");
            assert!(!["sk", "4242", "1.5"].iter().any(|part| error.contains(part)), "{error}");
        }
    }

    #[test]
    fn a_broken_file_is_named_with_its_line() {
        let error = parse::<Vec<u32>>(Path::new("/f"), b"[1,\n 2,\n]").unwrap_err();
        assert!(error.to_string().starts_with("/f:3: "), "{error}");
        assert_eq!(error.exit(), Exit::Data);
        assert!(parse::<Vec<u32>>(Path::new("/f"), b"").unwrap_err().to_string().contains("empty"));
        assert!(
            parse::<Vec<u32>>(Path::new("/f"), b"\xef\xbb\xbf[]")
                .unwrap_err()
                .to_string()
                .contains("byte order")
        );
    }
}
