//! What a run of a subscription tells by itself: the client's `rate_limit_event`, of which the `rate_limit_info` is
//! read here. It costs nothing, so it is the first source.

use jiff::Timestamp;
use serde_json::Value;

use super::reading::{Overage, Reading, Window};
use crate::flatten::flatten;
use crate::moment::Moment;

/// The longest name of a window or word of the provider's that is kept.
const LONGEST: usize = 64;

/// The reading in a `rate_limit_info`; nothing where it holds none.
pub fn of_event(info: &Value, now: Timestamp) -> Option<Reading> {
    let info = info.as_object()?;
    let mut reading = Reading { has_limits: Some(true), ..Reading::empty(now) };
    reading.overage = overage(info);
    let text = |name: &str| info.get(name).and_then(Value::as_str);
    if let Some(name) = text("rateLimitType").filter(|name| is_of_the_plan(name)) {
        let own = info.get("resetsAt").and_then(Moment::of_value);
        reading.put(window(name, info.get("utilization"), own, text("status"), now));
    }
    for (name, one) in info.get("unifiedWindows").and_then(Value::as_object).into_iter().flatten() {
        if is_of_the_plan(name) {
            let resets_at = one.get("resetsAt").and_then(Moment::of_value);
            let status = one.get("status").and_then(Value::as_str);
            reading.put(window(name, one.get("utilization"), resets_at, status, now));
        }
    }
    let says_nothing = reading.windows.is_empty() && reading.overage == Overage::Unknown;
    (!says_nothing).then_some(reading)
}

/// The limit of what is billed is none of the plan's.
fn is_of_the_plan(name: &str) -> bool {
    !name.is_empty() && name != "overage"
}

fn window(
    name: &str,
    share: Option<&Value>,
    resets_at: Option<Moment>,
    status: Option<&str>,
    now: Timestamp,
) -> Window {
    Window {
        name: flatten(name, LONGEST),
        model: super::answer::model_in(name),
        // Shares of 1 here, percents elsewhere.
        percent: share.and_then(Value::as_f64).map(|share| (share * 100.0).clamp(0.0, 100.0)),
        resets_at,
        status: status.map(|status| flatten(status, LONGEST)),
        at: now.into(),
    }
}

fn overage(info: &serde_json::Map<String, Value>) -> Overage {
    let flag = |name: &str| info.get(name).and_then(Value::as_bool);
    let status = info.get("overageStatus").and_then(Value::as_str);
    if flag("isUsingOverage") == Some(true) || flag("overageInUse") == Some(true) {
        return Overage::InUse;
    }
    match (flag("overageEnabled"), status) {
        (Some(true), _) | (None, Some("allowed" | "allowed_warning")) => Overage::Enabled,
        // Refused, for whatever reason: nothing is billed.
        (Some(false), _) | (None, Some("rejected")) => Overage::Off,
        _ if info.get("overageDisabledReason").is_some_and(Value::is_string) => Overage::Off,
        _ => Overage::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(info: &Value) -> Option<Reading> {
        of_event(info, Timestamp::from_second(1_800_000_000).unwrap())
    }

    #[test]
    fn every_window_keeps_its_own_name() {
        let reading = read(&json!({"status": "allowed_warning", "resetsAt": 1_800_003_600, "rateLimitType": "five_hour",
            "utilization": 0.915, "isUsingOverage": false, "overageEnabled": false,
            "unifiedWindows": {"seven_day_opus": {"utilization": 1, "resetsAt": 1_800_100_000, "status": "rejected"},
                "seven_day_fable": {"utilization": null}, "overage": {"utilization": 1}}}))
        .unwrap();
        let seen: Vec<_> = reading
            .windows
            .iter()
            .map(|one| (one.name.as_str(), one.model.as_deref(), one.percent, one.status.as_deref()))
            .collect();
        assert_eq!(
            seen,
            [
                ("five_hour", None, Some(91.5), Some("allowed_warning")),
                ("seven_day_fable", Some("fable"), None, None),
                ("seven_day_opus", Some("opus"), Some(100.0), Some("rejected")),
            ]
        );
        assert_eq!(reading.overage, Overage::Off);
    }

    #[test]
    fn billing_is_never_taken_for_off() {
        let state = |info: Value| read(&info).map(|reading| reading.overage);
        assert_eq!(state(json!({"isUsingOverage": true, "overageEnabled": false})), Some(Overage::InUse));
        assert_eq!(state(json!({"overageInUse": true, "overageStatus": "rejected"})), Some(Overage::InUse));
        assert_eq!(state(json!({"overageStatus": "allowed"})), Some(Overage::Enabled));
        assert_eq!(
            state(json!({"overageStatus": "rejected", "overageDisabledReason": "out_of_credits"})),
            Some(Overage::Off)
        );
        assert_eq!(
            state(json!({"isUsingOverage": false, "rateLimitType": "five_hour"})),
            Some(Overage::Unknown)
        );
        for nothing in [json!({}), json!(null), json!([1]), json!({"rateLimitType": 5})] {
            assert_eq!(state(nothing.clone()), None, "{nothing}");
        }
    }
}
