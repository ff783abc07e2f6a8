//! How usage reads on a screen: bars, resets, ages.

use jiff::Timestamp;

use super::{Freshness, Overage, Reading, Window};

/// A bar of this many cells; unknown use has none.
pub fn bar(percent: Option<f64>, cells: usize) -> String {
    let Some(percent) = percent else { return "?".repeat(cells) };
    let full = ((percent / 100.0) * cells as f64).round() as usize;
    // What is used at all shows, and what is not full is not shown as full.
    let full = full.clamp(usize::from(percent > 0.0), cells);
    let full = if percent < super::exhausted::FULL { full.min(cells.saturating_sub(1)) } else { full };
    format!("{}{}", "#".repeat(full), ".".repeat(cells - full))
}

/// A percentage, without false precision.
pub fn percent(percent: Option<f64>) -> String {
    percent.map_or_else(|| "unknown".to_owned(), |percent| format!("{percent:.0}%"))
}

/// When the window begins anew, from now.
pub fn resets(window: &Window, now: Timestamp) -> String {
    match window.resets_at {
        None => "-".to_owned(),
        Some(_) if window.is_over(now) => "now".to_owned(),
        Some(reset) => format!("in {}", span(reset.ahead(now))),
    }
}

/// A time span in its largest fitting unit.
pub fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{:.1} h", seconds as f64 / 3600.0),
        _ => format!("{:.1} d", seconds as f64 / 86_400.0),
    }
}

/// How old what is known of the window is, where that matters.
pub fn age(window: &Window, now: Timestamp) -> Option<String> {
    (window.freshness(now) != Freshness::Fresh).then(|| format!("stale, {} old", span(window.at.age(now))))
}

/// Whether work past the plan is billed, in words.
pub fn overage(overage: Overage) -> &'static str {
    match overage {
        Overage::Unknown => "unknown",
        Overage::Off => "off",
        Overage::Enabled => "ON: work past the plan would be billed",
        Overage::InUse => "IN USE: work is being billed",
    }
}

/// The name of a window as people say it.
pub fn name(window: &Window) -> String {
    match (window.name.as_str(), &window.model) {
        ("five_hour", _) => "5 h".to_owned(),
        ("seven_day", _) => "7 d".to_owned(),
        (name, Some(model)) if name.starts_with("seven_day") => format!("7 d {model}"),
        (name, _) => name.replace('_', " "),
    }
}

/// One line about the reading as a whole, where there is something to say.
pub fn remark(reading: &Reading) -> Option<&str> {
    match (&reading.error, reading.has_limits) {
        (Some(error), _) => Some(error),
        (None, Some(false)) => Some("this login has no plan windows"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_shows_what_is_used_and_full_only_what_is_full() {
        let bars: Vec<String> =
            [Some(0.0), Some(0.1), Some(50.0), Some(98.9), Some(99.0), None].map(|one| bar(one, 4)).into();
        assert_eq!(bars, ["....", "#...", "##..", "###.", "####", "????"]);
        assert_eq!(percent(Some(61.6)), "62%");
    }

    #[test]
    fn spans_are_short() {
        let spans = [0, 59, 60, 3599, 3600, 90_000].map(span);
        assert_eq!(spans, ["0 s", "59 s", "1 min", "59 min", "1.0 h", "1.0 d"]);
    }
}
