//! What is said about savings, in one line: made from the published `ledger.json` alone, so that a hook or a
//! status line can afford it. The full report is left to mo-ledger.

use std::fmt;
use std::path::Path;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::file;
use crate::flatten::flatten;
use crate::ledger::publish::{self, AllTime, Session};

/// Begins every line, so that the user knows who speaks.
const WHO: &str = "model-orchestration: ";
/// Above this a `ledger.json` is not ours.
const CAP: u64 = 4 << 20;
/// The most workers that a line names.
const NAMED: usize = 4;
/// The longest name of a worker in a line.
const NAME: usize = 40;

/// What the published ledger says that concerns one session.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Savings {
    /// Over all sessions that dispatched workers.
    pub all_time: AllTime,
    /// The session that was asked about, where it dispatched workers.
    pub session: Option<Session>,
    /// The first count of all transcripts is not done yet.
    pub catching_up: bool,
}

/// The document, of which everything else is skipped unread.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Document<'a> {
    version: u32,
    catching_up: bool,
    all_time: AllTime,
    #[serde(borrow)]
    sessions: Option<&'a serde_json::value::RawValue>,
}

impl Savings {
    /// Reads what was published; nothing when there is nothing of ours.
    pub fn read(usage: &Path, session: &str) -> Option<Self> {
        let bytes = file::read_if_there(&publish::path(usage), CAP).ok().flatten()?;
        let document: Document<'_> = serde_json::from_slice(&bytes).ok()?;
        if document.version != publish::VERSION {
            return None;
        }
        let session = document.sessions.and_then(|sessions| {
            let mut deserializer = serde_json::Deserializer::from_str(sessions.get());
            deserializer.deserialize_map(Wanted(session)).ok().flatten()
        });
        Some(Self { all_time: document.all_time, session, catching_up: document.catching_up })
    }

    /// After a dispatch: what the workers did of this session's work. Nothing when there is nothing to say.
    pub fn notice(&self) -> Option<String> {
        let session = self.session.as_ref()?;
        let share = share(workers(session), session.fresh)?;
        Some(format!("{WHO}workers handled {share} of this session's tokens ({})", parts(session)))
    }

    /// At the start of a session: what they did over all of them.
    pub fn start_line(&self) -> Option<String> {
        let AllTime { worker_fresh, fresh, sessions } = self.all_time;
        let share = share(worker_fresh, fresh)?;
        let tokens = human(worker_fresh);
        let across = if sessions == 1 { "1 session".to_owned() } else { format!("{sessions} sessions") };
        Some(format!("{WHO}workers have handled {tokens} tokens ({share} of the total across {across})"))
    }

    /// For the status line: this session's share, else that of all sessions.
    pub fn status_line(&self) -> Option<String> {
        if let Some(session) = &self.session
            && let Some(share) = share(workers(session), session.fresh)
        {
            return Some(format!("workers {share} ({})", parts(session)));
        }
        let AllTime { worker_fresh, fresh, .. } = self.all_time;
        share(worker_fresh, fresh).map(|share| format!("workers {share} of all ({})", human(worker_fresh)))
    }
}

/// Said in place of the start line while the ledger is not whole.
pub fn not_counted() -> String {
    format!(
        "{WHO}your transcripts are not all counted yet; run `mo-ledger rebuild` once to see what the workers save"
    )
}

fn workers(session: &Session) -> u64 {
    session.by_worker.values().fold(0, |sum, fresh| sum.saturating_add(*fresh))
}

/// `glm 35k, kimi 2k vs Claude 123k`, the busiest worker first.
fn parts(session: &Session) -> String {
    let mut workers: Vec<(&str, u64)> = session
        .by_worker
        .iter()
        .map(|(name, fresh)| (name.as_str(), *fresh))
        .filter(|(_, fresh)| *fresh > 0)
        .collect();
    workers.sort_by(|(a, more), (b, less)| less.cmp(more).then(a.cmp(b)));
    let mut named: Vec<String> = workers
        .iter()
        .take(NAMED)
        .map(|(name, fresh)| format!("{} {}", flatten(name, NAME), human(*fresh)))
        .collect();
    if let Some(others @ [_, ..]) = workers.get(NAMED..) {
        let fresh = others.iter().fold(0_u64, |sum, (_, fresh)| sum.saturating_add(*fresh));
        named.push(format!("{} more {}", others.len(), human(fresh)));
    }
    format!("{} vs Claude {}", named.join(", "), human(session.main))
}

/// A share in percent; nothing where there is no part.
pub fn share(part: u64, whole: u64) -> Option<String> {
    if part == 0 {
        return None;
    }
    let (part, whole) = (u128::from(part), u128::from(whole.max(part)));
    Some(match (part * 200 + whole) / (whole * 2) {
        0 => "<1%".to_owned(),
        100 if part < whole => ">99%".to_owned(),
        percent => format!("{percent}%"),
    })
}

/// A number of tokens for people: `950`, `35k`, `1.2M`.
pub fn human(count: u64) -> String {
    for (unit, name) in [(1_000_000_000, "B"), (1_000_000, "M"), (1_000, "k")] {
        // 999,500 thousandths of the next unit are shown as one of it.
        if count >= unit - unit / 2000 {
            let tenths = (u128::from(count) * 10 + u128::from(unit) / 2) / u128::from(unit);
            return if tenths < 100 && tenths % 10 != 0 {
                format!("{}.{}{name}", tenths / 10, tenths % 10)
            } else {
                format!("{}{name}", (u128::from(count) + u128::from(unit) / 2) / u128::from(unit))
            };
        }
    }
    count.to_string()
}

/// Picks one session out of the map and skips the others.
struct Wanted<'a>(&'a str);

impl<'de> Visitor<'de> for Wanted<'_> {
    type Value = Option<Session>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of sessions")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(name) = map.next_key::<String>()? {
            if name == self.0 {
                found = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn session(main: u64, workers: &[(&str, u64)]) -> Savings {
        let by_worker = workers.iter().map(|(name, fresh)| ((*name).to_owned(), *fresh)).collect();
        let fresh = main + workers.iter().map(|(_, fresh)| fresh).sum::<u64>();
        Savings { session: Some(Session { fresh, main, by_worker }), ..Savings::default() }
    }

    #[test]
    fn a_session_with_workers_has_a_notice() {
        assert_eq!(
            session(123_000, &[("glm", 35_000)]).notice().as_deref(),
            Some(
                "model-orchestration: workers handled 22% of this session's tokens (glm 35k vs Claude 123k)"
            )
        );
        let many = session(1, &[("a", 10), ("b", 30), ("c", 20), ("d", 40), ("e", 5), ("f", 6), ("g", 0)]);
        assert_eq!(
            many.status_line().as_deref(),
            Some("workers 99% (d 40, b 30, c 20, a 10, 2 more 11 vs Claude 1)")
        );
        let hostile = session(1, &[("\u{1b}[31mx\n\u{202e}y", 1)]);
        assert!(hostile.notice().unwrap().contains("([31mx y 1 vs Claude 1)"));
    }

    #[test]
    fn nothing_is_said_when_there_is_nothing_to_say() {
        assert_eq!(session(5, &[]).notice(), None);
        assert_eq!(session(5, &[("glm", 0)]).notice(), None);
        assert_eq!((Savings::default().notice(), Savings::default().start_line()), (None, None));
        assert_eq!(Savings::default().status_line(), None);
    }

    #[test]
    fn the_start_line_counts_sessions() {
        let all_time = AllTime { worker_fresh: 1_234_567, fresh: 4_000_000, sessions: 8 };
        let savings = Savings { all_time, ..Savings::default() };
        assert_eq!(
            savings.start_line().as_deref(),
            Some(
                "model-orchestration: workers have handled 1.2M tokens (31% of the total across 8 sessions)"
            )
        );
        assert_eq!(savings.status_line().as_deref(), Some("workers 31% of all (1.2M)"));
        let one = Savings { all_time: AllTime { sessions: 1, ..all_time }, ..Savings::default() };
        assert!(one.start_line().unwrap().ends_with("across 1 session)"));
    }

    #[test]
    fn a_share_is_never_rounded_to_nothing_or_all() {
        for (part, whole, text) in [
            (1, 1000, "<1%"),
            (999, 1000, ">99%"),
            (5, 1000, "1%"),
            (1, 1, "100%"),
            (2, 3, "67%"),
            (9, 0, "100%"),
        ] {
            assert_eq!(share(part, whole).as_deref(), Some(text));
        }
        assert_eq!(share(0, 0), None);
    }

    #[test]
    fn numbers_are_short() {
        for (count, text) in [
            (0, "0"),
            (950, "950"),
            (999, "999"),
            (1_000, "1k"),
            (1_250, "1.3k"),
            (9_960, "10k"),
            (35_499, "35k"),
            (999_400, "999k"),
            (999_500, "1M"),
            (1_200_000, "1.2M"),
            (12_345_678, "12M"),
            (2_500_000_000, "2.5B"),
            (u64::MAX, "18446744074B"),
        ] {
            assert_eq!(human(count), text, "{count}");
        }
    }

    #[test]
    fn one_session_is_picked_out_of_the_document() {
        let dir = tempfile::tempdir().unwrap();
        let read = |text: &str, session: &str| {
            fs::write(dir.path().join("ledger.json"), text).unwrap();
            Savings::read(dir.path(), session)
        };
        let text = r#"{"version": 1, "totals": {"x": [1]}, "all_time": {"worker_fresh": 7, "fresh": 9, "sessions": 2},
            "sessions": {"a": {"fresh": "?"}, "b": {"fresh": 3, "main": 1, "by_worker": {"glm": 2}, "new": 1}}}"#;
        let savings = read(text, "b").unwrap();
        assert_eq!((savings.all_time.worker_fresh, savings.session.unwrap().main), (7, 1));
        assert_eq!(read(text, "c").unwrap().session, None);
        assert_eq!(read(&text.replace("\"version\": 1", "\"version\": 2"), "b"), None);
        for end in 0..text.len() {
            assert_eq!(read(&text[..end], "b"), None, "cut at {end}");
        }
        fs::remove_file(dir.path().join("ledger.json")).unwrap();
        assert_eq!(Savings::read(dir.path(), "b"), None);
    }
}
