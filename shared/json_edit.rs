//! Edits one value in a JSON file of somebody else's: works on the bytes between the tokens, so that
//! nothing else can change, and on buffers that are wiped, because such a file may hold a key.

use std::path::Path;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions};
use serde::Serialize;
use zeroize::Zeroizing;

use crate::document;
use crate::error::{Error, Result};
use crate::exit::Exit;

/// A text with one part of it replaced.
type Edited = Zeroizing<String>;

/// The text with `name` set to `value`, in the object that `within` names below the top one.
pub fn set<T: Serialize + ?Sized>(
    path: &Path,
    text: &str,
    within: &[&str],
    name: &str,
    value: &T,
) -> Result<Edited> {
    let value = Zeroizing::new(json(value)?);
    let name_text = json(name)?;
    edit(path, text, within, |object| {
        Some(match (last(object, name), object.properties.last()) {
            (Some(property), _) => (property.value.start(), property.value.end(), value),
            (None, Some(before)) => {
                let gap = leading_space(text, before.start());
                (before.end(), before.end(), Zeroizing::new(format!(",{gap}{name_text}: {}", value.as_str())))
            }
            (None, None) => {
                (object.start(), object.end(), Zeroizing::new(format!("{{{name_text}: {}}}", value.as_str())))
            }
        })
    })
}

/// The text without `name` in the object that `within` names.
pub fn unset(path: &Path, text: &str, within: &[&str], name: &str) -> Result<Edited> {
    let mut edited = Zeroizing::new(text.to_owned());
    // Of two properties of one name the last counts, and then the one before it would.
    loop {
        let current = edited.clone();
        let mut found = false;
        edited = edit(path, &current, within, |object| {
            let at = object.properties.iter().rposition(|property| property.name.as_str() == name)?;
            found = true;
            let property = object.properties.get(at)?;
            let before = at.checked_sub(1).and_then(|before| object.properties.get(before));
            let (from, to) = match (before, object.properties.get(at + 1)) {
                (_, Some(next)) => (property.start(), next.start()),
                (Some(before), None) => (before.end(), property.end()),
                (None, None) => (property.start(), property.end()),
            };
            Some((from, to, Zeroizing::default()))
        })?;
        if !found {
            return Ok(edited);
        }
    }
}

fn edit(
    path: &Path,
    text: &str,
    within: &[&str],
    change: impl FnOnce(&Object) -> Option<(usize, usize, Edited)>,
) -> Result<Edited> {
    let strict = ParseOptions {
        allow_comments: false,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        ..ParseOptions::default()
    };
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &strict).map_err(|error| {
        let line = text.get(..error.range().start).unwrap_or_default().lines().count().max(1);
        document::broken(path, line, &format!("it cannot be edited: {}", error.kind()).to_lowercase())
    })?;
    let missing = || document::broken(path, 1, &format!("it has no `{}` object", within.join(".")));
    let Some(Value::Object(top)) = &parsed.value else { return Err(missing()) };
    let mut object = top;
    for name in within {
        let Some(Value::Object(inner)) = last(object, name).map(|property| &property.value) else {
            return Err(missing());
        };
        object = inner;
    }
    let Some((from, to, new)) = change(object) else { return Ok(Zeroizing::new(text.to_owned())) };
    let mut edited = Zeroizing::new(String::with_capacity(text.len() + new.len()));
    edited.push_str(text.get(..from).ok_or_else(missing)?);
    edited.push_str(&new);
    edited.push_str(text.get(to..).ok_or_else(missing)?);
    Ok(edited)
}

/// Of two properties of one name, JSON readers take the last.
fn last<'a, 'b>(object: &'b Object<'a>, name: &str) -> Option<&'b ObjectProp<'a>> {
    object.properties.iter().rev().find(|property| property.name.as_str() == name)
}

/// The white space before this place.
fn leading_space(text: &str, at: usize) -> &str {
    let head = text.get(..at).unwrap_or_default();
    head.get(head.trim_end().len()..).unwrap_or_default()
}

fn json<T: Serialize + ?Sized>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::new(Exit::Bug, "cannot write JSON").caused_by(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str, name: &str) -> String {
        set(Path::new("/s"), text, &["env"], name, "k\"1").unwrap().to_string()
    }

    fn without(text: &str, name: &str) -> String {
        unset(Path::new("/s"), text, &["env"], name).unwrap().to_string()
    }

    #[test]
    fn only_the_value_changes() {
        let odd = "{\t\"permissions\" : {\"allow\":[ ]},\r\n  \"env\":{ \"A\" :\"x\",\n\n\"B\":  \"y\" } , \"z\":1.0}";
        assert_eq!(with(odd, "A"), odd.replace("\"x\"", "\"k\\\"1\""));
        assert_eq!(with(odd, "B"), odd.replace("\"y\"", "\"k\\\"1\""));
    }

    #[test]
    fn a_new_value_stands_like_the_one_before_it() {
        let text = "{\n  \"env\": {\n    \"A\": \"x\"\n  }\n}\n";
        assert_eq!(with(text, "B"), "{\n  \"env\": {\n    \"A\": \"x\",\n    \"B\": \"k\\\"1\"\n  }\n}\n");
        assert_eq!(with("{\"env\":{}}", "B"), "{\"env\":{\"B\": \"k\\\"1\"}}");
        assert_eq!(set(Path::new("/s"), "{}", &[], "on", &true).unwrap().as_str(), "{\"on\": true}");
    }

    #[test]
    fn an_object_of_the_same_name_elsewhere_is_not_meant() {
        let text = "{\"mcp\":{\"env\":{\"A\":\"x\"}},\"env\":{\"A\":\"y\"}}";
        assert_eq!(with(text, "A"), text.replace("\"y\"", "\"k\\\"1\""));
    }

    #[test]
    fn a_value_goes_with_its_comma() {
        assert_eq!(without("{\"env\":{\"A\":\"x\", \"B\":\"y\"}}", "A"), "{\"env\":{\"B\":\"y\"}}");
        assert_eq!(without("{\"env\":{\"A\":\"x\", \"B\":\"y\"}}", "B"), "{\"env\":{\"A\":\"x\"}}");
        assert_eq!(without("{\"env\":{\"A\":\"x\",\"A\":\"z\"}}", "A"), "{\"env\":{}}");
        assert_eq!(without("{\"env\":{}}", "A"), "{\"env\":{}}");
    }
}
