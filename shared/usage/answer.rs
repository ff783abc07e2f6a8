//! What the client's `get_usage` says: the provider's own usage document, passed through. It has had several shapes, any
//! part of it may be missing, and null means unknown.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::reading::{Overage, Reading, Window};
use crate::flatten::flatten;
use crate::moment::Moment;

/// The longest word that is kept.
const LONGEST: usize = 64;
/// What is said where the client could not read the usage.
const NO_ANSWER: &str = "the provider's usage page gave no answer";
/// The windows that are for every model, by the kinds of `limits[]`.
const GENERAL: [(&str, &str); 2] = [("session", "five_hour"), ("weekly_all", "seven_day")];
/// How the names of windows for one model begin.
const ONE_MODEL: &str = "seven_day_";
/// Weekly windows whose rest is no model.
const NO_MODEL: [&str; 3] = ["overage_included", "oauth_apps", "cowork"];

/// The reading in the answer to `get_usage`.
pub fn of_answer(answer: &Value, now: Timestamp) -> Reading {
    let mut reading = Reading::empty(now);
    let plan = answer.get("subscription_type").and_then(Value::as_str);
    reading.plan = plan.map(|plan| flatten(plan, LONGEST));
    reading.has_limits = answer.get("rate_limits_available").and_then(Value::as_bool);
    let Some(limits) = answer.get("rate_limits").and_then(Value::as_object) else {
        if reading.has_limits != Some(false) {
            reading.error = Some(NO_ANSWER.to_owned());
        }
        return reading;
    };
    reading.has_limits = Some(true);
    reading.overage = overage(limits);
    let mut windows = listed(limits.get("limits"), now);
    windows.extend(by_model(limits.get("model_scoped").or_else(|| answer.get("model_scoped")), now));
    windows.extend(named(limits, now));
    for window in windows {
        // The same window stands in several parts: the first that knows is taken.
        let known = reading.windows.iter().any(|one| one.name == window.name && one.percent.is_some());
        if !known {
            reading.put(window);
        }
    }
    if reading.windows.is_empty() {
        reading.error = Some("the provider's usage page names no window".to_owned());
    }
    reading
}

/// The model that a window is for, as its name says.
pub(super) fn model_in(name: &str) -> Option<String> {
    let rest = name.strip_prefix(ONE_MODEL).filter(|rest| !rest.is_empty() && !NO_MODEL.contains(rest))?;
    Some(flatten(&rest.replace('_', " "), LONGEST))
}

/// `limits[]`: kinds, with a model where they are for one.
fn listed(limits: Option<&Value>, now: Timestamp) -> Vec<Window> {
    let rows = limits.and_then(Value::as_array).into_iter().flatten();
    let windows = rows.filter_map(|row| {
        let kind = row.get("kind")?.as_str()?;
        let model = row.pointer("/scope/model/display_name").and_then(Value::as_str);
        let name = match (GENERAL.iter().find(|(general, _)| *general == kind), model) {
            (Some((_, name)), _) => (*name).to_owned(),
            (None, Some(model)) => for_model(model),
            (None, None) => flatten(kind, LONGEST),
        };
        let status = row.get("severity").and_then(Value::as_str);
        Some(window(name, model, row.get("percent"), row.get("resets_at"), status, now))
    });
    windows.collect()
}

/// `model_scoped[]`: a row for each model.
fn by_model(rows: Option<&Value>, now: Timestamp) -> Vec<Window> {
    let rows = rows.and_then(Value::as_array).into_iter().flatten();
    let windows = rows.filter_map(|row| {
        let model = row.get("display_name")?.as_str()?;
        Some(window(for_model(model), Some(model), row.get("utilization"), row.get("resets_at"), None, now))
    });
    windows.collect()
}

/// The document's own members: everything that has a utilization and is not about billing.
fn named(limits: &Map<String, Value>, now: Timestamp) -> Vec<Window> {
    let members = limits.iter().filter(|(name, one)| {
        *name != "extra_usage" && *name != "overage" && one.get("utilization").is_some()
    });
    let windows = members.map(|(name, one)| {
        let model = model_in(name);
        window(
            flatten(name, LONGEST),
            model.as_deref(),
            one.get("utilization"),
            one.get("resets_at"),
            None,
            now,
        )
    });
    windows.collect()
}

fn for_model(display_name: &str) -> String {
    let name: String = flatten(display_name, LONGEST)
        .to_lowercase()
        .chars()
        .map(|letter| if letter.is_alphanumeric() { letter } else { '_' })
        .collect();
    format!("{ONE_MODEL}{name}")
}

fn window(
    name: String,
    model: Option<&str>,
    percent: Option<&Value>,
    resets_at: Option<&Value>,
    status: Option<&str>,
    now: Timestamp,
) -> Window {
    Window {
        name,
        model: model.map(|model| flatten(model, LONGEST)),
        percent: percent.and_then(Value::as_f64).map(|percent| percent.clamp(0.0, 100.0)),
        resets_at: resets_at.and_then(Moment::of_value),
        status: status.map(|status| flatten(status, LONGEST)),
        at: now.into(),
    }
}

/// Whether it is being billed right now does not stand there; the events of a run tell.
fn overage(limits: &Map<String, Value>) -> Overage {
    match limits.get("extra_usage").and_then(|extra| extra.get("is_enabled")).and_then(Value::as_bool) {
        Some(true) => Overage::Enabled,
        Some(false) => Overage::Off,
        None => Overage::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(answer: &Value) -> Reading {
        of_answer(answer, Timestamp::from_second(1_800_000_000).unwrap())
    }

    fn percents(reading: &Reading) -> Vec<(&str, Option<f64>)> {
        reading.windows.iter().map(|one| (one.name.as_str(), one.percent)).collect()
    }

    fn list() -> Value {
        json!([{"kind": "session", "percent": 34, "severity": "normal", "resets_at": "2027-01-15T09:00:00Z"},
            {"kind": "weekly_all", "percent": 61.5, "severity": "warning"},
            {"kind": "weekly_scoped", "percent": 99, "scope": {"model": {"display_name": "Opus"}}},
            {"kind": "weekly_scoped", "percent": 12, "scope": {"model": {"display_name": "Fable"}}}])
    }

    #[test]
    fn either_shape_of_the_document_is_read_and_both_agree() {
        let expected = [
            ("five_hour", Some(34.0)),
            ("seven_day", Some(61.5)),
            ("seven_day_fable", Some(12.0)),
            ("seven_day_opus", Some(99.0)),
        ];
        let rows = json!([{"display_name": "Opus", "utilization": 99}, {"display_name": "Fable", "utilization": 12}]);
        let five = json!({"utilization": 34.0, "resets_at": "2027-01-15T09:00:00Z"});
        let plain = json!({"five_hour": five, "seven_day": {"utilization": 61.5}, "model_scoped": rows,
            "seven_day_opus": null, "extra_usage": {"is_enabled": true, "utilization": 3}});
        for limits in [json!({"limits": list(), "five_hour": {"utilization": null}}), plain] {
            let reading = read(&json!({"rate_limits_available": true, "rate_limits": limits}));
            assert_eq!(percents(&reading), expected, "{limits}");
            assert_eq!(reading.windows[0].resets_at.unwrap().to_string(), "2027-01-15T09:00:00.000Z");
            assert_eq!(reading.windows[3].model.as_deref(), Some("Opus"));
            assert_eq!(reading.error, None);
        }
    }

    #[test]
    fn unknown_is_not_zero_and_not_an_end() {
        let unreachable = read(&json!({"rate_limits_available": true, "rate_limits": null}));
        assert!(unreachable.error.is_some() && unreachable.windows.is_empty());
        let token = read(&json!({"rate_limits_available": false, "rate_limits": null}));
        assert_eq!((token.has_limits, token.error), (Some(false), None));
        let null = read(&json!({"rate_limits": {"five_hour": {"utilization": null, "resets_at": null}}}));
        assert_eq!(percents(&null), [("five_hour", None)]);
        for odd in [json!(null), json!([]), json!({"rate_limits": {}}), json!({"rate_limits": {"limits": 3}})]
        {
            assert!(read(&odd).error.is_some(), "{odd}");
        }
    }

    #[test]
    fn a_window_nobody_knows_yet_keeps_its_name() {
        let reading = read(
            &json!({"rate_limits": {"monthly": {"utilization": 250}, "limits": [{"kind": "daily\u{1b}[2J"}]}}),
        );
        assert_eq!(percents(&reading), [("daily [2J", None), ("monthly", Some(100.0))]);
    }
}
