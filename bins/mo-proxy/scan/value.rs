//! One value of a body that is known to be well formed: what it is, and what is in it, found by walking over it.

use std::borrow::Cow;
use std::ops::Range;

use super::lexer::{blank, name_end, string_end, value_end};

/// A value, as the place where it stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Value<'a> {
    body: &'a [u8],
    start: usize,
    end: usize,
}

/// A member of an object: its name, its value, and the place of both together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Member<'a> {
    /// The name.
    pub name: Name<'a>,
    /// The value.
    pub value: Value<'a>,
}

/// A name in an object, with its quotes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Name<'a>(Value<'a>);

impl<'a> Value<'a> {
    /// The value at this place. The caller has walked over the body and found it well formed.
    pub(super) fn at(body: &'a [u8], range: Range<usize>) -> Self {
        Self { body, start: range.start, end: range.end }
    }

    /// Where it stands in the body.
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }

    /// Its bytes as they are.
    pub fn raw(self) -> &'a [u8] {
        self.body.get(self.range()).unwrap_or_default()
    }

    /// Whether it is an object.
    pub fn is_object(self) -> bool {
        self.raw().first() == Some(&b'{')
    }

    /// Whether it is an array.
    pub fn is_array(self) -> bool {
        self.raw().first() == Some(&b'[')
    }

    /// Whether it is the word `true`.
    pub fn is_true(self) -> bool {
        self.raw() == b"true"
    }

    /// Whether it is the word `null`.
    pub fn is_null(self) -> bool {
        self.raw() == b"null"
    }

    /// The text of a string. Half a surrogate pair, which JSON allows and no text can hold, is `\u{fffd}`.
    pub fn text(self) -> Option<Cow<'a, str>> {
        let inner = self.raw().strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        if memchr::memchr(b'\\', inner).is_none() {
            return std::str::from_utf8(inner).ok().map(Cow::Borrowed);
        }
        Some(Cow::Owned(unescaped(inner)))
    }

    /// Whether it is this string, however it is written.
    pub fn is_text(self, wanted: &str) -> bool {
        match self.raw() {
            // The usual case needs no look at each byte twice.
            [b'"', inner @ .., b'"'] if inner == wanted.as_bytes() => true,
            raw if memchr::memchr(b'\\', raw).is_none() => false,
            _ => self.text().is_some_and(|text| text == wanted),
        }
    }

    /// The number, where it is one.
    #[cfg(test)]
    pub fn number(self) -> Option<f64> {
        let first = self.raw().first()?;
        (first.is_ascii_digit() || *first == b'-').then(|| self.parsed())?
    }

    /// The whole number from 0 on, where it is one.
    pub fn whole(self) -> Option<u64> {
        self.raw().first()?.is_ascii_digit().then(|| self.parsed())?
    }

    fn parsed<T: std::str::FromStr>(self) -> Option<T> {
        std::str::from_utf8(self.raw()).ok()?.parse().ok()
    }

    /// The members of an object, in their order; none of anything else.
    pub fn members(self) -> Members<'a> {
        Members { next: self.inside(b'{', b'}'), body: self.body }
    }

    /// The elements of an array; none of anything else.
    pub fn items(self) -> Items<'a> {
        Items { next: self.inside(b'[', b']'), body: self.body }
    }

    /// Where the first thing in it stands.
    fn inside(self, opening: u8, closing: u8) -> Option<usize> {
        if self.raw().first() != Some(&opening) {
            return None;
        }
        let first = blank(self.body, self.start + 1);
        (self.body.get(first) != Some(&closing)).then_some(first)
    }

    /// The member of this name; of several the last, as the usual parsers have it.
    pub fn get(self, name: &str) -> Option<Self> {
        self.members().filter(|member| member.name.is(name)).last().map(|member| member.value)
    }
}

impl<'a> Name<'a> {
    /// Whether it is this name, however it is written.
    pub fn is(self, wanted: &str) -> bool {
        self.0.is_text(wanted)
    }

    /// The name as text.
    pub fn text(self) -> Cow<'a, str> {
        self.0.text().unwrap_or_default()
    }

    /// Where it stands, quotes included.
    pub fn range(self) -> Range<usize> {
        self.0.range()
    }
}

impl Member<'_> {
    /// Where name and value stand.
    pub fn range(&self) -> Range<usize> {
        self.name.range().start..self.value.range().end
    }
}

/// The members of an object.
#[derive(Clone, Debug)]
pub struct Members<'a> {
    body: &'a [u8],
    next: Option<usize>,
}

impl<'a> Iterator for Members<'a> {
    type Item = Member<'a>;

    fn next(&mut self) -> Option<Member<'a>> {
        let start = self.next.take()?;
        let name_ends = string_end(self.body, start + 1).ok()?;
        let value = name_end(self.body, start).ok()?;
        let end = value_end(self.body, value).ok()?;
        self.next = following(self.body, end);
        let name = Name(Value::at(self.body, start..name_ends));
        Some(Member { name, value: Value::at(self.body, value..end) })
    }
}

/// The elements of an array.
#[derive(Clone, Debug)]
pub struct Items<'a> {
    body: &'a [u8],
    next: Option<usize>,
}

impl<'a> Iterator for Items<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        let start = self.next.take()?;
        let end = value_end(self.body, start).ok()?;
        self.next = following(self.body, end);
        Some(Value::at(self.body, start..end))
    }
}

/// Where the next thing stands behind one that has ended, if a comma follows.
fn following(body: &[u8], end: usize) -> Option<usize> {
    let comma = blank(body, end);
    (body.get(comma) == Some(&b',')).then(|| blank(body, comma + 1))
}

/// The characters that a string's inside means.
fn unescaped(inner: &[u8]) -> String {
    let text = String::from_utf8_lossy(inner);
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let mut letters = after.chars();
        let meant = match letters.next() {
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => {
                let (meant, length) = code_point(after);
                plain.push(meant);
                rest = after.get(length..).unwrap_or_default();
                continue;
            }
            Some(other) => other,
            None => break,
        };
        plain.push(meant);
        rest = letters.as_str();
    }
    plain.push_str(rest);
    plain
}

/// The character that `uXXXX` (or a pair `uXXXX\uXXXX`) means, and how many bytes that takes.
fn code_point(after: &str) -> (char, usize) {
    let unit =
        |from: usize| after.get(from..from + 4).and_then(|digits| u16::from_str_radix(digits, 16).ok());
    let first = unit(1).unwrap_or(0xfffd);
    if after.get(5..7) == Some("\\u")
        && let Some(second) = unit(7)
        && let Some(Ok(meant)) = char::decode_utf16([first, second]).next()
        && meant.len_utf16() == 2
    {
        return (meant, 11);
    }
    (char::from_u32(u32::from(first)).unwrap_or('\u{fffd}'), 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value<'_> {
        Value::at(text.as_bytes(), 0..text.len())
    }

    #[test]
    fn texts_are_read_however_they_are_written() {
        assert_eq!(value(r#""a\u0062\n\"\/\\\ud83d\ude00é""#).text().unwrap(), "ab\n\"/\\😀é");
        assert_eq!(value(r#""\ud83d""#).text().unwrap(), "\u{fffd}");
        assert_eq!(
            value(r#""\ud83dx\udc00\ud83d\ud83d\ude00""#).text().unwrap(),
            "\u{fffd}x\u{fffd}\u{fffd}😀"
        );
        assert_eq!(value("1").text(), None);
        assert!(value(r#""mod\u0065l""#).is_text("model") && !value(r#""modes""#).is_text("model"));
    }

    #[test]
    fn the_last_of_several_members_counts() {
        let object = value(r#"{ "a" : 1 , "b":[ 1 , {"a":2} ], "\u0061":3 }"#);
        assert_eq!(object.get("a").unwrap().whole(), Some(3));
        assert_eq!(object.get("b").unwrap().items().count(), 2);
        assert_eq!(object.get("c"), None);
        assert_eq!(
            value("[]").items().count() + value("{ }").members().count() + value("3").items().count(),
            0
        );
    }

    #[test]
    fn numbers_are_what_they_look_like() {
        assert_eq!(value("9007199254740993").whole(), Some(9_007_199_254_740_993));
        assert_eq!((value("-1").whole(), value("1.5").whole(), value("\"1\"").whole()), (None, None, None));
        assert_eq!(value("-1.5e1").number(), Some(-15.0));
    }
}
