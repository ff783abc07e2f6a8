//! What dispatched work saved: what its tokens would have cost at the model of the manager that gave it away,
//! less what they did cost. Pure sums; shown elsewhere.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use jiff::civil::Date;
use shared::costs::Costs;
use shared::error::Result;
use shared::ledger::Ledger;
use shared::ledger::fact::{Fact, MAIN};
use shared::ledger::usage::Total;
use shared::money::{Cost, Money};

use crate::calendar::Calendar;

/// What one worker, model or day adds up to.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Saving {
    /// The workers' tokens.
    pub total: Total,
    /// What they cost.
    pub cost: Cost,
    /// What they would have cost at the manager's model.
    pub instead: Cost,
    /// The difference, where both are known.
    pub saved: Cost,
}

impl Saving {
    fn add(&mut self, fact: &Fact, cost: Option<Money>, instead: Option<Money>) {
        self.total.add(fact.usage);
        self.cost.add(cost);
        self.instead.add(instead);
        self.saved.add(instead.zip(cost).map(|(instead, cost)| instead - cost));
    }

    /// All of another sum more.
    pub fn join(&mut self, other: &Self) {
        self.total += other.total;
        self.cost += other.cost;
        self.instead += other.instead;
        self.saved += other.saved;
    }
}

/// Everything that is said about savings.
#[derive(Debug, Default)]
pub struct Savings {
    /// Manager sessions that dispatched workers.
    pub sessions: BTreeSet<Arc<str>>,
    /// The managers' own fresh tokens in those sessions.
    pub main_fresh: u64,
    /// By worker, then model.
    pub workers: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Saving>>,
    /// By day; without one where the time is unknown.
    pub days: BTreeMap<Option<Date>, Saving>,
    /// Workers used by hand, which belong to no session and save nothing.
    pub by_hand: BTreeMap<Arc<str>, Total>,
    /// Models whose price is unknown, where it matters.
    pub unpriced: BTreeSet<Arc<str>>,
}

/// The models of the managers: which one each session worked with most.
#[derive(Debug, Default)]
struct Managers {
    sessions: HashMap<Arc<str>, HashMap<Arc<str>, u64>>,
    all: HashMap<Arc<str>, u64>,
}

impl Managers {
    fn add(&mut self, fact: &Fact) {
        // Subagents run on other models; who dispatches is on the main chain.
        let fresh = fact.usage.fresh();
        if !fact.sidechain && fresh > 0 {
            let session = self.sessions.entry(Arc::clone(&fact.session)).or_default();
            *session.entry(Arc::clone(&fact.model)).or_default() += fresh;
            if *fact.worker == *MAIN {
                *self.all.entry(Arc::clone(&fact.model)).or_default() += fresh;
            }
        }
    }

    /// The model of this manager; of a session that left no row, the model that managers use most.
    fn model(&self, session: &str) -> Option<Arc<str>> {
        let models = self.sessions.get(session).unwrap_or(&self.all);
        models.iter().max_by(|(a, x), (b, y)| x.cmp(y).then(b.cmp(a))).map(|(model, _)| Arc::clone(model))
    }
}

impl Savings {
    /// Adds up what was dispatched, from one session or from all.
    pub fn of(
        ledger: &Ledger,
        costs: &Costs,
        session: Option<&str>,
        calendar: &mut Calendar,
    ) -> Result<Self> {
        let mut managers = Managers::default();
        let mut savings = Self::default();
        let mut own: HashMap<Arc<str>, u64> = HashMap::new();
        for fact in ledger.facts() {
            let fact = fact?;
            match &fact.manager {
                _ if fact.without_id => {}
                Some(manager) if session.is_none_or(|session| **manager == *session) => {
                    savings.sessions.insert(Arc::clone(manager));
                }
                Some(_) => {}
                None => {
                    *own.entry(Arc::clone(&fact.session)).or_default() += fact.usage.fresh();
                    managers.add(&fact);
                }
            }
        }
        savings.main_fresh = savings.sessions.iter().filter_map(|session| own.get(session)).sum();
        for fact in ledger.facts() {
            let fact = fact?;
            match &fact.manager {
                _ if fact.without_id => {}
                Some(manager) if savings.sessions.contains(manager) => {
                    let instead = managers.model(manager);
                    savings.add(&fact, costs, instead.as_ref(), calendar.day(fact.at));
                }
                None if session.is_none()
                    && *fact.worker != *MAIN
                    && !savings.sessions.contains(&fact.session) =>
                {
                    savings.by_hand.entry(fact.worker).or_default().add(fact.usage);
                }
                _ => {}
            }
        }
        Ok(savings)
    }

    fn add(&mut self, fact: &Fact, costs: &Costs, manager: Option<&Arc<str>>, day: Option<Date>) {
        let cost = costs.of(&fact.worker, &fact.model, &fact.usage);
        let instead = manager.and_then(|model| costs.list(model, &fact.usage));
        if cost.is_none() {
            self.unpriced.insert(Arc::clone(&fact.model));
        }
        if let Some(model) = manager.filter(|_| instead.is_none()) {
            self.unpriced.insert(Arc::clone(model));
        }
        let models = self.workers.entry(Arc::clone(&fact.worker)).or_default();
        models.entry(Arc::clone(&fact.model)).or_default().add(fact, cost, instead);
        self.days.entry(day).or_default().add(fact, cost, instead);
    }

    /// The sum over all workers.
    pub fn all(&self) -> Saving {
        let mut all = Saving::default();
        for saved in self.workers.values().flat_map(BTreeMap::values) {
            all.join(saved);
        }
        all
    }
}
