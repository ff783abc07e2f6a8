//! Tests of the scan: it agrees with serde_json on any document, however it is written and however it is damaged.

use proptest::prelude::*;
use serde_json::json;

use super::fuzz::check;
use super::replay::replay;
use super::*;

/// A value as text, written in one of the ways in which the same value can be written.
fn written() -> impl Strategy<Value = String> {
    let text = prop_oneof!["\\PC{0,12}", "[\\x00-\\x7f]{0,12}", Just("thinking".to_owned())];
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        Just("1e400".to_owned()),
        Just("-0.5E-2".to_owned()),
        Just(r#""\ud83d \u0000 \/""#.to_owned()),
        text.prop_map(|text| json!(text).to_string()),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|items| format!("[{}]", items.join(" ,\n"))),
            members(inner),
        ]
    })
}

fn members(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let name = prop_oneof![
        prop::sample::select(&DECIDING[..]).prop_map(|name| json!(name).to_string()),
        Just(r#""mod\u0065l""#.to_owned()),
        Just(r#""added""#.to_owned()),
        "[a-z]{0,3}".prop_map(|name| json!(name).to_string()),
    ];
    let blank = prop::sample::select(vec!["", " ", "\n\t", "\r\n  "]);
    prop::collection::vec((name, value, blank), 0..6).prop_map(|members| {
        let members: Vec<_> = members
            .iter()
            .map(|(name, value, blank)| format!("{blank}{name}{blank}:{blank}{value}{blank}"))
            .collect();
        format!("{{{}}}", members.join(","))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn it_agrees_with_serde_json_on_any_document(text in members(written())) {
        check(text.as_bytes());
        prop_assert!(Body::read(text.as_bytes()).is_ok());
    }

    #[test]
    fn it_agrees_with_serde_json_on_any_damage(
        text in members(written()), at in any::<prop::sample::Index>(), byte in any::<u8>(), how in 0..3
    ) {
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len());
        match how {
            0 => bytes[at] = byte,
            1 => bytes.truncate(at),
            _ => bytes.insert(at, byte),
        }
        check(&bytes);
    }
}

#[test]
fn ten_thousand_damaged_requests_are_read_as_serde_json_reads_them() {
    replay("scan", b"{}[]\",:\\ tfn0-", check);
}

#[test]
fn what_is_no_request_is_told_with_its_place() {
    for (body, at) in [
        (&b""[..], 0),
        (b"[]", 0),
        (b"\xef\xbb\xbf{}", 0),
        (b"{} {}", 3),
        (b"{\"model\":\"x\",}", 13),
        (b"{\"a\":\"\xff\"}", 6),
        (b"{\"a\":1", 6),
        (b"model=x", 0),
    ] {
        assert_eq!(Body::read(body).unwrap_err().at, at, "{}", String::from_utf8_lossy(body));
    }
    let told = Body::read(b"{\"a\":1").unwrap_err().to_string();
    assert_eq!(told, "the text ends too early at byte 6");
}

#[test]
fn the_last_of_two_models_counts_as_everywhere() {
    let read = Body::read(br#"{"model":"a","max_tokens":1,"mod\u0065l":"b"}"#).unwrap();
    assert_eq!((read.model().as_deref(), read.max_tokens(), read.stream()), (Some("b"), Some(1), false));
    for body in [&br#"{"model":""}"#[..], br#"{"model":1}"#, b"{}"] {
        assert_eq!(Body::read(body).unwrap().model(), None);
    }
}

#[test]
fn thirty_two_mebibytes_of_hostile_text_are_read_once() {
    for piece in ["[", "\"\\\\\\\"\",", "{\"a\":"] {
        let mut body = format!("{{\"model\":\"m\",\"a\":[{}", piece.repeat((1 << 20) / piece.len()));
        assert!(Body::read(body.as_bytes()).is_err());
        body.push(']');
        assert!(Body::read(body.as_bytes()).is_err());
    }
    let body = format!("{{\"messages\":\"{}\",\"model\":\"m\"}}", "\\n plain é".repeat(3 << 20));
    assert_eq!(Body::read(body.as_bytes()).unwrap().model().as_deref(), Some("m"));
}
