//! One counted message as the reports see it. How facts are found, kept and credited is left to the store.

use super::usage::Usage;
use std::sync::Arc;

/// The name under which the manager's own messages are counted.
pub const MAIN: &str = "main";

/// One counted message: the winning row of its id, with its worker and the session it is credited to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// `message.id`; for a row without one, its uuid (see `without_id`).
    pub id: String,
    /// What the message used.
    pub usage: Usage,
    /// The model that answered.
    pub model: Arc<str>,
    /// The session the message was made in.
    pub session: Arc<str>,
    /// The manager session whose dispatch ran the session, where one did.
    pub manager: Option<Arc<str>>,
    /// The worker that made it, [`MAIN`] for the manager.
    pub worker: Arc<str>,
    /// The working directory, else the project folder's name.
    pub project: Arc<str>,
    /// When, in milliseconds since 1970 (UTC); 0 where the row named no readable time.
    pub at: i64,
    /// Made by a subagent or a side question.
    pub sidechain: bool,
    /// No row of it ever carried a stop reason: the true output may be larger.
    pub incomplete: bool,
    /// The row had no `message.id`: it is reported apart and in no total.
    pub without_id: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_stays_small_enough_to_collect_by_the_million() {
        assert!(std::mem::size_of::<Fact>() <= 160);
    }
}
