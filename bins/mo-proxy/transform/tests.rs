//! Tests of the shaping: what goes, what stays byte for byte, and that Anthropic gets what the client sent.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use shared::base_url::BaseUrl;
use shared::model::Model;

use super::*;
use crate::config::Profile;

/// Thinking as Anthropic signs it, and as another does.
fn theirs() -> Json {
    json!({"type": "thinking", "thinking": "hm \u{1F914}", "signature": format!("EqQB{}", "x".repeat(200))})
}

fn others() -> Json {
    json!({"type": "thinking", "thinking": "hm", "signature": "b1946ac92492d2347c6235b4d2611184"})
}

fn leg(profile: Option<Profile>, keeps: &[&str]) -> Leg {
    let mut provider = Provider::at("zai", BaseUrl::parse("https://api.z.ai").unwrap().url);
    provider.models.insert("glm-5.2".into(), Model { max_output: Some(65_536), ..Model::default() });
    provider.keeps = keeps.iter().map(|kept| (*kept).to_owned()).collect();
    Leg { way: Way::Provider(Arc::new(provider)), model: "glm-5.2".into(), profile: profile.map(Arc::new) }
}

fn anthropic(model: &str) -> Leg {
    Leg { way: Way::Anthropic, model: model.into(), profile: None }
}

fn shaped(request: &Json, leg: &Leg) -> (Json, Vec<&'static str>) {
    let text = request.to_string();
    let body = Body::read(text.as_bytes()).unwrap();
    let shaped = shape(&body, leg, &Minted::default(), Extras::default());
    (serde_json::from_slice(&shaped.body).unwrap(), shaped.changes)
}

/// A request as Claude Code sends it to a model of Anthropic's.
fn request() -> Json {
    json!({
        "model": "mo-worker",
        "max_tokens": 128_000,
        "stream": true,
        "thinking": {"type": "adaptive"},
        "metadata": {"user_id": "{\"device_id\":\"d\",\"account_uuid\":\"a\",\"session_id\":\"s\"}"},
        "context_management": {"edits": []},
        "output_config": {"effort": "medium"},
        "something_new": 1,
        "system": [
            {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.332.abc; cch=12345;"},
            {"type": "text", "text": "You are", "cache_control": {"type": "ephemeral"}},
        ],
        "tools": [
            {"name": "Read", "description": "d", "input_schema": {"type": "object"}, "defer_loading": true},
            {"type": "web_search_20250305", "name": "web_search"},
        ],
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [theirs(), {"type": "tool_use", "id": "t", "name": "ToolSearch", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [
                {"type": "tool_reference", "tool_name": "Read"}]}]},
            {"role": "assistant", "content": [others(), {"type": "text", "text": "ok"}]},
            {"role": "user", "content": "9007199254740993"},
        ],
    })
}

#[test]
fn a_provider_gets_what_it_understands() {
    let (out, changes) = shaped(&request(), &leg(None, &[]));
    assert_eq!(
        out,
        json!({
            "model": "glm-5.2",
            "max_tokens": 65_536,
            "stream": true,
            "thinking": {"type": "enabled", "budget_tokens": 8192},
            "system": [{"type": "text", "text": "You are", "cache_control": {"type": "ephemeral"}}],
            "tools": [{"name": "Read", "description": "d", "input_schema": {"type": "object"}}],
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "ToolSearch", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [
                    {"type": "text", "text": "The tool Read can be used now."}]}]},
                {"role": "assistant", "content": [others(), {"type": "text", "text": "ok"}]},
                {"role": "user", "content": "9007199254740993"},
            ],
        })
    );
    for change in [
        "model",
        "max_tokens",
        "thinking",
        "metadata",
        "context_management",
        "output_config",
        "members",
        "billing",
        "tools",
        "thinking-blocks",
        "tool-references",
    ] {
        assert!(changes.contains(&change), "{change}: {changes:?}");
    }
    assert_eq!(changes.len(), 11, "{changes:?}");
}

#[test]
fn anthropics_own_names_are_never_touched() {
    let mut request = request();
    request["model"] = json!("claude-opus-5-5");
    let text = request.to_string();
    let body = Body::read(text.as_bytes()).unwrap();
    let shaped = shape(&body, &anthropic("claude-opus-5-5"), &Minted::default(), Extras::default());
    assert_eq!(shaped, Shaped { body: Cow::Borrowed(text.as_bytes()), changes: Vec::new() });
    assert!(outline(&anthropic("claude-opus-5-5")).is_empty());
}

#[test]
fn what_the_user_turned_on_is_done_and_told() {
    let extras = Extras { markers: true, compressing: Some(Compressing { keep: 4, size: 2_000 }) };
    let mut messages = Vec::new();
    for at in 0..30 {
        let call = json!({"type": "tool_use", "id": format!("t{at}"), "name": "Bash", "input": {}});
        messages.push(json!({"role": "assistant", "content": [call]}));
        let result =
            json!({"type": "tool_result", "tool_use_id": format!("t{at}"), "content": "x".repeat(9_000)});
        messages.push(json!({"role": "user", "content": [result]}));
    }
    let text = json!({"model": "claude-x", "max_tokens": 9, "system": "s", "messages": messages}).to_string();
    let body = Body::read(text.as_bytes()).unwrap();
    let done = shape(&body, &anthropic("claude-x"), &Minted::default(), extras);
    assert_eq!(done.changes, ["compressed", "markers"]);
    assert!(done.body.len() < text.len() / 2);
    let out: Json = serde_json::from_slice(&done.body).unwrap();
    assert_eq!(out["system"][0]["cache_control"], json!({"type": "ephemeral"}));
    assert_eq!(out["messages"][59]["content"][0]["content"], messages[59]["content"][0]["content"]);
    // A provider gets no marker.
    assert!(!shape(&body, &leg(None, &[]), &Minted::default(), extras).changes.contains(&"markers"));
}

#[test]
fn a_role_that_leads_to_anthropic_loses_its_name_and_the_thinking_of_others() {
    let (out, changes) = shaped(&request(), &anthropic("claude-haiku-5-5"));
    let mut expected = request();
    expected["model"] = json!("claude-haiku-5-5");
    expected["messages"][3]["content"].as_array_mut().unwrap().remove(0);
    expected.as_object_mut().unwrap().remove("thinking");
    assert_eq!((out, changes), (expected, vec!["thinking-blocks", "model", "thinking"]));
}

#[test]
fn a_round_of_tools_that_lost_its_thinking_goes_on_without() {
    let mut request = request();
    request["messages"].as_array_mut().unwrap().truncate(3);
    let (out, _) = shaped(&request, &leg(None, &[]));
    assert_eq!(out["thinking"], json!({"type": "disabled"}));
    // A turn that held nothing else is not left empty.
    request["messages"][1]["content"] = json!([theirs(), {"type": "redacted_thinking", "data": "x"}]);
    let (out, _) = shaped(&request, &leg(None, &[]));
    assert_eq!(out["messages"][1]["content"], json!([{"type": "text", "text": "(no text)"}]));
}

#[test]
fn a_profile_shapes_and_never_raises_unless_it_has_a_floor() {
    let profile = |text: &str| {
        let text = format!(r#"{{"profiles": {{"p": {text}}}}}"#);
        let read = crate::config::Config::read(
            &shared::env::Env::default(),
            std::path::Path::new("/c"),
            Some(text.as_bytes()),
        );
        Some(read.unwrap().profiles["p"].clone())
    };
    let plain = |max_tokens: u64| json!({"model": "m", "max_tokens": max_tokens, "messages": []});
    let out = |request: &Json, text: &str| shaped(request, &leg(profile(text), &[])).0;
    assert_eq!(out(&plain(100), r#"{"max_tokens": 1000}"#)["max_tokens"], 100);
    assert_eq!(out(&plain(9_000), r#"{"max_tokens": 1000}"#)["max_tokens"], 1000);
    assert_eq!(out(&plain(100), r#"{"floor": 8192}"#)["max_tokens"], 8192);
    assert_eq!(out(&plain(100), r#"{"thinking": 8000}"#)["thinking"]["type"], "disabled");
    assert_eq!(out(&plain(100), r#"{"temperature": 0.3}"#)["temperature"], 0.3);
    // A temperature stays the caller's, and none is put beside thinking.
    let thinks = r#"{"temperature": 0.3, "thinking": 4000}"#;
    let thinking = out(&plain(32_000), thinks);
    assert_eq!((&thinking["thinking"]["budget_tokens"], thinking.get("temperature")), (&json!(4000), None));
    let mut request = plain(32_000);
    request["temperature"] = json!(1);
    assert_eq!(out(&request, r#"{"temperature": 0.3}"#)["temperature"], 1);
    // A forced tool excludes thinking.
    request["tool_choice"] = json!({"type": "tool", "name": "x"});
    assert_eq!(out(&request, r#"{"thinking": 4000}"#).get("thinking"), None);
    // Counting tokens gets no members that it does not know.
    let count = json!({"model": "m", "messages": []});
    assert_eq!(
        out(&count, r#"{"floor": 9, "temperature": 0.3}"#),
        json!({"model": "glm-5.2", "messages": []})
    );
}

#[test]
fn what_a_provider_is_said_to_understand_stays() {
    let (out, _) = shaped(
        &request(),
        &leg(None, &["output_config", "adaptive", "defer_loading", "web_search_20250305"]),
    );
    assert_eq!(out["output_config"], json!({"effort": "medium"}));
    assert_eq!(out["thinking"], json!({"type": "adaptive"}));
    assert_eq!(out["tools"], request()["tools"]);
    assert_eq!(out.get("metadata"), None);
}

#[test]
fn a_billing_line_goes_wherever_it_stands() {
    for (system, left) in [
        (json!("x-anthropic-billing-header: a;\n\nYou are"), json!("You are")),
        (
            json!([{"type": "text", "text": "x-anthropic-billing-header: a;\nYou are"}]),
            json!([{"type": "text", "text": "You are"}]),
        ),
        (json!([{"type": "text", "text": "x-anthropic-billing-header: a;"}]), json!([])),
        (json!("You are x-anthropic-billing-header:"), json!("You are x-anthropic-billing-header:")),
    ] {
        let request = json!({"model": "m", "max_tokens": 1, "system": system});
        assert_eq!(shaped(&request, &leg(None, &[])).0["system"], left);
    }
}

#[test]
fn an_outline_says_what_a_profile_does() {
    let profile =
        Profile { max_tokens: Some(1000), floor: Some(10), thinking: Some(Thinking::Off), temperature: None };
    let told = outline(&leg(Some(profile), &[])).join("\n");
    for part in ["at most 1000", "at least 10", "thinking: off", "left out: metadata", "no login"] {
        assert!(told.contains(part), "{told}");
    }
}

fn block() -> impl Strategy<Value = Json> {
    prop_oneof![
        Just(theirs()),
        Just(others()),
        Just(json!({"type": "redacted_thinking", "data": "x"})),
        "\\PC{0,20}".prop_map(|text| json!({"type": "text", "text": text})),
        "[a-z]{1,3}"
            .prop_map(|id| json!({"type": "tool_use", "id": id, "name": "Read", "input": {"thinking\"": 1}})),
        Just(
            json!({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "tool_reference", "tool_name": "x"}]})
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn shaping_changes_only_what_it_says(
        messages in prop::collection::vec(
            (prop::sample::select(vec!["user", "assistant"]), prop::collection::vec(block(), 0..5)), 0..6),
        max_tokens in 1..200_000_u64,
        budget in prop::option::of(0..200_000_u64),
        profile in prop::option::of((prop::option::of(1_024..100_000_u64), prop::option::of(1..9_000_u64))),
        extra in "[a-z_]{1,12}",
    ) {
        let messages: Vec<_> = messages.iter().map(|(role, content)| json!({"role": role, "content": content})).collect();
        let mut request = json!({"messages": messages, "max_tokens": max_tokens, "model": "mo-x"});
        request[extra.as_str()] = json!({"a": [1, 2]});
        if let Some(budget) = budget {
            request["thinking"] = json!({"type": "enabled", "budget_tokens": budget});
        }
        let floor = profile.and_then(|(_, floor)| floor);
        let profile = profile.map(|(thinking, floor)| Profile {
            thinking: thinking.map(Thinking::Budget), floor, ..Profile::default()
        });
        let leg = leg(profile, &[]);
        let (out, _) = shaped(&request, &leg);
        for (name, _) in out.as_object().unwrap() {
            prop_assert!(USUAL.contains(&name.as_str()), "{name}");
        }
        let most = out["max_tokens"].as_u64().unwrap_or(max_tokens);
        if extra != "max_tokens" {
            prop_assert!(most <= max_tokens.max(floor.unwrap_or(0)) && most <= 65_536);
            prop_assert!(most >= max_tokens.min(65_536));
        }
        if let Some(budget) = out["thinking"]["budget_tokens"].as_u64() {
            prop_assert!(budget < most && budget >= 1_024, "{budget} of {most}");
        }
        if extra != "messages" {
            for (before, after) in messages.iter().zip(out["messages"].as_array().unwrap()) {
                let thinks = |block: &&Json| block["type"].as_str().unwrap().contains("thinking");
                let others: Vec<_> = before["content"].as_array().unwrap().iter().filter(|block| !thinks(block)).collect();
                let left: Vec<_> = after["content"].as_array().unwrap().iter().filter(|block| !thinks(block)).collect();
                if before["role"] == "assistant" {
                    let nothing = json!({"type": "text", "text": "(no text)"});
                    let same = left == others || left == [&nothing];
                    prop_assert!(same, "{after}");
                    let sealed = after.to_string().contains("EqQB") || after.to_string().contains("redacted_thinking\",");
                    prop_assert!(!sealed, "{after}");
                } else {
                    prop_assert!(!after.to_string().contains("tool_reference"));
                }
            }
        }
        // To Anthropic, under a name of its own, nothing changes at all.
        let text = request.to_string();
        let body = Body::read(text.as_bytes()).unwrap();
        let same = shape(&body, &anthropic("mo-x"), &Minted::default(), Extras::default());
        prop_assert!(matches!(same.body, Cow::Borrowed(bytes) if bytes == text.as_bytes()));
    }
}
