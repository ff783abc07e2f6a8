//! Tests of the markers: never more than four, never in a wrong order, never where Anthropic refuses one.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::add;
use crate::scan::Body;
use crate::scan::edit::Edits;

fn marked(request: &Json) -> Json {
    let text = request.to_string();
    let body = Body::read(text.as_bytes()).unwrap();
    let mut edits = Edits::default();
    let added = add(&body, &mut edits);
    let out: Json = serde_json::from_slice(&edits.apply(text.as_bytes())).unwrap();
    assert_eq!(added, out != *request, "{request}");
    out
}

/// The markers in the order in which Anthropic reads them, with the block that bears each.
fn markers(request: &Json) -> Vec<(String, Json)> {
    fn of(value: &Json, found: &mut Vec<(String, Json)>) {
        if let Some(marker) = value.get("cache_control").filter(|marker| !marker.is_null()) {
            found.push((marker["ttl"].as_str().unwrap_or("5m").to_owned(), value.clone()));
        }
        for part in ["content", "system", "messages", "tools"] {
            for item in value[part].as_array().into_iter().flatten() {
                of(item, found);
            }
        }
    }
    let mut found = Vec::new();
    for part in ["tools", "system", "messages"] {
        for item in request[part].as_array().into_iter().flatten() {
            of(item, &mut found);
        }
    }
    if request.get("cache_control").is_some_and(|marker| !marker.is_null()) {
        found.push(("5m".into(), json!({"type": "top"})));
    }
    found
}

#[test]
fn markers_stand_behind_what_stays_the_same() {
    let out = marked(&json!({
        "model": "claude-x",
        "system": "You are",
        "tools": [{"name": "A"}, {"name": "B"}],
        "messages": [
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": [{"type": "text", "text": "two"}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}, {"type": "text", "text": " "}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "t"}]},
            {"role": "user", "content": "five"},
        ],
    }));
    let marker = json!({"type": "ephemeral"});
    assert_eq!(out["tools"][1]["cache_control"], marker);
    assert_eq!(out["system"], json!([{"type": "text", "text": "You are", "cache_control": marker}]));
    assert_eq!(out["messages"][2]["content"][0]["cache_control"], marker);
    assert_eq!(out["messages"][4]["content"][0]["cache_control"], marker);
    assert_eq!(markers(&out).len(), 4);
}

#[test]
fn a_client_that_marks_is_left_alone() {
    for request in [
        json!({"system": "s", "cache_control": {"type": "ephemeral"}}),
        json!({"system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]}),
        json!({"system": "s", "tools": [{"name": "A", "cache_control": {"type": "ephemeral"}}]}),
        json!({"system": "s", "messages": [{"role": "user", "content": [{"type": "tool_result", "content": [
            {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]}]}]}),
    ] {
        assert_eq!(marked(&request), request);
    }
}

fn marker() -> impl Strategy<Value = Json> {
    prop_oneof![
        9 => Just(Json::Null),
        1 => Just(json!({"type": "ephemeral"})),
        1 => Just(json!({"type": "ephemeral", "ttl": "1h"})),
    ]
}

fn block() -> impl Strategy<Value = Json> {
    let kind = prop_oneof![
        "[a ]{0,3}".prop_map(|text| json!({"type": "text", "text": text})),
        Just(json!({"type": "thinking", "thinking": "t", "signature": "s"})),
        Just(json!({"type": "redacted_thinking", "data": "d"})),
        Just(json!({"type": "tool_use", "id": "i", "name": "n", "input": {"cache_control": 1}})),
        Just(json!({"type": "tool_result", "tool_use_id": "i", "content": [{"type": "text", "text": "x"}]})),
    ];
    (kind, marker()).prop_map(|(mut block, marker)| {
        if !marker.is_null() && block["type"] != "thinking" {
            block["cache_control"] = marker;
        }
        block
    })
}

fn content() -> impl Strategy<Value = Json> {
    prop_oneof!["[a ]{0,3}".prop_map(Json::from), prop::collection::vec(block(), 0..4).prop_map(Json::from)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn no_request_gets_a_marker_that_anthropic_refuses(
        system in prop::option::of(content()),
        tools in prop::collection::vec(marker(), 0..3),
        messages in prop::collection::vec((prop::sample::select(vec!["user", "assistant"]), content()), 0..6),
        top in marker(),
    ) {
        let mut request = json!({
            "tools": tools.iter().map(|marker| json!({"name": "t", "cache_control": marker})).collect::<Vec<_>>(),
            "messages": messages.iter().map(|(role, content)| json!({"role": role, "content": content})).collect::<Vec<_>>(),
            "cache_control": top,
        });
        if let Some(system) = system {
            request["system"] = system;
        }
        let before = markers(&request);
        let out = marked(&request);
        let after = markers(&out);
        if !before.is_empty() {
            prop_assert_eq!(&out, &request);
            return Ok(());
        }
        prop_assert!(after.len() <= 4, "{after:?}");
        // Once five minutes have been said, no hour follows.
        let lasts: Vec<&str> = after.iter().map(|(lasts, _)| lasts.as_str()).collect();
        prop_assert!(!lasts.windows(2).any(|pair| pair == ["5m", "1h"]), "{lasts:?}");
        for (_, block) in &after {
            let kind = block["type"].as_str().unwrap_or("tool");
            prop_assert!(!kind.contains("thinking"), "{block}");
            prop_assert!(kind != "text" || !block["text"].as_str().unwrap().trim().is_empty(), "{block}");
        }
    }
}
