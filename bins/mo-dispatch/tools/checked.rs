//! Arguments held against a tool's schema: the part of JSON Schema that ours use, every mistake with its place.

use serde_json::{Map, Value};
use shared::flatten::flatten;

/// More mistakes than these help nobody.
const MOST: usize = 8;
/// So much of a wrong word is repeated.
const SHOWN: usize = 40;

/// Checks the arguments; what is wrong with them, in words.
pub fn check(schema: &Value, arguments: &Value) -> Result<(), String> {
    let mut mistakes = Vec::new();
    walk(schema, arguments, "", &mut mistakes);
    if mistakes.is_empty() {
        return Ok(());
    }
    let more = mistakes.len().saturating_sub(MOST);
    mistakes.truncate(MOST);
    let mut text = mistakes.join("; ");
    if more > 0 {
        text.push_str(&format!("; and {more} more"));
    }
    Err(text)
}

fn walk(schema: &Value, value: &Value, place: &str, mistakes: &mut Vec<String>) {
    let mut wrong = |what: String| {
        let place = if place.is_empty() { "the arguments" } else { place };
        mistakes.push(format!("{place}: {what}"));
    };
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    if !is_kind(kind, value) {
        return wrong(format!("must be {}, is {}", article(kind), name_of(value)));
    }
    let limit = |name: &str| schema.get(name).and_then(Value::as_f64);
    let words = schema.get("enum").and_then(Value::as_array);
    if let Some(words) = words.filter(|words| !words.contains(value)) {
        let words: Vec<_> = words.iter().filter_map(Value::as_str).collect();
        let said = flatten(value.as_str().unwrap_or_default(), SHOWN);
        return wrong(format!("`{said}` is none of {}", words.join(", ")));
    }
    match value {
        Value::String(text) => {
            let length = text.chars().count() as f64;
            let is_blank = text.trim().is_empty();
            if limit("minLength").is_some_and(|least| length < least || (is_blank && least > 0.0)) {
                wrong(if is_blank { "is empty".to_owned() } else { "is too short".to_owned() });
            }
            if let Some(most) = limit("maxLength").filter(|most| length > *most) {
                wrong(format!("is longer than {most} characters"));
            }
        }
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            let (least, most) = (limit("minimum"), limit("maximum"));
            let above = limit("exclusiveMinimum").is_none_or(|bound| number > bound);
            if !above || least.is_some_and(|least| number < least) || most.is_some_and(|most| number > most) {
                let from = least.map_or_else(|| "above 0".to_owned(), |least| format!("from {least}"));
                let to = most.map_or_else(String::new, |most| format!(" to {most}"));
                wrong(format!("must be {from}{to}"));
            }
        }
        Value::Array(items) => {
            let count = items.len() as f64;
            if limit("minItems").is_some_and(|least| count < least) {
                wrong("is empty".to_owned());
            }
            if let Some(most) = limit("maxItems").filter(|most| count > *most) {
                wrong(format!("has {count} entries, {most} are the most"));
            }
            if let Some(inner) = schema.get("items") {
                for (at, item) in items.iter().enumerate() {
                    walk(inner, item, &format!("{place}[{at}]"), mistakes);
                }
            }
        }
        Value::Object(members) => object(schema, members, place, mistakes),
        Value::Null | Value::Bool(_) => {}
    }
}

fn object(schema: &Value, members: &Map<String, Value>, place: &str, mistakes: &mut Vec<String>) {
    let below = |name: &str| {
        let name = flatten(name, SHOWN);
        if place.is_empty() { name } else { format!("{place}.{name}") }
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, value) in members {
        match properties.and_then(|properties| properties.get(name)) {
            Some(inner) => walk(inner, value, &below(name), mistakes),
            None => mistakes.push(format!("{}: there is no such parameter", below(name))),
        }
    }
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
        let name = name.as_str().unwrap_or_default();
        if !members.contains_key(name) {
            mistakes.push(format!("{}: is missing", below(name)));
        }
    }
}

fn is_kind(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        _ => true,
    }
}

fn article(kind: &str) -> &str {
    match kind {
        "object" => "an object",
        "array" => "an array",
        "string" => "a text",
        "boolean" => "true or false",
        "integer" => "a whole number",
        _ => "a number",
    }
}

fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::schema;
    use serde_json::json;

    fn refused(tool: &str, arguments: &Value) -> String {
        check(&schema::input(tool).unwrap(), arguments).unwrap_err()
    }

    #[test]
    fn what_fits_passes() {
        let task = json!({"title": "t", "prompt": "p", "timeout_minutes": 480, "budget_usd": 0.5, "check": ["make"]});
        check(&schema::input("dispatch_task").unwrap(), &task).unwrap();
        check(&schema::input("dispatch_tasks").unwrap(), &json!({"tasks": [task], "max_parallel": 3}))
            .unwrap();
        check(&schema::input("list_workers").unwrap(), &json!({})).unwrap();
    }

    #[test]
    fn every_mistake_has_its_place() {
        for (arguments, said) in [
            (json!(null), "the arguments: must be an object, is null"),
            (json!({"title": "t"}), "prompt: is missing"),
            (json!({"title": "t", "prompt": "  "}), "prompt: is empty"),
            (json!({"title": "t", "prompt": 1}), "prompt: must be a text, is a number"),
            (
                json!({"title": "t", "prompt": "p", "timeout_minutes": 0}),
                "timeout_minutes: must be from 1 to 480",
            ),
            (
                json!({"title": "t", "prompt": "p", "timeout_minutes": 1.5}),
                "timeout_minutes: must be a whole number",
            ),
            (json!({"title": "t", "prompt": "p", "budget_usd": 0}), "budget_usd: must be above 0"),
            (
                json!({"title": "t", "prompt": "p", "tier": "o\u{1b}[2J"}),
                "tier: `o [2J` is none of fable, opus",
            ),
            (json!({"title": "t", "prompt": "p", "check": ["a", ""]}), "check[1]: is empty"),
            (json!({"title": "t", "prompt": "p", "x": 1}), "x: there is no such parameter"),
        ] {
            let error = refused("dispatch_task", &arguments);
            assert!(error.contains(said), "{error}");
        }
        assert!(refused("dispatch_tasks", &json!({"tasks": []})).contains("tasks: is empty"));
        assert!(refused("dispatch_tasks", &json!({"tasks": [null]})).contains("tasks[0]: must be an object"));
        let many: Vec<_> = (0..33).map(|_| json!({"title": "t", "prompt": "p"})).collect();
        assert!(refused("dispatch_tasks", &json!({"tasks": many})).contains("tasks: has 33 entries"));
        let all_wrong: Vec<_> = (0..20).map(|_| json!({"title": "t"})).collect();
        assert!(refused("dispatch_tasks", &json!({"tasks": all_wrong})).ends_with("and 12 more"));
    }
}
