//! What a request's body asks for, read by walking over it once: the members that decide, as places in the body.
//! Nothing is copied, and the bytes that nobody decides over are never made anew; what to change is `transform`'s.

pub mod edit;
#[cfg(test)]
mod fuzz;
pub mod lexer;
#[cfg(test)]
pub mod replay;
#[cfg(test)]
mod tests;
pub mod value;

use std::borrow::Cow;
use std::ops::Range;

pub use lexer::Malformed;
pub use value::Value;

/// The members of a request that anything here decides by.
const DECIDING: [&str; 11] = [
    "model",
    "stream",
    "max_tokens",
    "thinking",
    "temperature",
    "metadata",
    "system",
    "tools",
    "messages",
    "cache_control",
    "output_config",
];

/// A request's body that is one well-formed JSON object, and where its deciding members stand.
#[derive(Clone, Debug)]
pub struct Body<'a> {
    bytes: &'a [u8],
    whole: Range<usize>,
    places: [Option<(usize, usize)>; DECIDING.len()],
    models: usize,
}

impl<'a> Body<'a> {
    /// Walks over the body. Every byte of it is looked at: what comes out is what any JSON parser would accept, and
    /// also a string with half a surrogate pair, which clients write and only the provider may refuse.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        if let Err(error) = std::str::from_utf8(bytes) {
            return Err(Malformed { at: error.valid_up_to(), what: "no valid UTF-8 stands" });
        }
        let start = lexer::blank(bytes, 0);
        if bytes.get(start) != Some(&b'{') {
            return Err(Malformed { at: start, what: "no JSON object begins" });
        }
        let mut places = [None; DECIDING.len()];
        let (end, models) = members(bytes, start, &mut places)?;
        match lexer::blank(bytes, end) {
            rest if rest == bytes.len() => Ok(Self { bytes, whole: start..end, places, models }),
            at => Err(Malformed { at, what: "something stands behind the object" }),
        }
    }

    /// The bytes that were read.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The whole object.
    pub fn whole(&self) -> Value<'a> {
        Value::at(self.bytes, self.whole.clone())
    }

    /// A deciding member's value; of several of one name the last.
    pub fn get(&self, name: &str) -> Option<Value<'a>> {
        let at = DECIDING.iter().position(|known| *known == name)?;
        let (start, end) = self.places.get(at).copied().flatten()?;
        Some(Value::at(self.bytes, start..end))
    }

    /// The model's name; nothing where it is missing, empty or no text.
    pub fn model(&self) -> Option<Cow<'a, str>> {
        self.get("model")?.text().filter(|name| !name.is_empty())
    }

    /// Whether it names its model more than once: other readers may take another of them.
    pub fn names_models(&self) -> bool {
        self.models > 1
    }

    /// Whether the answer is wanted as a stream.
    pub fn stream(&self) -> bool {
        self.get("stream").is_some_and(Value::is_true)
    }

    /// The most tokens the answer may have.
    pub fn max_tokens(&self) -> Option<u64> {
        self.get("max_tokens")?.whole()
    }
}

/// Walks over the object's members, notes where the deciding ones stand, and tells where the object ends and how often it
/// names its model.
fn members(
    body: &[u8],
    start: usize,
    places: &mut [Option<(usize, usize)>; DECIDING.len()],
) -> Result<(usize, usize), Malformed> {
    let (mut at, mut models) = (lexer::blank(body, start + 1), 0);
    if body.get(at) == Some(&b'}') {
        return Ok((at + 1, models));
    }
    loop {
        let value = lexer::name_end(body, at)?;
        let end = lexer::value_end(body, value)?;
        let name = Value::at(body, at..lexer::string_end(body, at + 1)?);
        let known = DECIDING.iter().position(|known| name.is_text(known));
        // The model is the first of them.
        models += usize::from(known == Some(0));
        if let Some(place) = known.and_then(|known| places.get_mut(known)) {
            *place = Some((value, end));
        }
        at = lexer::blank(body, end);
        match body.get(at) {
            Some(b',') => at = lexer::blank(body, at + 1),
            Some(b'}') => return Ok((at + 1, models)),
            Some(_) => return Err(Malformed { at, what: "neither `,` nor `}` stands" }),
            None => return Err(Malformed { at, what: "the text ends too early" }),
        }
    }
}
