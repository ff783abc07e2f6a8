//! Spans of time and amounts, short.

use jiff::Timestamp;

/// From one time of a record to another, in seconds; nothing where one is missing or odd.
pub fn seconds(from: Option<&str>, to: Option<&str>) -> Option<i64> {
    let from: Timestamp = from?.parse().ok()?;
    let to: Timestamp = to?.parse().ok()?;
    Some(to.as_second().saturating_sub(from.as_second()).max(0))
}

/// So many seconds in one or two words: `41 s`, `3 min 5 s`, `2 h 4 min`.
pub fn words(seconds: i64) -> String {
    match seconds {
        ..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}

/// A number of tokens: `950`, `12.3k`, `1.2M`.
pub fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{:.1}k", count as f64 / 1e3),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_amounts_are_short() {
        assert_eq!([words(0), words(185), words(7_440)], ["0 s", "3 min 5 s", "2 h 4 min"]);
        assert_eq!([tokens(999), tokens(12_340), tokens(1_200_000)], ["999", "12.3k", "1.2M"]);
        let at = |time: &'static str| Some(time);
        assert_eq!(seconds(at("2026-01-01T00:00:00Z"), at("2026-01-01T00:01:00Z")), Some(60));
        assert_eq!(seconds(at("2026-01-01T00:00:00Z"), None), None);
    }
}
