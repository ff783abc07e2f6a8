//! How long ago, or how long it took, in one short word.

use jiff::Timestamp;

/// From one time of a record to another: `12s`, `3m`, `5h`, `2d`; nothing where a time is missing or odd.
pub fn between(from: Option<&str>, to: Option<&str>, now: Timestamp) -> Option<String> {
    let from: Timestamp = from?.parse().ok()?;
    let to = to.map_or(Some(now), |to| to.parse().ok())?;
    let seconds = to.as_second().saturating_sub(from.as_second()).max(0);
    Some(match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    })
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn a_span_is_one_short_word() {
        let now = "2026-02-03T04:05:06Z".parse().unwrap();
        let ago = |from: &str| between(Some(from), None, now).unwrap();
        assert_eq!(ago("2026-02-03T04:05:00Z"), "6s");
        assert_eq!(ago("2026-02-03T04:00:06Z"), "5m");
        assert_eq!(ago("2026-02-03T01:00:06Z"), "3h");
        assert_eq!(ago("2026-01-31T04:05:06Z"), "3d");
        assert_eq!(between(Some("x"), None, now), None);
        assert_eq!(between(Some("2026-02-03T05:00:00Z"), None, now).unwrap(), "0s");
    }
}
