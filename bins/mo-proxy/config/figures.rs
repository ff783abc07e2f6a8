//! The members that are figures and switches: pace, breaker, retries, spending, audit, times, compression.

use std::time::Duration;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;

use super::reader::{Part, Reader};
use super::{Breaking, Compressing, Config, MaxBody, Pace, Retrying, Spending};

/// A day in seconds: longer than anything here may take.
const DAY: u64 = 86_400;

/// Reads them all.
pub fn read<'t>(reader: &mut Reader<'t>, top: &Part<'_, 't>, config: &mut Config) {
    if let Some(value) = top.value("limits") {
        config.pace = pace(reader, value, "limits", config.pace);
    }
    breaking(reader, top, &mut config.breaking);
    retrying(reader, top, &mut config.retrying);
    spending(reader, top, &mut config.spending);
    auditing(reader, top, config);
    timeouts(reader, top, config);
    if let Some(mebibytes) = top.whole(reader, "max_body_mb", 1..=1024) {
        config.max_body = MaxBody(mebibytes << 20);
    }
    if let Some(switch) = top.switch(reader, "markers") {
        config.markers = switch;
    }
    compressing(reader, top, &mut config.compressing);
}

/// A pace, over the one there is.
pub fn pace<'t>(reader: &mut Reader<'t>, value: &Value<'t>, name: &str, over: Pace) -> Pace {
    let known = ["requests_per_minute", "concurrent", "queue", "wait_seconds"];
    let Some(part) = reader.part(value, name, &known) else { return over };
    Pace {
        per_minute: part.whole(reader, "requests_per_minute", 1..=1_000_000).or(over.per_minute),
        at_once: part.whole(reader, "concurrent", 1..=10_000).or(over.at_once),
        queue: part.whole(reader, "queue", 0..=10_000).or(over.queue),
        wait: seconds(reader, &part, "wait_seconds", 0).or(over.wait),
    }
}

fn seconds<'t>(reader: &mut Reader<'t>, part: &Part<'_, 't>, key: &str, least: u64) -> Option<Duration> {
    part.whole(reader, key, least..=DAY).map(Duration::from_secs)
}

fn breaking<'t>(reader: &mut Reader<'t>, top: &Part<'_, 't>, breaking: &mut Breaking) {
    let known = ["failures", "share", "window_seconds", "open_seconds"];
    let Some(part) = top.part(reader, "breaker", &known) else { return };
    let was = *breaking;
    *breaking = Breaking {
        failures: part.whole(reader, "failures", 1..=10_000).map_or(was.failures, |number| number as u32),
        share: part.number(reader, "share", 0.0..=1.0).unwrap_or(was.share),
        window: seconds(reader, &part, "window_seconds", 1).unwrap_or(was.window),
        open: seconds(reader, &part, "open_seconds", 1).unwrap_or(was.open),
    };
}

fn retrying<'t>(reader: &mut Reader<'t>, top: &Part<'_, 't>, retrying: &mut Retrying) {
    let known = ["tries", "base_ms", "longest_seconds", "statuses", "budget"];
    let Some(part) = top.part(reader, "retry", &known) else { return };
    if let Some(tries) = part.whole(reader, "tries", 0..=10) {
        retrying.tries = tries as u32;
    }
    if let Some(base) = part.whole(reader, "base_ms", 1..=60_000) {
        retrying.base = Duration::from_millis(base);
    }
    if let Some(longest) = seconds(reader, &part, "longest_seconds", 0) {
        retrying.longest = longest;
    }
    if let Some(budget) = part.number(reader, "budget", 0.0..=1.0) {
        retrying.budget = budget;
    }
    let Some(value) = part.value("statuses") else { return };
    let elements = value.as_array().map_or(&[][..], |array| array.elements.as_slice());
    let statuses: Vec<u16> = elements
        .iter()
        .filter_map(|element| element.as_number_lit()?.value.parse().ok())
        .filter(|status| *status == 429 || (500..=599).contains(status))
        .collect();
    if value.as_array().is_none() || statuses.len() != elements.len() {
        let what = "`retry.statuses` must be a list of statuses: 429, or 500 to 599";
        reader.wrong(value.start(), what.to_owned());
        return;
    }
    retrying.statuses = statuses;
}

fn spending<'t>(reader: &mut Reader<'t>, top: &Part<'_, 't>, spending: &mut Option<Spending>) {
    let Some(part) = top.part(reader, "daily_limit", &["usd", "then"]) else { return };
    let refuse = match part.text(reader, "then") {
        None => spending.is_some_and(|was| was.refuse),
        Some(then) if then.text == "tell" => false,
        Some(then) if then.text == "refuse" => true,
        Some(then) => {
            reader.wrong(then.at, "`daily_limit.then` must be \"tell\" or \"refuse\"".to_owned());
            false
        }
    };
    match part.number(reader, "usd", 0.01..=1_000_000.0).or(spending.map(|was| was.usd)) {
        Some(usd) => *spending = Some(Spending { usd, refuse }),
        None if part.value("usd").is_none() => {
            reader.wrong(part.at(), "`daily_limit` lacks `usd`".to_owned());
        }
        None => {}
    }
}

fn auditing<'t>(reader: &mut Reader<'t>, top: &Part<'_, 't>, config: &mut Config) {
    let Some(part) = top.part(reader, "audit", &["on", "size_mb", "days", "content"]) else { return };
    let auditing = &mut config.auditing;
    auditing.on = part.switch(reader, "on").unwrap_or(auditing.on);
    auditing.size = part.whole(reader, "size_mb", 1..=4096).map_or(auditing.size, |size| size << 20);
    auditing.days = part.whole(reader, "days", 1..=3660).unwrap_or(auditing.days);
    auditing.content = part.switch(reader, "content").unwrap_or(auditing.content);
}

fn timeouts<'t>(reader: &mut Reader<'t>, top: &Part<'_, 't>, config: &mut Config) {
    let known = ["connect_seconds", "idle_seconds", "total_seconds", "ping_seconds", "drain_seconds"];
    let Some(part) = top.part(reader, "timeouts", &known) else { return };
    let times = &mut config.timeouts;
    for (key, time) in known.into_iter().zip([
        &mut times.connect,
        &mut times.idle,
        &mut times.total,
        &mut times.ping,
        &mut times.drain,
    ]) {
        *time = seconds(reader, &part, key, 1).unwrap_or(*time);
    }
    // Claude Code gives a silent stream up after about 180 seconds.
    if times.ping > Duration::from_secs(120) {
        let at = part.value("ping_seconds").map_or(part.at(), Ranged::start);
        reader
            .wrong(at, "`timeouts.ping_seconds` must be at most 120: the client gives up at 180".to_owned());
    }
}

fn compressing<'t>(reader: &mut Reader<'t>, top: &Part<'_, 't>, compressing: &mut Option<Compressing>) {
    match top.value("compress") {
        None => {}
        Some(Value::BooleanLit(switch)) => {
            *compressing = switch.value.then(|| compressing.unwrap_or_default());
        }
        Some(_) => {
            let Some(part) = top.part(reader, "compress", &["keep_messages", "min_bytes"]) else { return };
            let was = compressing.unwrap_or_default();
            *compressing = Some(Compressing {
                keep: part.whole(reader, "keep_messages", 4..=10_000).map_or(was.keep, |keep| keep as usize),
                size: part.whole(reader, "min_bytes", 500..=1 << 20).map_or(was.size, |size| size as usize),
            });
        }
    }
}
