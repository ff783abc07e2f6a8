//! The thread behind the requests: it prices what ended, writes the audit, counts, and tells what the user should
//! know. Requests hand over one message each and never wait.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use shared::audit_line::AuditLine;
use shared::clock::Clock;
use shared::costs::Costs;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::world::World;

use crate::agents::register::Register;

use super::audit::journal::{Journal, Keeping};
use super::audit::query::{Query, each};
use super::cost::{self, Day, Limit, Notice, Payer, Refusing, Spending};
use super::differences::{self, Difference, Differences};
use super::metrics::{Live, Metrics};
use super::quota::Quota;

/// The most messages that wait; a burst beyond it is counted as lost.
const QUEUE: usize = 16 * 1024;
/// The most lines that are written at once.
const BATCH: usize = 1024;
/// A pause behind each batch: who comes meanwhile is taken in one go, and need not wake anybody.
const PAUSE: Duration = Duration::from_millis(20);

/// A request that ended.
#[derive(Debug)]
pub struct Ended {
    /// What the audit will say; price and chain are filled in here.
    pub line: AuditLine,
    /// Who pays.
    pub payer: Payer,
    /// Why it was tried again, each time.
    pub retries: Vec<&'static str>,
    /// What the upstream told about its plan.
    pub quota: Option<Quota>,
    /// How the prompt of a subagent begins.
    pub prompt: Option<String>,
}

enum Message {
    Ended(Box<Ended>),
    Limit(Limit, Box<Costs>),
    End,
}

/// What requests and routes look at.
#[derive(Debug)]
struct Board {
    clock: Clock,
    refusing: Refusing,
    /// Lines that never came into the queue.
    missed: AtomicU64,
    /// Lines that the audit could not take, all together.
    lost: AtomicU64,
    metrics: Mutex<Metrics>,
    spending: Mutex<Spending>,
    quotas: Mutex<BTreeMap<String, Quota>>,
    differences: Mutex<Differences>,
    trouble: Mutex<Option<String>>,
}

/// The way to the thread.
#[derive(Debug)]
pub struct Observer {
    sender: SyncSender<Message>,
    board: Arc<Board>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// How the thread works.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the audit lies; nothing: none is kept.
    pub audit: Option<PathBuf>,
    /// How its files are kept.
    pub keeping: Keeping,
    /// The daily limit.
    pub limit: Limit,
    /// The agents that sessions were started with.
    pub agents: PathBuf,
}

impl Observer {
    /// Starts it; the audit of today is read first, so that the day's sums go on.
    pub fn start(world: &World, settings: &Settings) -> Result<Self> {
        let (costs, trouble) = Costs::load(world);
        if let Some(trouble) = trouble {
            tracing::warn!(%trouble, "prices");
        }
        let now = world.clock.now();
        let today = cost::date(now);
        let mut spending = Spending::new(&today, settings.limit);
        let journal = match &settings.audit {
            None => None,
            Some(directory) => {
                let journal = Journal::open(directory, settings.keeping, now)?;
                each(directory, &Query { since: Some(today), ..Query::default() }, |line| {
                    let _ = spending.add(&line, now);
                    true
                });
                Some(journal)
            }
        };
        let board = Arc::new(Board {
            clock: world.clock,
            refusing: Refusing::default(),
            missed: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            metrics: Mutex::default(),
            spending: Mutex::new(spending),
            quotas: Mutex::default(),
            differences: Mutex::default(),
            trouble: Mutex::default(),
        });
        board.refusing.set(lock(&board.spending).refuses(now));
        let (sender, messages) = mpsc::sync_channel(QUEUE);
        let agents = Register::new(settings.agents.clone());
        let work = Work { board: Arc::clone(&board), journal, costs, agents };
        let thread = thread::Builder::new()
            .name("observer".to_owned())
            .spawn(move || work.run(&messages))
            .map_err(|error| Error::new(Exit::Io, "cannot start a thread").because(&error))?;
        Ok(Self { sender, board, thread: Mutex::new(Some(thread)) })
    }

    /// Hands a request over; never waits.
    pub fn ended(&self, ended: Ended) {
        if let Err(TrySendError::Full(_)) = self.sender.try_send(Message::Ended(Box::new(ended))) {
            self.board.missed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes over a new limit and new prices.
    pub fn reload(&self, world: &World, limit: Limit) {
        let (costs, _) = Costs::load(world);
        let _ = self.sender.send(Message::Limit(limit, Box::new(costs)));
    }

    /// Whether what would be billed is refused: the daily limit is reached.
    pub fn refuses(&self) -> bool {
        self.board.refusing.is_on()
    }

    /// The figures as text.
    pub fn metrics(&self, live: Live) -> String {
        let audit_lost = self.lost();
        lock(&self.board.metrics).text(&Live { audit_lost, ..live })
    }

    /// What today cost.
    pub fn today(&self) -> Day {
        lock(&self.board.spending).today(self.board.clock.now())
    }

    /// What the upstreams told about their plans.
    pub fn quotas(&self) -> BTreeMap<String, Quota> {
        lock(&self.board.quotas).clone()
    }

    /// Where another model was at work than was meant, the newest.
    pub fn differences(&self) -> Vec<Difference> {
        lock(&self.board.differences).newest().to_vec()
    }

    /// Audit lines that were lost since the start.
    pub fn lost(&self) -> u64 {
        self.board.lost.load(Ordering::Relaxed) + self.board.missed.load(Ordering::Relaxed)
    }

    /// Why the audit cannot be written just now.
    pub fn trouble(&self) -> Option<String> {
        lock(&self.board.trouble).clone()
    }

    /// Writes what waits, and ends.
    pub fn close(&self) {
        if let Some(thread) = lock(&self.thread).take() {
            let _ = self.sender.send(Message::End);
            let _ = thread.join();
        }
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.close();
    }
}

/// A lock whose holder panicked still guards whole sums.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the thread owns.
struct Work {
    board: Arc<Board>,
    journal: Option<Journal>,
    costs: Costs,
    agents: Register,
}

impl Work {
    fn run(mut self, messages: &Receiver<Message>) {
        let mut lines = Vec::new();
        while let Ok(first) = messages.recv() {
            let mut next = Some(first);
            let mut is_over = false;
            while let Some(message) = next {
                match message {
                    Message::Ended(ended) => lines.push(self.take(*ended)),
                    Message::Limit(limit, costs) => {
                        self.costs = *costs;
                        lock(&self.board.spending).set_limit(limit);
                    }
                    Message::End => is_over = true,
                }
                next = if lines.len() < BATCH { messages.try_recv().ok() } else { None };
            }
            self.settle();
            let is_full = lines.len() >= BATCH;
            self.write(&mut lines);
            if is_over {
                return;
            }
            if !is_full {
                thread::sleep(PAUSE);
            }
        }
    }

    fn take(&mut self, ended: Ended) -> AuditLine {
        let Ended { mut line, payer, retries, quota, prompt } = ended;
        cost::price(&mut line, payer, &self.costs);
        self.compare(&mut line, prompt.as_deref());
        {
            let mut metrics = lock(&self.board.metrics);
            metrics.count(&line);
            for reason in retries {
                metrics.retried(&line.provider, reason);
            }
        }
        if let Some(quota) = quota {
            lock(&self.board.quotas).insert(line.provider.clone(), quota);
        }
        match lock(&self.board.spending).add(&line, self.board.clock.now()) {
            Some(Notice::Near) => tracing::warn!("four fifths of the daily limit are spent"),
            Some(Notice::Reached) => tracing::error!("the daily limit is reached"),
            None => {}
        }
        line
    }

    /// Whether the model is the one that was meant. A difference is told once.
    fn compare(&mut self, line: &mut AuditLine, prompt: Option<&str>) {
        if let (Some(prompt), Some(asked)) = (prompt, line.model_asked.as_deref())
            && let Some(known) = self.agents.look(prompt, asked)
        {
            line.agent = Some(known.name);
            line.model_named = known.ignored;
        }
        for difference in differences::of_line(line) {
            lock(&self.board.metrics).differs(&line.provider, difference.by);
            let Difference { by, of, session, meant, became, .. } = &difference;
            let (by, session) = (by.name(), session.as_deref().unwrap_or_default());
            let (said, of, meant, became) =
                (difference.sentence(), of.clone(), meant.clone(), became.clone());
            let session = session.to_owned();
            if lock(&self.board.differences).note(difference) {
                tracing::warn!(by, of, session, meant, became, "another model than was meant: {said}");
            }
        }
    }

    fn settle(&self) {
        let refuses = lock(&self.board.spending).refuses(self.board.clock.now());
        self.board.refusing.set(refuses);
    }

    fn write(&mut self, lines: &mut Vec<AuditLine>) {
        let Some(journal) = &mut self.journal else {
            lines.clear();
            return;
        };
        if lines.is_empty() {
            return;
        }
        let missed = self.board.missed.swap(0, Ordering::Relaxed);
        self.board.lost.fetch_add(missed, Ordering::Relaxed);
        journal.missed(missed);
        let trouble = match journal.append(lines, self.board.clock.now()) {
            Ok(()) => None,
            Err(error) => {
                self.board.lost.fetch_add(lines.len() as u64, Ordering::Relaxed);
                Some(error.to_string())
            }
        };
        lines.clear();
        let mut told = lock(&self.board.trouble);
        if *told != trouble {
            if let Some(trouble) = &trouble {
                tracing::error!(%trouble, "the audit cannot be written; requests go on");
            } else {
                tracing::info!("the audit is written again");
            }
            *told = trouble;
        }
    }
}
