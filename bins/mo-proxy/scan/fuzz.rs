//! What must hold for any bytes as a request's body: the fuzz target `scan` and the tests ask it alike.

use serde_json::value::RawValue;

use crate::scan::edit::{Edits, Fate};
use crate::scan::{Body, Value};

/// The scan takes what serde_json takes, reads from it what serde_json reads, and its edits change nothing else.
pub fn check(bytes: &[u8]) {
    let first = bytes.iter().find(|byte| !b" \t\r\n".contains(byte));
    // Unparsed, so that half a surrogate pair and a number of a thousand digits are no trouble.
    let sound = serde_json::from_slice::<&RawValue>(bytes).is_ok() && first == Some(&b'{');
    let body = Body::read(bytes);
    assert_eq!(body.is_ok(), sound, "{body:?}: {}", String::from_utf8_lossy(bytes));
    let Ok(body) = body else { return };
    agrees(body.whole(), 0);
    if let Ok(parsed) = serde_json::from_slice::<serde_json::Value>(bytes) {
        for name in ["model", "max_tokens", "stream", "thinking", "system"] {
            let read =
                body.get(name).map(|value| serde_json::from_slice::<serde_json::Value>(value.raw()).unwrap());
            assert_eq!(read.as_ref(), parsed.get(name), "{name}");
        }
        assert_eq!(body.max_tokens(), parsed.get("max_tokens").and_then(serde_json::Value::as_u64));
        let model = parsed.get("model").and_then(serde_json::Value::as_str).filter(|name| !name.is_empty());
        assert_eq!(body.model().as_deref(), model);
        edits_change_only_what_they_name(&body, &parsed);
    }
}

/// Every string and every container of the document, as far down as the other parser goes.
fn agrees(value: Value<'_>, depth: usize) {
    if depth > 100 {
        return;
    }
    if let Ok(text) = serde_json::from_slice::<String>(value.raw()) {
        assert_eq!(value.text().as_deref(), Some(text.as_str()));
        assert!(value.is_text(&text));
    }
    if value.is_array() {
        let elements: Vec<&RawValue> = serde_json::from_slice(value.raw()).unwrap();
        let items: Vec<_> = value.items().collect();
        assert_eq!(items.len(), elements.len());
        for (item, element) in items.into_iter().zip(elements) {
            assert_eq!(item.raw(), element.get().as_bytes());
            agrees(item, depth + 1);
        }
    }
    for member in value.members() {
        agrees(member.value, depth + 1);
    }
}

fn edits_change_only_what_they_name(body: &Body<'_>, parsed: &serde_json::Value) {
    let mut expected = parsed.as_object().unwrap().clone();
    expected.remove("metadata");
    if expected.contains_key("model") {
        expected.insert("model".into(), "else\"where".into());
    }
    expected.insert("added".into(), 1.into());
    let mut edits = Edits::default();
    let fate = |member: &crate::scan::value::Member<'_>| match () {
        () if member.name.is("metadata") || member.name.is("added") => Fate::Drop,
        () if member.name.is("model") => Fate::Replace(crate::scan::edit::quoted("else\"where")),
        () => Fate::Keep,
    };
    edits.object(body.whole(), fate, &[("added", "1".into())]);
    let changed = edits.apply(body.bytes());
    let edited: serde_json::Value = serde_json::from_slice(&changed).unwrap();
    assert_eq!(edited.as_object().unwrap(), &expected);
    let kept = |body: &Body<'_>| -> Vec<Vec<u8>> {
        let members = body.whole().members();
        let others =
            members.filter(|member| !["metadata", "model", "added"].iter().any(|name| member.name.is(name)));
        others.map(|member| body.bytes()[member.range()].to_vec()).collect()
    };
    assert_eq!(kept(body), kept(&Body::read(&changed).unwrap()));
}
