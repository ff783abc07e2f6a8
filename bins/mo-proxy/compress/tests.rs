//! Tests of the compression: it is stable from turn to turn, keeps what stands nowhere else, and only acts when it pays.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;

const SETTINGS: Compressing = Compressing { keep: 4, size: 2_000 };

fn shortened(messages: &[Json]) -> (Vec<Json>, usize) {
    let text = json!({"messages": messages}).to_string();
    let body = Body::read(text.as_bytes()).unwrap();
    let mut edits = Edits::default();
    let saved = shorten(&body, SETTINGS, &mut edits);
    let out = edits.apply(text.as_bytes());
    assert_eq!(text.len() - out.len(), saved);
    let out: Json = serde_json::from_slice(&out).unwrap();
    (out["messages"].as_array().unwrap().clone(), saved)
}

/// A call and its result, as two messages.
fn call(number: usize, tool: &str, input: &Json, result: &Json) -> [Json; 2] {
    let id = format!("t{number}");
    let mut block = json!({"type": "tool_result", "tool_use_id": id});
    block.as_object_mut().unwrap().extend(result.as_object().unwrap().clone());
    [
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": tool, "input": input}]}),
        json!({"role": "user", "content": [block]}),
    ]
}

fn long(letter: &str) -> String {
    letter.repeat(20_000)
}

/// A conversation with these calls first, and small talk up to so many messages.
fn conversation(calls: &[[Json; 2]], length: usize) -> Vec<Json> {
    let mut messages: Vec<Json> = calls.iter().flatten().cloned().collect();
    while messages.len() < length {
        let role = if messages.len().is_multiple_of(2) { "assistant" } else { "user" };
        messages.push(json!({"role": role, "content": "ok"}));
    }
    messages
}

fn result(messages: &[Json], at: usize) -> &Json {
    &messages[2 * at + 1]["content"][0]
}

#[test]
fn old_output_keeps_its_ends_and_files_keep_their_newest_copy() {
    let calls = [
        call(0, "Bash", &json!({"command": "make"}), &json!({"content": long("a")})),
        call(1, "Bash", &json!({"command": "make"}), &json!({"content": long("b"), "is_error": true})),
        call(
            2,
            "Read",
            &json!({"file_path": "/f"}),
            &json!({"content": [{"type": "text", "text": long("c")}]}),
        ),
        call(3, "Read", &json!({"file_path": "/f", "offset": 5}), &json!({"content": long("d")})),
        call(4, "Read", &json!({"file_path": "/f"}), &json!({"content": long("e")})),
        call(
            5,
            "Read",
            &json!({"file_path": "/f"}),
            &json!({"content": "File unchanged since the last read"}),
        ),
        call(6, "Read", &json!({"file_path": "/g"}), &json!({"content": long("g")})),
        call(7, "Read", &json!({"file_path": "/g", "limit": 5}), &json!({"content": long("h")})),
        call(8, "Task", &json!({}), &json!({"content": long("i")})),
        call(
            9,
            "Bash",
            &json!({}),
            &json!({"content": [{"type": "image"}, {"type": "text", "text": long("j")}]}),
        ),
        call(10, "Bash", &json!({}), &json!({"content": "short"})),
        call(11, "Grep", &json!({}), &json!({"content": long("k")})),
        call(12, "Bash", &json!({}), &json!({"content": long("l")})),
        call(13, "Bash", &json!({}), &json!({"content": long("m")})),
        call(14, "Bash", &json!({}), &json!({"content": long("n")})),
    ];
    let messages = conversation(&calls, 44);
    let (out, saved) = shortened(&messages);
    for (at, goes) in [
        (0, true),
        (1, false),
        (2, true),
        (3, true),
        (4, false),
        (5, false),
        (6, false),
        (7, false),
        (8, false),
        (9, false),
        (10, false),
        (11, true),
    ] {
        assert_eq!(result(&out, at)["content"] != result(&messages, at)["content"], goes, "{at}");
    }
    let text = result(&out, 0)["content"].as_str().unwrap();
    assert!(
        text.starts_with(&"a".repeat(400))
            && text.ends_with(&"a".repeat(400))
            && text.contains("19200 bytes")
    );
    assert_eq!(result(&out, 2)["content"], OLDER);
    assert_eq!(result(&out, 1)["is_error"], true);
    assert!(saved > 100_000, "{saved}");
    // Before the cut has moved, nothing changes.
    assert_eq!(shortened(&messages[..43]).1, 0);
}

#[test]
fn a_step_that_does_not_pay_is_not_taken() {
    let mut calls = vec![call(0, "Bash", &json!({}), &json!({"content": "x".repeat(3_000)}))];
    calls.push(call(1, "Task", &json!({}), &json!({"content": long("y")})));
    assert_eq!(shortened(&conversation(&calls, 60)).1, 0);
    calls.truncate(1);
    assert!(shortened(&conversation(&calls, 60)).1 > 1_000);
}

#[test]
fn no_size_of_text_breaks_its_ends() {
    for length in [0, 1, 399, 400, 401, 799, 800, 801, 5_000] {
        let text = "é".repeat(length);
        let ends = ends(&text);
        let letters = ends.matches('é').count();
        assert_eq!(letters, length.min(800), "{length}");
    }
}

fn exchange() -> impl Strategy<Value = (String, Json, Json)> {
    let tool = prop::sample::select(vec!["Bash", "Read", "Read", "Grep", "Task", "Edit"]);
    let path = prop::sample::select(vec!["/a", "/b"]);
    let size = prop_oneof![3 => 0..500_usize, 2 => 2_000..6_000_usize];
    (tool, path, size, any::<bool>(), 0..8_u8).prop_map(|(tool, path, size, part, luck)| {
        let mut input = json!({"file_path": path});
        if part {
            input["limit"] = json!(3);
        }
        let mut result = json!({"content": "z".repeat(size)});
        if luck == 0 {
            result["is_error"] = json!(true);
        }
        (tool.to_owned(), input, result)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// However a conversation grows: what was sent once is sent the same way until the cut moves; results keep their
    /// flags and their ids; and of every file that was read whole a whole copy is left.
    #[test]
    fn turns_share_their_beginning_and_nothing_is_lost(exchanges in prop::collection::vec(exchange(), 30..70)) {
        let calls: Vec<_> = exchanges.iter().enumerate()
            .map(|(at, (tool, input, result))| call(at, tool, input, result)).collect();
        let messages: Vec<Json> = calls.iter().flatten().cloned().collect();
        let mut before: Option<Vec<Json>> = None;
        let mut changes = 0;
        for turns in 1..=calls.len() {
            let now = &messages[..2 * turns];
            let (out, _) = shortened(now);
            prop_assert_eq!(out.len(), now.len());
            if let Some(before) = before.as_ref().filter(|before| out[..before.len()] != before[..]) {
                changes += 1;
                let at = before.iter().zip(&out).position(|(one, other)| one != other);
                prop_assert!(at.is_some_and(|at| at < now.len() - SETTINGS.keep));
            }
            before = Some(out);
        }
        let steps = (messages.len() - SETTINGS.keep) / STEP;
        prop_assert!(changes <= steps, "{changes} changes in {steps} steps");
        let out = before.unwrap();
        let mut whole = std::collections::BTreeSet::new();
        for (at, (tool, input, _)) in exchanges.iter().enumerate() {
            let (old, new) = (result(&messages, at), result(&out, at));
            prop_assert_eq!((&old["tool_use_id"], old.get("is_error")), (&new["tool_use_id"], new.get("is_error")));
            if old.get("is_error").is_some() {
                prop_assert_eq!(old, new);
            }
            let real = tool == "Read" && input.get("limit").is_none() && old.get("is_error").is_none();
            if real && old["content"].as_str().unwrap().len() >= 300 {
                if old == new {
                    whole.insert(input["file_path"].to_string());
                } else {
                    whole.insert(format!("missing {}", input["file_path"]));
                }
            }
        }
        for path in ["\"/a\"", "\"/b\""] {
            let missing = whole.contains(&format!("missing {path}"));
            prop_assert!(!missing || whole.contains(path), "{whole:?}");
        }
    }
}
