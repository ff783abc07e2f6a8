//! `mo-proxy status`: what the gateway does at this moment.

use serde::Deserialize as _;
use serde_json::Value;
use shared::error::Result;
use shared::exit::Exit;
use shared::flatten::flatten;
use shared::json_text;
use shared::table;
use shared::world::World;

use super::found::Found;
use crate::observe::differences::Difference;

/// The longest cell.
const LONGEST: usize = 60;

/// Shows it.
pub fn run(world: &World, json: bool) -> Result<Exit> {
    let status = Found::running(world)?.ask("/status")?;
    if json {
        world.say.line(&json_text::pretty(&status)?)?;
    } else {
        world.say.out(&text(&status, world.colour()))?;
    }
    Ok(Exit::Done)
}

/// As people read it.
pub fn text(status: &Value, colour: bool) -> String {
    let word = |name: &str| shown(&status[name]);
    let mut text = format!(
        "mo-proxy {} at {} is {}: {} on their way, up {} s, process {}\n",
        word("program"),
        word("address"),
        word("stage"),
        // This one is counted too.
        requests(status["requests"].as_u64().unwrap_or(0).saturating_sub(1)),
        word("uptime_seconds"),
        word("pid")
    );
    let mut rows = vec![["UPSTREAM", "ADDRESS", "IDLE", "PLAN"].map(str::to_owned).to_vec()];
    for (name, upstream) in status["upstreams"].as_object().into_iter().flatten() {
        rows.push(vec![
            flatten(name, LONGEST),
            shown(&upstream["address"]),
            shown(&upstream["idle_connections"]),
            plan(status["quotas"].get(name)),
        ]);
    }
    text.push_str(&table::columns(&rows, colour));
    for trouble in status["troubled"].as_array().into_iter().flatten() {
        text.push_str(&format!("! {}\n", troubled(trouble)));
    }
    for value in status["differences"].as_array().into_iter().flatten() {
        if let Ok(difference) = Difference::deserialize(value) {
            text.push_str(&format!("! {}\n", difference.sentence()));
        }
    }
    if let Some(words) = status["audit"].get("trouble").and_then(Value::as_str) {
        text.push_str(&format!("! {}\n", flatten(words, 300)));
    }
    text
}

fn requests(count: u64) -> String {
    match count {
        0 => "no requests".to_owned(),
        1 => "1 request".to_owned(),
        _ => format!("{count} requests"),
    }
}

/// An upstream's model that fails, and what the gateway does about it.
fn troubled(trouble: &Value) -> String {
    let model = trouble["model"].as_str().filter(|model| !model.is_empty());
    let model = model.map(|model| format!(" ({})", flatten(model, LONGEST))).unwrap_or_default();
    let how = match (trouble["breaker"].as_str(), trouble["for_seconds"].as_u64()) {
        (Some("open"), Some(seconds)) => {
            format!("failed too often and is left alone, for {seconds} s now")
        }
        (Some("open"), None) => "failed too often and is left alone".to_owned(),
        (Some("half-open"), _) => "failed too often, and is tried with one request".to_owned(),
        _ => "does worse than usual".to_owned(),
    };
    format!("{}{model} {how}: `mo-proxy audit --failed` shows its answers", shown(&trouble["upstream"]))
}

/// `5h 42%, 7d 99%`.
fn plan(quota: Option<&Value>) -> String {
    let windows = quota.and_then(|quota| quota["windows"].as_object()).into_iter().flatten();
    let shares: Vec<String> = windows
        .filter_map(|(name, window)| {
            let share = window["utilization"].as_f64()?;
            Some(format!("{} {:.0}%", flatten(name, 20), share * 100.0))
        })
        .collect();
    if shares.is_empty() { "-".to_owned() } else { shares.join(", ") }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => flatten(text, LONGEST),
        Value::Null => "-".to_owned(),
        other => flatten(&other.to_string(), LONGEST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_upstream_said_cannot_move_the_cursor() {
        let status = serde_json::json!({
            "program": "0", "address": "a", "stage": "serving", "requests": 1, "uptime_seconds": 2, "pid": 3,
            "upstreams": {"anthropic": {"address": "\u{1b}[2J", "idle_connections": 1}},
            "quotas": {"anthropic": {"windows": {"5h": {"utilization": 0.421}}}},
            "troubled": [{"upstream": "kimi\u{1b}[2J", "model": "k2", "breaker": "open", "for_seconds": 7}],
            "differences": [{"by": "upstream", "of": "glm\u{1b}[2J", "session": null, "meant": "glm-5.2",
                "became": "glm-4.7", "times": 3}],
            "audit": {"trouble": "disk full"},
        });
        let text = text(&status, false);
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(text.contains("asked for glm-5.2 and answered as glm-4.7, 3 times"), "{text}");
        assert!(text.contains("is serving: no requests on their way"), "only this one: {text}");
        assert!(text.contains("(k2) failed too often and is left alone, for 7 s now"), "{text}");
        assert!(text.contains("5h 42%") && text.contains("! disk full"), "{text}");
    }
}
