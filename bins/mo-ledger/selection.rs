//! Which messages a report is about: a span of time, a worker, a project.

use std::path::Path;

use jiff::Timestamp;
use jiff::civil::Date;
use shared::args::{Flag, Matches};
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::flatten::flatten;
use shared::ledger::fact::Fact;

use crate::calendar::Calendar;

/// The flags of every command that reports on a selection.
pub const SINCE: Flag = Flag { long: "since", value: "DAY", about: "from this day (2026-11-01) or time on" };
/// See [`SINCE`].
pub const UNTIL: Flag =
    Flag { long: "until", value: "DAY", about: "up to and with this day, or up to this time" };
/// See [`SINCE`].
pub const LAST: Flag =
    Flag { long: "last", value: "SPAN", about: "the last 7d, 4w, 3m or 12h, today included" };
/// See [`SINCE`].
pub const TIMEZONE: Flag =
    Flag { long: "timezone", value: "ZONE", about: "whose days, like Europe/Vienna (default: the system's)" };
/// See [`SINCE`].
pub const WORKER: Flag =
    Flag { long: "worker", value: "NAME", about: "this worker alone (main: the manager)" };
/// See [`SINCE`].
pub const PROJECT: Flag =
    Flag { long: "project", value: "DIR", about: "this project alone: its path, or the last part of it" };

/// Which messages are meant.
#[derive(Debug, Default, Eq, PartialEq)]
pub struct Selection {
    from: Option<i64>,
    /// The first moment that is out again.
    until: Option<i64>,
    worker: Option<String>,
    project: Option<String>,
}

impl Selection {
    /// What the command line asks for.
    pub fn of(matches: &Matches, calendar: &Calendar, now: Timestamp) -> Result<Self> {
        let (since, until, last) = (matches.value("since"), matches.value("until"), matches.value("last"));
        if last.is_some() && since.is_some() {
            return Err(wrong("--last", "and --since exclude each other", "give one of them"));
        }
        let from = match last {
            Some(text) => Some(last_span(text, calendar, now)?),
            None => since.map(|text| moment("--since", text, calendar, false)).transpose()?,
        };
        Ok(Self {
            from,
            until: until.map(|text| moment("--until", text, calendar, true)).transpose()?,
            worker: matches.value("worker").map(str::to_owned),
            project: matches.value("project").map(|project| project.trim_end_matches('/').to_owned()),
        })
    }

    /// Whether everything is meant.
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }

    /// Whether this message is meant. One whose time is unknown is in no span.
    pub fn takes(&self, fact: &Fact) -> bool {
        let in_time = (self.from.is_none() && self.until.is_none())
            || (fact.at != 0
                && self.from.is_none_or(|from| fact.at >= from)
                && self.until.is_none_or(|until| fact.at < until));
        in_time
            && self.worker.as_deref().is_none_or(|worker| *fact.worker == *worker)
            && self.project.as_deref().is_none_or(|project| is_of(&fact.project, project))
    }
}

/// Whether a working directory is the project, lies in it, or is called so.
fn is_of(directory: &str, project: &str) -> bool {
    let rest = directory.strip_prefix(project);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        || Path::new(directory).file_name().is_some_and(|name| name == project)
}

fn wrong(flag: &str, what: &str, hint: &str) -> Error {
    Error::new(Exit::Usage, format!("{flag} {what}")).hint(hint)
}

/// A day of the calendar, its end where it is an end; or a moment.
fn moment(flag: &str, text: &str, calendar: &Calendar, is_end: bool) -> Result<i64> {
    // A date is also read out of a longer text that begins with one.
    let day = text.parse::<Date>().ok().filter(|_| !text.contains(['T', 't', ' ']));
    let found = day.and_then(|day| if is_end { day.tomorrow().ok() } else { Some(day) });
    let found = found.and_then(|day| calendar.start(day));
    found.or_else(|| text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)).ok_or_else(|| {
        let what = format!("`{}` is neither a day nor a time", flatten(text, 40));
        wrong(flag, &what, "write a day like 2026-11-01, or a time like 2026-11-01T08:00:00Z")
    })
}

fn last_span(text: &str, calendar: &Calendar, now: Timestamp) -> Result<i64> {
    let unit = text.chars().last().filter(|unit| matches!(unit, 'h' | 'd' | 'w' | 'm'));
    let count = unit.and_then(|unit| text.strip_suffix(unit)?.parse::<i64>().ok()).filter(|count| *count > 0);
    let start = unit.zip(count).and_then(|(unit, count)| calendar.start_of_last(now, count, unit));
    start.ok_or_else(|| {
        let what = format!("`{}` is no span of time", flatten(text, 40));
        wrong("--last", &what, "write a number and d, w, m or h, like 7d")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-12-01T12:00:00Z";

    fn calendar() -> Calendar {
        Calendar::of(Some("Europe/Vienna")).unwrap()
    }

    fn at(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    #[test]
    fn a_span_ends_with_its_last_day_and_a_time_is_a_time() {
        let since = |text| moment("--since", text, &calendar(), false);
        let until = |text| moment("--until", text, &calendar(), true);
        assert_eq!(since("2026-11-01"), Ok(at("2026-10-31T23:00:00Z")));
        assert_eq!(until("2026-11-01"), Ok(at("2026-11-01T23:00:00Z")));
        assert_eq!(since("2026-11-01T08:00:00Z"), Ok(at("2026-11-01T08:00:00Z")));
        assert_eq!(until("2026-11-01T08:00:00+01:00"), Ok(at("2026-11-01T07:00:00Z")));
        for text in ["", "yesterday", "2026-13-01", "2026-11-01T08:00"] {
            assert_eq!(since(text).unwrap_err().exit(), Exit::Usage, "{text}");
        }
        for text in ["", "d", "0d", "-1d", "7", "7y", "99999999999999999999d", "999999999d"] {
            let error = last_span(text, &calendar(), NOW.parse().unwrap()).unwrap_err();
            assert_eq!(error.exit(), Exit::Usage, "{text}");
        }
    }

    #[test]
    fn a_project_is_its_directory_and_those_below() {
        for (directory, project, is) in [
            ("/w/app", "/w/app", true),
            ("/w/app/sub", "/w/app", true),
            ("/w/app-2", "/w/app", false),
            ("/w/app", "app", true),
            ("/w/app/sub", "app", false),
            ("-w-app", "-w-app", true),
        ] {
            assert_eq!(is_of(directory, project), is, "{directory} {project}");
        }
    }
}
