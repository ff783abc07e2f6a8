//! How much of a plan is used up, as the upstreams themselves tell: Anthropic in the headers of every answer,
//! others in the words of a refusal. Nobody is asked.

use std::collections::BTreeMap;

use serde::Serialize;

/// What every header about a plan begins with.
const PREFIX: &str = "anthropic-ratelimit-unified-";

/// One window of a plan, by the provider's own name: `5h`, `7d`, `7d_opus`, …
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Window {
    /// The used share, 0 to 1.
    pub utilization: Option<f64>,
    /// When it begins anew, in seconds since 1970.
    pub resets_at: Option<i64>,
    /// The provider's word: `allowed`, `allowed_warning`, `rejected`.
    pub status: Option<String>,
}

/// What one upstream told last.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Quota {
    /// Over all windows.
    pub status: Option<String>,
    /// The window that decides.
    pub deciding: Option<String>,
    /// When the deciding one begins anew, in seconds since 1970.
    pub resets_at: Option<i64>,
    /// The windows by name.
    pub windows: BTreeMap<String, Window>,
    /// The words of a refusal, where that is all there is.
    pub said: Option<String>,
    /// When it was told, RFC 3339.
    pub at: String,
}

/// Reads the headers of an answer; nothing where they tell no plan.
pub fn of_headers<'a>(headers: impl Iterator<Item = (&'a str, &'a str)>, at: &str) -> Option<Quota> {
    let mut quota = Quota { at: at.to_owned(), ..Quota::default() };
    let mut told = false;
    for (name, value) in headers {
        let Some(field) = name.strip_prefix(PREFIX) else { continue };
        told = true;
        match field {
            "status" => quota.status = Some(cut(value)),
            "representative-claim" => quota.deciding = Some(cut(value)),
            "reset" => quota.resets_at = value.trim().parse().ok(),
            _ => {
                if let Some((window, field)) = field.rsplit_once('-')
                    && (quota.windows.len() < MOST_WINDOWS || quota.windows.contains_key(window))
                {
                    set(quota.windows.entry(cut(window)).or_default(), field, value);
                }
            }
        }
    }
    quota.windows.retain(|_, window| *window != Window::default());
    told.then_some(quota)
}

/// The most windows that are kept.
const MOST_WINDOWS: usize = 16;
/// The longest word that is kept.
const LONGEST: usize = 60;

fn set(window: &mut Window, field: &str, value: &str) {
    match field {
        "utilization" => {
            window.utilization =
                value.trim().parse().ok().filter(|share: &f64| share.is_finite() && *share >= 0.0);
        }
        "reset" => window.resets_at = value.trim().parse().ok(),
        "status" => window.status = Some(cut(value)),
        _ => {}
    }
}

fn cut(text: &str) -> String {
    shared::flatten::flatten(text, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_keep_their_own_names() {
        let headers = [
            ("anthropic-ratelimit-unified-status", "allowed_warning"),
            ("anthropic-ratelimit-unified-representative-claim", "seven_day_opus"),
            ("anthropic-ratelimit-unified-reset", "1790000000"),
            ("anthropic-ratelimit-unified-5h-utilization", "0.42"),
            ("anthropic-ratelimit-unified-5h-reset", "1780000000"),
            ("anthropic-ratelimit-unified-7d_opus-utilization", "0.99"),
            ("anthropic-ratelimit-unified-overage-disabled-reason", "none"),
            ("anthropic-ratelimit-unified-7d-utilization", "NaN"),
            ("content-type", "x"),
        ];
        let quota = of_headers(headers.into_iter(), "t").unwrap();
        assert_eq!(quota.status.as_deref(), Some("allowed_warning"));
        assert_eq!(quota.resets_at, Some(1_790_000_000));
        assert_eq!(quota.windows["5h"].utilization, Some(0.42));
        assert_eq!(quota.windows["5h"].resets_at, Some(1_780_000_000));
        assert_eq!(quota.windows["7d_opus"].utilization, Some(0.99));
        assert_eq!(quota.windows.len(), 2);
        assert_eq!(of_headers([("content-type", "x")].into_iter(), "t"), None);
    }
}
