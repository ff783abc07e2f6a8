//! The sums that are kept up to date with every message, so that nothing needs to be added up when a hook
//! asks: totals, workers by model, manager sessions. How they change is left to `tally`.

use super::usage::Total;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Prompts larger than this have another price at some providers.
pub const LONG_PROMPT: u64 = 200_000;
/// How many manager sessions are kept at hand.
pub(super) const MANAGERS: usize = 64;

/// Messages of one worker and model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cell {
    /// With a prompt of the usual size.
    pub usual: Total,
    /// With a prompt above [`LONG_PROMPT`].
    pub long: Total,
}

/// The sums over all sessions that dispatched workers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AllTime {
    /// Fresh tokens of the workers they dispatched.
    pub worker_fresh: u64,
    /// Fresh tokens of both together.
    pub fresh: u64,
    /// How many sessions.
    pub sessions: u64,
}

/// A session that dispatched workers: fresh tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Manager {
    /// The session.
    pub session: String,
    /// When it last did or dispatched something, in milliseconds since 1970.
    pub at: i64,
    /// Its own tokens.
    pub main: u64,
    /// Those of the workers it dispatched.
    pub by_worker: BTreeMap<String, u64>,
}

/// All sums, and what an update found worth telling.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Book {
    /// All messages with an id.
    pub totals: Total,
    /// Rows without an id.
    pub no_id: Total,
    /// Messages whose rows all lack a stop reason.
    pub incomplete: u64,
    /// By worker, then model.
    pub workers: BTreeMap<String, BTreeMap<String, Cell>>,
    /// Over all sessions that dispatched workers.
    pub all_time: AllTime,
    /// The sessions that dispatched workers last, the newest at the end.
    pub managers: Vec<Manager>,
    /// Rows and skipped lines of transcripts that are gone.
    pub gone_rows: u64,
    /// See `gone_rows`.
    pub gone_skipped: u64,
    /// Folders and files that could not be read last time.
    pub unreadable: Vec<String>,
    /// Months of dispatch records, with the time their folder changed.
    pub months: BTreeMap<String, u64>,
    /// Where a damaged store was set aside, until the next rebuild.
    pub set_aside: Option<String>,
    /// The first run over everything is not done yet.
    pub catching_up: bool,
}

impl Book {
    /// The sum of one worker.
    pub fn worker(&self, name: &str) -> Total {
        let mut sum = Total::default();
        for cell in self.workers.get(name).into_iter().flat_map(BTreeMap::values) {
            sum += cell.usual;
            sum += cell.long;
        }
        sum
    }

    /// Puts a manager session's sums in its place and keeps the newest.
    pub(super) fn put_manager(&mut self, manager: Manager) {
        self.drop_manager(&manager.session);
        self.managers.push(manager);
        self.managers.sort_by(|a, b| (a.at, &a.session).cmp(&(b.at, &b.session)));
        let surplus = self.managers.len().saturating_sub(MANAGERS);
        self.managers.drain(..surplus);
    }

    /// Forgets a session that turned out to have dispatched nothing.
    pub(super) fn drop_manager(&mut self, session: &str) {
        self.managers.retain(|manager| manager.session != session);
    }

    /// The same notes with all sums at zero.
    pub(super) fn emptied(&self) -> Self {
        Self {
            gone_rows: self.gone_rows,
            gone_skipped: self.gone_skipped,
            unreadable: self.unreadable.clone(),
            months: self.months.clone(),
            set_aside: self.set_aside.clone(),
            catching_up: self.catching_up,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_manager_sessions_are_kept() {
        let mut book = Book::default();
        for at in (0..100).rev() {
            let session = format!("s{at}");
            book.put_manager(Manager { session, at, ..Manager::default() });
        }
        book.put_manager(Manager { session: "s99".into(), at: 99, main: 7, ..Manager::default() });
        assert_eq!(book.managers.len(), MANAGERS);
        assert_eq!(book.managers.first().map(|manager| manager.at), Some(36));
        assert_eq!(book.managers.last().map(|manager| manager.main), Some(7));
    }
}
