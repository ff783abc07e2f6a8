//! Reading a document member by member: what does not fit is noted with its line, and reading goes on.

use std::ops::RangeInclusive;
use std::path::Path;

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use shared::nearest::nearest;
use shared::redact::typed;

use super::mistake::Mistake;

/// The document, and what is wrong with it so far.
pub struct Reader<'t> {
    path: &'t Path,
    text: &'t str,
    /// What is wrong so far.
    pub mistakes: Vec<Mistake>,
}

/// An object in the document, and how it is called in messages.
pub struct Part<'a, 't> {
    object: &'a Object<'t>,
    name: String,
}

/// A text, and where it stands.
pub struct Text {
    /// What it says.
    pub text: String,
    /// Where it stands, as a byte.
    pub at: usize,
}

impl<'t> Reader<'t> {
    /// Begins with this text.
    pub fn new(path: &'t Path, text: &'t str) -> Self {
        Self { path, text, mistakes: Vec::new() }
    }

    /// The document's value. Comments and a comma too many are fine, every other liberty is not.
    pub fn parsed(&mut self) -> Option<Value<'t>> {
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        match parse_to_ast(self.text, &CollectOptions::default(), &options) {
            Ok(parsed) if parsed.value.is_some() => parsed.value,
            Ok(_) => {
                self.wrong(0, "it is empty; `{}` says nothing, too".to_owned());
                None
            }
            Err(error) => {
                self.wrong(error.range().start, error.kind().to_string().to_lowercase());
                None
            }
        }
    }

    /// Notes a mistake at this byte.
    pub fn wrong(&mut self, at: usize, what: String) {
        let line = self.line(at);
        self.mistakes.push(Mistake::on_line(self.path, line, what));
    }

    /// Notes a mistake on this line.
    pub fn wrong_on(&mut self, line: usize, what: String) {
        self.mistakes.push(Mistake::on_line(self.path, line, what));
    }

    /// The line of this byte.
    pub fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().get(..at).unwrap_or(self.text.as_bytes());
        memchr::memchr_iter(b'\n', before).count() + 1
    }

    /// The value as an object that has only members of these names; any, where none is named.
    pub fn part<'a>(&mut self, value: &'a Value<'t>, name: &str, known: &[&str]) -> Option<Part<'a, 't>> {
        let Value::Object(object) = value else {
            let called = if name.is_empty() { "the configuration".to_owned() } else { format!("`{name}`") };
            self.wrong(value.start(), format!("{called} must be an object"));
            return None;
        };
        let part = Part { object, name: name.to_owned() };
        for (at, member) in object.properties.iter().enumerate() {
            let own = member.name.as_str();
            if object.properties.iter().take(at).any(|earlier| earlier.name.as_str() == own) {
                self.wrong(member.range.start, format!("`{}` stands twice", part.called(&typed(own))));
            } else if !known.is_empty() && !known.contains(&own) {
                let meant = match nearest(own, known.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("there are {}", known.join(", ")),
                };
                self.wrong(member.range.start, format!("`{}` is unknown; {meant}", part.called(&typed(own))));
            }
        }
        Some(part)
    }
}

impl<'a, 't> Part<'a, 't> {
    /// How its member of this name is called.
    pub fn called(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }

    /// Where it stands, as a byte.
    pub fn at(&self) -> usize {
        self.object.range.start
    }

    /// The value of this name; `null` counts as none.
    pub fn value(&self, key: &str) -> Option<&'a Value<'t>> {
        let member = self.object.properties.iter().find(|member| member.name.as_str() == key)?;
        (!matches!(member.value, Value::NullKeyword(_))).then_some(&member.value)
    }

    /// All members, with the byte at which each begins.
    pub fn members(&self) -> impl Iterator<Item = (&'a str, usize, &'a Value<'t>)> {
        self.object.properties.iter().map(|member| (member.name.as_str(), member.range.start, &member.value))
    }

    /// An object in it.
    pub fn part(&self, reader: &mut Reader<'t>, key: &str, known: &[&str]) -> Option<Part<'a, 't>> {
        reader.part(self.value(key)?, &self.called(key), known)
    }

    /// A text in it.
    pub fn text(&self, reader: &mut Reader<'t>, key: &str) -> Option<Text> {
        match self.value(key)? {
            Value::StringLit(text) if !text.value.is_empty() => {
                Some(Text { text: text.value.to_string(), at: text.range.start })
            }
            other => {
                reader.wrong(other.start(), format!("`{}` must be a text", self.called(key)));
                None
            }
        }
    }

    /// A text in it, or a number as it stands there.
    pub fn text_or_number(&self, reader: &mut Reader<'t>, key: &str) -> Option<Text> {
        match self.value(key) {
            Some(Value::NumberLit(number)) => {
                Some(Text { text: number.value.to_string(), at: number.range.start })
            }
            _ => self.text(reader, key),
        }
    }

    /// A list of texts in it.
    pub fn texts(&self, reader: &mut Reader<'t>, key: &str) -> Vec<Text> {
        let Some(value) = self.value(key) else { return Vec::new() };
        let Value::Array(array) = value else {
            reader.wrong(value.start(), format!("`{}` must be a list of texts", self.called(key)));
            return Vec::new();
        };
        let mut texts = Vec::new();
        for element in &array.elements {
            match element {
                Value::StringLit(text) if !text.value.is_empty() => {
                    texts.push(Text { text: text.value.to_string(), at: text.range.start });
                }
                other => {
                    reader.wrong(other.start(), format!("`{}` may hold only texts", self.called(key)));
                }
            }
        }
        texts
    }

    /// A switch in it.
    pub fn switch(&self, reader: &mut Reader<'t>, key: &str) -> Option<bool> {
        match self.value(key)? {
            Value::BooleanLit(switch) => Some(switch.value),
            other => {
                reader.wrong(other.start(), format!("`{}` must be true or false", self.called(key)));
                None
            }
        }
    }

    /// A whole number in it, within this range.
    pub fn whole(&self, reader: &mut Reader<'t>, key: &str, range: RangeInclusive<u64>) -> Option<u64> {
        let value = self.value(key)?;
        let number = value.as_number_lit().and_then(|number| number.value.parse().ok());
        let fits = number.filter(|number| range.contains(number));
        if fits.is_none() {
            let (from, to) = range.into_inner();
            let what = format!("`{}` must be a whole number from {from} to {to}", self.called(key));
            reader.wrong(value.start(), what);
        }
        fits
    }

    /// A number in it, within this range.
    pub fn number(&self, reader: &mut Reader<'t>, key: &str, range: RangeInclusive<f64>) -> Option<f64> {
        let value = self.value(key)?;
        let number: Option<f64> = value.as_number_lit().and_then(|number| number.value.parse().ok());
        let fits = number.filter(|number| range.contains(number));
        if fits.is_none() {
            let (from, to) = range.into_inner();
            reader
                .wrong(value.start(), format!("`{}` must be a number from {from} to {to}", self.called(key)));
        }
        fits
    }
}
