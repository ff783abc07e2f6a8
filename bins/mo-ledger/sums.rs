//! Messages added up by worker, model, session, project and day: tokens and what they cost. Shown elsewhere.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use jiff::civil::Date;
use shared::costs::Costs;
use shared::error::Result;
use shared::ledger::Ledger;
use shared::ledger::fact::Fact;
use shared::ledger::publish::Sum;
use shared::ledger::usage::{Total, Usage};
use shared::money::{Cost, Money};

use crate::calendar::{Calendar, month, week};
use crate::selection::Selection;

/// The name of the day of messages whose time is unknown.
pub const UNKNOWN: &str = "unknown";

/// Tokens, what they cost, and when the last of them were used.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Line {
    /// Messages and tokens.
    pub total: Total,
    /// What they cost.
    pub cost: Cost,
    /// The time of the last message.
    pub last_at: i64,
}

impl Line {
    /// One message more.
    pub fn add(&mut self, usage: Usage, cost: Option<Money>, at: i64) {
        self.total.add(usage);
        self.cost.add(cost);
        self.last_at = self.last_at.max(at);
    }

    /// All messages of another line more.
    pub fn join(&mut self, other: &Self) {
        self.total += other.total;
        self.cost += other.cost;
        self.last_at = self.last_at.max(other.last_at);
    }

    /// As it is published.
    pub fn sum(&self) -> Sum {
        Sum::of(self.total, Some(self.cost))
    }
}

/// Lines by name.
pub type Lines = BTreeMap<String, Line>;

/// What a selection adds up to.
#[derive(Debug, Default)]
pub struct Sums {
    /// Everything.
    pub totals: Line,
    /// Messages without an id, which are in no other sum.
    pub no_id: Line,
    /// Messages whose last row is missing.
    pub incomplete: u64,
    /// Models whose price is unknown, where it matters.
    pub unpriced: BTreeSet<String>,
    models: HashMap<Arc<str>, Line>,
    workers: HashMap<Arc<str>, Line>,
    sessions: HashMap<Arc<str>, Line>,
    projects: HashMap<Arc<str>, Line>,
    days: BTreeMap<Option<Date>, Line>,
}

impl Sums {
    /// Adds up what the selection takes.
    pub fn of(
        ledger: &Ledger,
        costs: &Costs,
        selection: &Selection,
        calendar: &mut Calendar,
    ) -> Result<Self> {
        let mut sums = Self::default();
        for fact in ledger.facts() {
            let fact = fact?;
            if selection.takes(&fact) {
                sums.add(&fact, costs, calendar);
            }
        }
        Ok(sums)
    }

    fn add(&mut self, fact: &Fact, costs: &Costs, calendar: &mut Calendar) {
        let cost = costs.of(&fact.worker, &fact.model, &fact.usage);
        if fact.without_id {
            self.no_id.add(fact.usage, cost, fact.at);
            return;
        }
        if cost.is_none() && !self.unpriced.contains(&*fact.model) {
            self.unpriced.insert(fact.model.to_string());
        }
        self.incomplete += u64::from(fact.incomplete);
        self.totals.add(fact.usage, cost, fact.at);
        for (lines, name) in [
            (&mut self.models, &fact.model),
            (&mut self.workers, &fact.worker),
            (&mut self.sessions, &fact.session),
            (&mut self.projects, &fact.project),
        ] {
            lines.entry(Arc::clone(name)).or_default().add(fact.usage, cost, fact.at);
        }
        self.days.entry(calendar.day(fact.at)).or_default().add(fact.usage, cost, fact.at);
    }

    /// Whether a session has messages in the selection.
    pub fn has_session(&self, session: &str) -> bool {
        self.sessions.contains_key(session)
    }

    /// The lines of one kind, by name.
    pub fn by(&self, kind: By) -> Lines {
        let named = |lines: &HashMap<Arc<str>, Line>| {
            lines.iter().map(|(name, line)| (name.to_string(), *line)).collect()
        };
        match kind {
            By::Model => named(&self.models),
            By::Worker => named(&self.workers),
            By::Session => named(&self.sessions),
            By::Project => named(&self.projects),
            By::Day => self.times(|day| day.to_string()),
            By::Week => self.times(week),
            By::Month => self.times(month),
        }
    }

    fn times(&self, name: impl Fn(Date) -> String) -> Lines {
        let mut lines = Lines::new();
        for (day, line) in &self.days {
            let name = day.map_or_else(|| UNKNOWN.to_owned(), &name);
            lines.entry(name).or_default().join(line);
        }
        lines
    }
}

/// By what messages are added up.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum By {
    /// By day of the calendar.
    Day,
    /// By ISO week.
    Week,
    /// By month.
    Month,
    /// By session.
    Session,
    /// By worker, the manager included.
    Worker,
    /// By model.
    Model,
    /// By working directory.
    Project,
}

impl By {
    /// All kinds.
    pub const ALL: [Self; 7] =
        [Self::Day, Self::Week, Self::Month, Self::Session, Self::Worker, Self::Model, Self::Project];

    /// Its name on the command line and in JSON (`by_…`).
    pub fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Session => "session",
            Self::Worker => "worker",
            Self::Model => "model",
            Self::Project => "project",
        }
    }

    /// Whether lines of this kind are in the order of time.
    pub fn is_time(self) -> bool {
        matches!(self, Self::Day | Self::Week | Self::Month)
    }
}
