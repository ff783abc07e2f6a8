//! The workers as the model is told of them: one line each, the usable ones first, never too long.

use shared::flatten::flatten;
use shared::roster::Entry;
use shared::worker::{State, Worker};

/// The longest part of a line that comes from a file.
const PART: usize = 60;
/// Room for the line that says how many are left out.
const LAST_LINE: usize = 60;

/// A worker's line, and how early it comes.
#[derive(Debug, Eq, PartialEq)]
struct Line {
    rank: u8,
    text: String,
}

/// Whether any of them can be given work.
pub fn is_usable(roster: &[Entry]) -> bool {
    roster
        .iter()
        .filter_map(|entry| entry.worker.as_ref().ok())
        .any(|worker| worker.state() != State::NeedsKey)
}

/// All lines, at most `room` characters together.
pub fn lines(roster: &[Entry], room: usize) -> String {
    let mut lines: Vec<Line> = roster.iter().map(line).collect();
    lines.sort_by_key(|line| line.rank);
    let mut text = String::new();
    let mut length = 0;
    for (at, line) in lines.iter().enumerate() {
        let more = line.text.chars().count() + 1;
        let is_last = at + 1 == lines.len();
        if length + more + if is_last { 0 } else { LAST_LINE } > room {
            text.push_str(&format!("- … {} more: `mo-worker list` names them", lines.len() - at));
            return text;
        }
        text.push_str(&line.text);
        text.push('\n');
        length += more;
    }
    text.truncate(text.trim_end().len());
    text
}

fn line(entry: &Entry) -> Line {
    let name = flatten(&entry.name, PART);
    match &entry.worker {
        Err(error) => Line {
            rank: 4,
            text: format!("- {name}: broken, don't use it ({})", flatten(&error.to_string(), 160)),
        },
        Ok(worker) => {
            let (rank, state) = match worker.state() {
                State::Live(_) => (0, String::new()),
                State::Unchecked => (1, format!(" (unchecked: `mo-worker check {name}` first)")),
                State::Failing(kind) => (2, format!(" (its last check failed: {})", flatten(&kind, PART))),
                State::NeedsKey => {
                    (3, format!(" (needs its key, don't use it: the user runs `mo-key {name}`)"))
                }
            };
            Line { rank, text: format!("- `mo-spawn {name}`: {}{state}", models(worker)) }
        }
    }
}

/// The tiers and what stands behind them.
fn models(worker: &Worker) -> String {
    let tiers = worker.profile.tiers.iter().map(|(tier, mapped)| {
        let default = if Some(*tier) == worker.profile.default_tier { " (default)" } else { "" };
        format!("{tier} = {}{default}", flatten(&mapped.model, PART))
    });
    let tiers = tiers.collect::<Vec<_>>().join(", ");
    if tiers.is_empty() { "a Claude account".to_owned() } else { tiers }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::error::Error;
    use shared::exit::Exit;

    fn broken(count: usize) -> Vec<Entry> {
        (0..count)
            .map(|at| Entry {
                name: format!("w{at}"),
                worker: Err(Error::new(Exit::Data, "bad\u{1b}[31m\nfile")),
            })
            .collect()
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let text = lines(&broken(100), 1000);
        assert!(text.chars().count() <= 1000);
        let named = text.lines().count() - 1;
        assert!(text.ends_with(&format!("- … {} more: `mo-worker list` names them", 100 - named)), "{text}");
    }

    #[test]
    fn all_are_named_where_there_is_room_and_nothing_hidden_gets_through() {
        let text = lines(&broken(2), 1000);
        assert_eq!(text.lines().count(), 2);
        assert!(text.contains("bad [31m file"));
        assert!(!is_usable(&broken(2)));
    }
}
