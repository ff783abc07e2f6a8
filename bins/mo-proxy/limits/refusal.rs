//! What a refusal means: a plan that is used up, too many requests at once, or an upstream with too much to do.
//! Headers decide; words only where there are no headers, as some providers have nothing else.

use std::time::Duration;

use jiff::Timestamp;

use crate::scan::{Body, Value};

/// A throttle lasts less than this; what is to wait longer is a plan.
const THROTTLE: Duration = Duration::from_secs(15 * 60);
/// Words of providers for a plan that is used up.
const PLAN: [&str; 8] = [
    "usage limit",
    "quota",
    "weekly limit",
    "session limit",
    "insufficient balance",
    "credit balance",
    "plan limit",
    "monthly limit",
];

/// What a refusal means.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Limit {
    /// A plan is used up, until then if that is told.
    Quota(Option<Timestamp>),
    /// Too many requests at once; after this long, if that is told.
    Throttle(Option<Duration>),
    /// The upstream has too much to do.
    Overloaded,
}

/// What an answer of this status, with these headers and this beginning of a body, means; nothing where it tells of
/// no limit.
pub fn of_answer<'h>(
    status: u16,
    header: impl Fn(&str) -> Option<&'h str>,
    body: &[u8],
    now: Timestamp,
) -> Option<Limit> {
    let after = header("retry-after").and_then(|text| retry_after(text, now));
    match status {
        402 => Some(Limit::Quota(None)),
        529 => Some(Limit::Overloaded),
        503 if after.is_some() => Some(Limit::Throttle(after)),
        429 => {
            let unified = |field: &str| header(&format!("anthropic-ratelimit-unified-{field}"));
            let reset =
                unified("reset").and_then(|text| Timestamp::from_second(text.trim().parse().ok()?).ok());
            let later = || after.and_then(|after| now.checked_add(after).ok());
            Some(match unified("status").map(str::trim) {
                Some("rejected") => Limit::Quota(reset),
                None if after.is_some_and(|after| after >= THROTTLE) || said(body) => Limit::Quota(later()),
                _ => Limit::Throttle(after),
            })
        }
        _ => None,
    }
}

/// What the data of an event means that comes inside a stream with status 200; nothing where it is no error about a
/// limit.
pub fn of_event(data: &[u8]) -> Option<Limit> {
    let body = Body::read(data).ok()?;
    let whole = body.whole();
    if !whole.get("type")?.is_text("error") {
        return None;
    }
    let error = whole.get("error")?;
    let kind = error.get("type").and_then(Value::text)?;
    match kind.as_ref() {
        "overloaded_error" => Some(Limit::Overloaded),
        "rate_limit_error" if said(error.raw()) => Some(Limit::Quota(None)),
        "rate_limit_error" => Some(Limit::Throttle(None)),
        "billing_error" => Some(Limit::Quota(None)),
        _ => None,
    }
}

fn said(body: &[u8]) -> bool {
    let start = body.get(..body.len().min(4096)).unwrap_or_default();
    let text = String::from_utf8_lossy(start).to_lowercase();
    PLAN.iter().any(|words| text.contains(words))
}

/// How long `Retry-After` asks to wait: seconds, or a date.
pub fn retry_after(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(Duration::from_secs(u64::from(seconds)));
    }
    let then = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    Some(Duration::try_from(then.duration_since(now)).unwrap_or(Duration::ZERO))
}
