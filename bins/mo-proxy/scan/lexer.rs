//! JSON that is only walked over: where a value ends, and whether every byte of it is well formed.
//! Nothing is decoded and nothing is allocated (but one bit a level below the 64th); what is meant is `value`'s.

use std::fmt;

/// Why a body is no JSON, and at which byte that shows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Malformed {
    /// The byte, counted from 0.
    pub at: usize,
    /// What is wrong there.
    pub what: &'static str,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.what, self.at)
    }
}

type Place = Result<usize, Malformed>;

fn malformed(at: usize, what: &'static str) -> Place {
    Err(Malformed { at, what })
}

/// What may be said of a byte that does not fit: that it does not, or that there is none.
fn unfit(bytes: &[u8], at: usize, what: &'static str) -> Place {
    malformed(at, if at < bytes.len() { what } else { "the text ends too early" })
}

/// The levels that are open: a bit each, set for an object.
#[derive(Default)]
struct Open {
    depth: usize,
    top: u64,
    below: Vec<u64>,
}

impl Open {
    fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.below.push(self.top);
        }
        self.top = self.top << 1 | u64::from(object);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.depth -= 1;
        self.top = match self.below.last() {
            Some(_) if self.depth.is_multiple_of(64) => self.below.pop().unwrap_or_default(),
            _ => self.top >> 1,
        };
    }

    /// Whether the innermost level is an object; nothing where none is open.
    fn innermost(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.top & 1 == 1)
    }
}

/// The first byte at or after `at` that is no white space.
pub fn blank(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

/// Where the value that starts at `at` ends.
pub fn value_end(bytes: &[u8], mut at: usize) -> Place {
    let mut open = Open::default();
    loop {
        at = match bytes.get(at) {
            Some(b'"') => string_end(bytes, at + 1)?,
            Some(b'{') => match blank(bytes, at + 1) {
                next if bytes.get(next) == Some(&b'}') => next + 1,
                next => {
                    open.push(true);
                    at = name_end(bytes, next)?;
                    continue;
                }
            },
            Some(b'[') => match blank(bytes, at + 1) {
                next if bytes.get(next) == Some(&b']') => next + 1,
                next => {
                    open.push(false);
                    at = next;
                    continue;
                }
            },
            Some(b'-' | b'0'..=b'9') => number_end(bytes, at)?,
            Some(b't') => word_end(bytes, at, b"true")?,
            Some(b'f') => word_end(bytes, at, b"false")?,
            Some(b'n') => word_end(bytes, at, b"null")?,
            _ => return unfit(bytes, at, "no value begins"),
        };
        // A value has ended, and with it perhaps those around it.
        loop {
            let Some(object) = open.innermost() else { return Ok(at) };
            at = blank(bytes, at);
            match (bytes.get(at), object) {
                (Some(b','), true) => {
                    at = name_end(bytes, blank(bytes, at + 1))?;
                    break;
                }
                (Some(b','), false) => {
                    at = blank(bytes, at + 1);
                    break;
                }
                (Some(b'}'), true) | (Some(b']'), false) => {
                    open.pop();
                    at += 1;
                }
                (_, true) => return unfit(bytes, at, "neither `,` nor `}` stands"),
                (_, false) => return unfit(bytes, at, "neither `,` nor `]` stands"),
            }
        }
    }
}

/// Where the value begins that belongs to the name starting at `at`.
pub fn name_end(bytes: &[u8], at: usize) -> Place {
    if bytes.get(at) != Some(&b'"') {
        return unfit(bytes, at, "no name in quotes stands");
    }
    let colon = blank(bytes, string_end(bytes, at + 1)?);
    if bytes.get(colon) != Some(&b':') {
        return unfit(bytes, colon, "no `:` stands");
    }
    Ok(blank(bytes, colon + 1))
}

/// Just behind the closing quote of the string whose first character is at `at`.
pub fn string_end(bytes: &[u8], mut at: usize) -> Place {
    loop {
        at += plain(bytes.get(at..).unwrap_or_default());
        at = match bytes.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => escape_end(bytes, at)?,
            _ => return unfit(bytes, at, "a control character stands in a string"),
        };
    }
}

fn escape_end(bytes: &[u8], at: usize) -> Place {
    match bytes.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') => {
            let digits = bytes.get(at + 2..at + 6).unwrap_or_default();
            if digits.len() == 4 && digits.iter().all(u8::is_ascii_hexdigit) {
                return Ok(at + 6);
            }
            unfit(bytes, at + 2 + digits.len(), "an escape of no four digits stands")
        }
        _ => unfit(bytes, at + 1, "an unknown escape stands"),
    }
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = ONES * 0x80;

/// How many bytes come before the first quote, backslash or control character. Eight are looked at at once: texts
/// of code have an escape every forty bytes, too often for a search that has to be started anew each time.
fn plain(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut at = 0;
    for word in words {
        let found = special(u64::from_le_bytes(*word));
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let in_rest = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
    at + in_rest.unwrap_or(rest.len())
}

/// The high bit of each byte that is special. Bytes behind the first such one may be marked wrongly.
fn special(word: u64) -> u64 {
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (zero(word ^ (ONES * 0x22)) | zero(word ^ (ONES * 0x5c)) | control) & HIGH
}

fn word_end(bytes: &[u8], at: usize, word: &[u8]) -> Place {
    if bytes.get(at..at + word.len()) == Some(word) {
        return Ok(at + word.len());
    }
    let same = bytes.get(at..).unwrap_or_default().iter().zip(word).take_while(|(one, other)| one == other);
    unfit(bytes, at + same.count(), "no value stands")
}

fn number_end(bytes: &[u8], at: usize) -> Place {
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        match rest.iter().take_while(|byte| byte.is_ascii_digit()).count() {
            0 => unfit(bytes, from, "a number lacks a digit"),
            count => Ok(from + count),
        }
    };
    let first = if bytes.get(at) == Some(&b'-') { at + 1 } else { at };
    let mut end = if bytes.get(first) == Some(&b'0') { first + 1 } else { digits(first)? };
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(end) {
        end = digits(if let Some(b'+' | b'-') = bytes.get(end + 1) { end + 2 } else { end + 1 })?;
    }
    Ok(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_special_byte_is_found_at_every_place() {
        for length in 0..40 {
            for at in 0..length {
                for special in [b'"', b'\\', 0, 0x1f, b'\n'] {
                    for filling in [b' ', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xa2, 0xdc, 0xff] {
                        let mut bytes = vec![filling; length];
                        bytes[at] = special;
                        assert_eq!(plain(&bytes), at, "{special} in {length} of {filling}");
                    }
                }
            }
            assert_eq!(plain(&vec![b'x'; length]), length);
        }
    }

    #[test]
    fn a_million_levels_need_no_stack() {
        let deep = 1_000_000;
        for (start, end) in [("[", "]"), ("{\"a\":", "}")] {
            let text = format!("{}1{}", start.repeat(deep), end.repeat(deep));
            assert_eq!(value_end(text.as_bytes(), 0), Ok(text.len()));
            let crossed = format!("{}1{}", start.repeat(deep), "]}".repeat(deep / 2));
            assert!(value_end(crossed.as_bytes(), 0).is_err());
        }
        let mixed = format!("{}1{}", "[{\"a\":".repeat(200), "}]".repeat(200));
        assert_eq!(value_end(mixed.as_bytes(), 0), Ok(mixed.len()));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (text, at, part) in [
            ("", 0, "ends"),
            ("[1,]", 3, "no value"),
            ("{\"a\" 1}", 5, "`:`"),
            ("{\"a\":1,}", 7, "name"),
            ("{a:1}", 1, "name"),
            ("[1}", 2, "`]`"),
            ("[1 2]", 3, "`]`"),
            ("\"a\nb\"", 2, "control"),
            ("\"\\x\"", 2, "escape"),
            ("\"\\u12g4\"", 7, "escape"),
            ("\"abc", 4, "ends"),
            ("tru", 3, "ends"),
            ("nul!", 3, "no value"),
            ("-", 1, "ends"),
            ("1.x", 2, "digit"),
            ("1e+", 3, "ends"),
            ("NaN", 0, "no value"),
        ] {
            let wrong = value_end(text.as_bytes(), 0).unwrap_err();
            assert!(wrong.what.contains(part), "{text}: {wrong}");
            assert!(wrong.at.abs_diff(at) <= 1, "{text}: {wrong}");
        }
        assert_eq!(value_end(b"01", 0), Ok(1));
    }
}
