//! What the traffic of a day cost, by model, role, agent and session, and how near the daily limit is. Seeded from
//! the audit at start, so that a restart forgets nothing.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use shared::audit_line::AuditLine;
use shared::clock::rfc3339;
use shared::costs::Costs;
use shared::flatten::flatten;

/// How an amount is meant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Basis {
    /// Billed by use, at list prices.
    List,
    /// Paid by the month: costs nothing more.
    Flat,
    /// A subscription's use at list prices: its worth, not a bill.
    Worth,
    /// The price is unknown.
    Unknown,
}

impl Basis {
    /// Its word in the audit.
    pub fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Flat => "flat",
            Self::Worth => "worth",
            Self::Unknown => "unknown",
        }
    }
}

/// Who pays for a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Payer {
    /// The client's own subscription.
    Subscription,
    /// Whoever owns the key that was used.
    Key,
}

/// Puts a price on a line that tells tokens.
pub fn price(line: &mut AuditLine, payer: Payer, costs: &Costs) {
    let Some(usage) = line.usage else { return };
    let is_flat = line.worker.as_deref().is_some_and(|worker| costs.is_flat(worker));
    let known = line.model_used.as_deref().or(line.model_asked.as_deref());
    let list = known.and_then(|model| costs.list(model, &usage));
    let (cost, basis) = match (payer, list) {
        (Payer::Key, _) if is_flat => (Some(0.0), Basis::Flat),
        (Payer::Subscription, Some(money)) => (Some(money.dollars()), Basis::Worth),
        (Payer::Key, Some(money)) => (Some(money.dollars()), Basis::List),
        (_, None) => (None, Basis::Unknown),
    };
    line.cost_usd = cost;
    line.cost_basis = Some(basis.name().to_owned());
}

/// A sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Sum {
    /// How many answers.
    pub requests: u64,
    /// Tokens that had to be worked on.
    pub fresh: u64,
    /// Tokens read from a cache.
    pub cache_read: u64,
    /// What is billed by use.
    pub billed_usd: f64,
    /// What a subscription's use is worth.
    pub worth_usd: f64,
    /// Answers whose price is unknown.
    pub unpriced: u64,
}

impl Sum {
    fn add(&mut self, line: &AuditLine) {
        self.requests += 1;
        let usage = line.usage.unwrap_or_default();
        self.fresh += usage.fresh();
        self.cache_read += usage.cache_read;
        let cost = line.cost_usd.unwrap_or(0.0);
        match line.cost_basis.as_deref() {
            Some("list") => self.billed_usd += cost,
            Some("worth") => self.worth_usd += cost,
            Some("unknown") => self.unpriced += 1,
            _ => {}
        }
    }
}

impl std::ops::AddAssign for Sum {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.fresh += other.fresh;
        self.cache_read += other.cache_read;
        self.billed_usd += other.billed_usd;
        self.worth_usd += other.worth_usd;
        self.unpriced += other.unpriced;
    }
}

/// The most names in one list; more are summed as `other`, so that a client cannot fill the memory.
const MOST_NAMES: usize = 500;
/// The longest name.
const LONGEST: usize = 100;
/// The share of the limit at which it is told for the first time.
const EARLY: f64 = 0.8;

/// What was spent on one day.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Day {
    /// `yyyy-mm-dd`, in UTC.
    pub date: String,
    /// Everything.
    pub total: Sum,
    /// By the model that answered.
    pub by_model: BTreeMap<String, Sum>,
    /// By role.
    pub by_role: BTreeMap<String, Sum>,
    /// By subagent.
    pub by_agent: BTreeMap<String, Sum>,
    /// By session.
    pub by_session: BTreeMap<String, Sum>,
    /// By upstream.
    pub by_provider: BTreeMap<String, Sum>,
}

impl Day {
    /// A day without traffic.
    pub fn new(date: &str) -> Self {
        Self { date: date.to_owned(), ..Self::default() }
    }

    /// Adds a request.
    pub fn add(&mut self, line: &AuditLine) {
        self.total.add(line);
        let model = line.model_used.as_deref().or(line.model_asked.as_deref());
        for (sums, name) in [
            (&mut self.by_model, model),
            (&mut self.by_role, line.role.as_deref()),
            (&mut self.by_agent, line.agent_id.as_deref()),
            (&mut self.by_session, line.session_id.as_deref()),
            (&mut self.by_provider, Some(line.provider.as_str())),
        ] {
            let Some(name) = name else { continue };
            // Nearly always it is there already, as it stands.
            if let Some(sum) = sums.get_mut(name) {
                sum.add(line);
                continue;
            }
            let name = flatten(name, LONGEST);
            let full = sums.len() >= MOST_NAMES && !sums.contains_key(&name);
            sums.entry(if full { "other".to_owned() } else { name }).or_default().add(line);
        }
    }
}

/// What happens at the daily limit.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum AtLimit {
    /// It is told.
    #[default]
    Tell,
    /// What would be billed is refused.
    Refuse,
}

/// The daily limit on what is billed by use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limit {
    /// US dollars a day; nothing: no limit.
    pub usd: Option<f64>,
    /// What happens at it.
    pub then: AtLimit,
}

/// Something to tell the user once a day.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Notice {
    /// Four fifths are spent.
    Near,
    /// The limit is reached.
    Reached,
}

/// Today, and the limit.
#[derive(Debug)]
pub struct Spending {
    today: Day,
    /// The same day, counted since 1970.
    number: Option<i64>,
    limit: Limit,
    told: Option<Notice>,
}

impl Spending {
    /// Begins the day; lines of today that the audit holds are added by whoever reads it.
    pub fn new(date: &str, limit: Limit) -> Self {
        Self { today: Day::new(date), number: None, limit, told: None }
    }

    /// Adds a request; tells what the user should hear now.
    pub fn add(&mut self, line: &AuditLine, now: jiff::Timestamp) -> Option<Notice> {
        let number = Some(now.as_second().div_euclid(86_400));
        // Written out only when the day may be another.
        if self.number != number {
            self.number = number;
            let date = date(now);
            if self.today.date != date {
                self.today = Day::new(&date);
                self.told = None;
            }
        }
        self.today.add(line);
        self.notice()
    }

    /// Sets another limit.
    pub fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    /// The day so far; yesterday's sums are none of today's.
    pub fn today(&self, now: jiff::Timestamp) -> Day {
        let date = date(now);
        if self.today.date == date { self.today.clone() } else { Day::new(&date) }
    }

    /// Whether what would be billed is refused now.
    pub fn refuses(&self, now: jiff::Timestamp) -> bool {
        self.limit.then == AtLimit::Refuse
            && self.today.date == date(now)
            && self.limit.usd.is_some_and(|most| self.today.total.billed_usd >= most)
    }

    fn notice(&mut self) -> Option<Notice> {
        let most = self.limit.usd?;
        let notice = match self.today.total.billed_usd {
            spent if spent >= most => Notice::Reached,
            spent if spent >= most * EARLY => Notice::Near,
            _ => return None,
        };
        // Past the limit the early notice has nothing more to say.
        let is_new = self.told != Some(notice) && self.told != Some(Notice::Reached);
        is_new.then(|| {
            self.told = Some(notice);
            notice
        })
    }
}

/// The day of a time, in UTC, as the audit has it.
pub fn date(now: jiff::Timestamp) -> String {
    rfc3339(now).get(..10).unwrap_or_default().to_owned()
}

/// A word that requests look at without waiting for anybody.
#[derive(Debug, Default)]
pub struct Refusing(AtomicBool);

impl Refusing {
    /// Whether what would be billed is refused now.
    pub fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Turns it on or off.
    pub fn set(&self, on: bool) {
        self.0.store(on, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::ledger::usage::Usage;

    fn line(basis: &str, usd: f64) -> AuditLine {
        AuditLine {
            provider: "zai".into(),
            model_used: Some("glm-5.2".into()),
            usage: Some(Usage { input: 10, output: 5, ..Usage::default() }),
            cost_usd: Some(usd),
            cost_basis: Some(basis.into()),
            ..AuditLine::default()
        }
    }

    fn at(time: &str) -> jiff::Timestamp {
        time.parse().unwrap()
    }

    #[test]
    fn a_subscription_is_worth_and_not_billed_and_has_no_limit() {
        let now = at("2026-02-01T10:00:00Z");
        let mut spending = Spending::new("2026-02-01", Limit { usd: Some(1.0), then: AtLimit::Refuse });
        assert_eq!(spending.add(&line("worth", 50.0), now), None);
        assert!(!spending.refuses(now));
        assert!((spending.today(now).total.worth_usd - 50.0).abs() < 1e-9);
    }

    #[test]
    fn each_notice_comes_once_and_past_the_limit_only_the_last() {
        let now = at("2026-02-01T10:00:00Z");
        let limit = Limit { usd: Some(10.0), then: AtLimit::Refuse };
        let mut spending = Spending::new("2026-02-01", limit);
        assert_eq!(spending.add(&line("list", 7.0), now), None);
        assert_eq!(spending.add(&line("list", 1.5), now), Some(Notice::Near));
        assert_eq!(spending.add(&line("list", 0.5), now), None);
        assert_eq!(spending.add(&line("list", 1.0), now), Some(Notice::Reached));
        assert_eq!(spending.add(&line("list", 1.0), now), None);
        assert!(spending.refuses(now));
        // A jump over both tells only the second.
        let mut jump = Spending::new("2026-02-01", limit);
        assert_eq!(jump.add(&line("list", 70.0), now), Some(Notice::Reached));
        assert_eq!(jump.add(&line("list", 1.0), now), None);
        // The next day begins anew.
        let next = at("2026-02-02T00:00:01Z");
        assert!(!jump.refuses(next));
        assert_eq!(jump.add(&line("list", 8.5), next), Some(Notice::Near));
    }

    #[test]
    fn names_from_clients_cannot_fill_the_memory() {
        let mut day = Day::new("2026-02-01");
        for number in 0..2_000 {
            day.add(&AuditLine { session_id: Some(format!("s-{number}")), ..line("list", 0.0) });
        }
        assert_eq!(day.by_session.len(), MOST_NAMES + 1);
        assert_eq!(day.by_session["other"].requests, 1_500);
        assert_eq!(day.total.requests, 2_000);
    }
}
