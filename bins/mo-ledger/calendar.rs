//! Days as a person counts them: which day of which zone a moment falls on, summer time included.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use shared::error::{Error, Result};
use shared::exit::Exit;

/// Days in one zone.
#[derive(Debug)]
pub struct Calendar {
    zone: TimeZone,
    /// The day that was looked up last, with its first moment and the one after its last: messages come
    /// in runs of the same day.
    last: Option<(i64, i64, Date)>,
}

impl Calendar {
    /// Days in the zone of this name, or in the system's own.
    pub fn of(name: Option<&str>) -> Result<Self> {
        let zone = match name {
            None => TimeZone::try_system().unwrap_or(TimeZone::UTC),
            Some(name) => TimeZone::get(name).map_err(|_| {
                Error::new(
                    Exit::Usage,
                    format!("there is no time zone `{}`", shared::flatten::flatten(name, 64)),
                )
                .hint("name one like Europe/Vienna, America/New_York or UTC")
            })?,
        };
        Ok(Self { zone, last: None })
    }

    /// The day of a moment, in milliseconds since 1970; nothing where the moment is unknown.
    pub fn day(&mut self, at: i64) -> Option<Date> {
        if at == 0 {
            return None;
        }
        match self.last {
            Some((first, end, day)) if (first..end).contains(&at) => Some(day),
            _ => {
                let day = Timestamp::from_millisecond(at).ok()?.to_zoned_datetime(self.zone.clone()).date();
                let end = day.tomorrow().ok().and_then(|next| self.start(next)).unwrap_or(i64::MAX);
                self.last = self.start(day).map(|first| (first, end, day));
                Some(day)
            }
        }
    }

    /// The first moment of a day; a day whose midnight is skipped begins when the clocks go on.
    pub fn start(&self, day: Date) -> Option<i64> {
        let noon = day.at(12, 0, 0, 0).to_zoned_datetime(self.zone.clone()).ok()?;
        noon.start_of_day().ok().map(|start| start.timestamp().as_millisecond())
    }

    /// The first moment of the last so many units: `7d` is today and the six days before it.
    pub fn start_of_last(&self, now: Timestamp, count: i64, unit: char) -> Option<i64> {
        let today = now.to_zoned_datetime(self.zone.clone()).date();
        let before = match unit {
            'h' => return now.as_millisecond().checked_sub(count.checked_mul(3_600_000)?),
            'd' => today.checked_sub(Span::new().try_days(count - 1).ok()?),
            'w' => today.checked_sub(Span::new().try_days(count.checked_mul(7)? - 1).ok()?),
            _ => today.checked_sub(Span::new().try_months(count).ok()?).and_then(Date::tomorrow),
        };
        self.start(before.ok()?)
    }
}

/// `2026-W49`, after ISO 8601.
pub fn week(day: Date) -> String {
    let week = day.iso_week_date();
    format!("{:04}-W{:02}", week.year(), week.week())
}

/// `2026-12`.
pub fn month(day: Date) -> String {
    format!("{:04}-{:02}", day.year(), day.month())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    fn days(zone: &str, moments: &[&str]) -> Vec<String> {
        let mut calendar = Calendar::of(Some(zone)).unwrap();
        moments.iter().map(|text| calendar.day(at(text)).unwrap().to_string()).collect()
    }

    #[test]
    fn a_day_has_as_many_hours_as_its_zone_says() {
        // Clocks go on at 01:00 UTC on 29 March and back on 25 October: 23 and 25 hours.
        let spring =
            ["2026-03-28T22:59:59Z", "2026-03-28T23:00:00Z", "2026-03-29T21:59:59Z", "2026-03-29T22:00:00Z"];
        assert_eq!(days("Europe/Vienna", &spring), ["2026-03-28", "2026-03-29", "2026-03-29", "2026-03-30"]);
        let autumn =
            ["2026-10-24T21:59:59Z", "2026-10-24T22:00:00Z", "2026-10-25T22:59:59Z", "2026-10-25T23:00:00Z"];
        assert_eq!(days("Europe/Vienna", &autumn), ["2026-10-24", "2026-10-25", "2026-10-25", "2026-10-26"]);
        assert_eq!(days("UTC", &autumn), ["2026-10-24", "2026-10-24", "2026-10-25", "2026-10-25"]);
        // In Chile midnight itself is skipped: the day begins at one o'clock.
        let santiago = Calendar::of(Some("America/Santiago")).unwrap();
        assert_eq!(santiago.start("2025-09-07".parse().unwrap()), Some(at("2025-09-07T04:00:00Z")));
    }

    #[test]
    fn the_last_days_are_whole_days() {
        let vienna = Calendar::of(Some("Europe/Vienna")).unwrap();
        let now = "2026-12-01T12:00:00Z".parse().unwrap();
        for (count, unit, first) in [
            (1, 'd', "2026-11-30T23:00:00Z"),
            (7, 'd', "2026-11-24T23:00:00Z"),
            (1, 'w', "2026-11-24T23:00:00Z"),
            (1, 'm', "2026-11-01T23:00:00Z"),
            (6, 'm', "2026-06-01T22:00:00Z"),
            (36, 'h', "2026-11-30T00:00:00Z"),
        ] {
            assert_eq!(vienna.start_of_last(now, count, unit), Some(at(first)), "{count}{unit}");
        }
        assert_eq!(vienna.start_of_last(now, i64::MAX, 'd'), None);
        assert_eq!(Calendar::of(Some("Mars/Olympus")).unwrap_err().exit(), Exit::Usage);
    }

    #[test]
    fn weeks_are_those_of_iso_8601() {
        assert_eq!(week("2026-12-31".parse().unwrap()), "2026-W53");
        assert_eq!(week("2027-01-03".parse().unwrap()), "2026-W53");
        assert_eq!(week("2027-01-04".parse().unwrap()), "2027-W01");
        assert_eq!(month("2027-01-04".parse().unwrap()), "2027-01");
    }

    #[test]
    fn an_unknown_moment_has_no_day() {
        assert_eq!(Calendar::of(Some("UTC")).unwrap().day(0), None);
    }
}
