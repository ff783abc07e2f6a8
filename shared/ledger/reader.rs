//! The ledger as reports read it: every counted message, one after the other, from a snapshot that no
//! update disturbs, without a lock. Adding up and showing is left to the reports.

use super::book::Book;
use super::fact::{Fact, MAIN};
use super::id::Id;
use super::layout::{Place, SIZE};
use super::merge::{Bits, groups};
use super::record::{self, Grant, Message, Record, SEVERAL, Session};
use super::state::State;
use super::store::{broken, facts_path, walk};
use super::usage::Usage;
use crate::error::{Error, Result};
use crate::world::World;
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

/// Records read at once.
const STRIDE: usize = 1024;

/// The ledger as of its last commit.
#[derive(Debug)]
pub struct Ledger {
    state: State,
    path: PathBuf,
    file: Option<File>,
    names: HashMap<Place, Arc<str>>,
    sessions: HashMap<Place, Session>,
    grants: HashMap<Place, Vec<Grant>>,
    superseded: Bits,
}

/// Tokens that Claude Code counted for a session and no row shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unlogged {
    /// The session.
    pub session: Arc<str>,
    /// Its worker.
    pub worker: Arc<str>,
    /// What is missing.
    pub usage: Usage,
}

impl Ledger {
    /// Opens the ledger as it is on disk. One that was never updated is empty.
    pub fn open(world: &World) -> Result<Self> {
        let dir = world.paths.usage()?;
        // A rebuild may replace the files between the two reads; its commit is there by then.
        for _ in 0..3 {
            let state = State::read(&dir)?.unwrap_or_default();
            let path = facts_path(&dir, state.era);
            match File::open(&path) {
                Ok(file) => return Self::read(state, path, Some(file)),
                Err(error) if error.kind() == io::ErrorKind::NotFound && state.length == 0 => {
                    return Self::read(state, path, None);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io("cannot read", &path, &error)),
            }
        }
        Err(broken(&dir, "its records are not there").hint("run `mo-ledger update`"))
    }

    /// Gathers what the messages refer to.
    fn read(state: State, path: PathBuf, file: Option<File>) -> Result<Self> {
        let mut ledger = Self {
            state,
            path,
            file,
            names: HashMap::new(),
            sessions: HashMap::new(),
            grants: HashMap::new(),
            superseded: Bits::default(),
        };
        let Some(file) = ledger.file.take() else { return Ok(ledger) };
        let path = ledger.path.clone();
        let mut name: Option<(Place, usize, Vec<u8>)> = None;
        walk(&file, &path, ledger.state.length, &mut |place, bytes| {
            ledger.superseded.set(record::previous(bytes));
            // Messages are most of the file and are read when they are asked for.
            if record::is_message(bytes) {
                return Ok(());
            }
            let record = record::read(bytes)
                .ok_or_else(|| broken(&path, &format!("record {place} does not hold its check")))?;
            match record {
                Record::Name { length, head } => name = Some((place, length, head)),
                Record::More(part) => {
                    if let Some((_, _, text)) = &mut name {
                        text.extend(part);
                    }
                }
                Record::Session(session) => {
                    ledger.sessions.insert(session.name, session);
                }
                Record::Grant(grant) => ledger.grant(grant),
                Record::Message(_) | Record::Served(_) => {}
            }
            if let Some((place, length, text)) = name.take() {
                if text.len() < length {
                    name = Some((place, length, text));
                } else {
                    ledger.names.insert(place, String::from_utf8_lossy(&text).into());
                }
            }
            Ok(())
        })?;
        ledger.file = Some(file);
        Ok(ledger)
    }

    fn grant(&mut self, grant: Grant) {
        let grants = self.grants.entry(grant.session).or_default();
        match grants.iter_mut().find(|old| old.number == grant.number) {
            Some(old) => *old = grant,
            None => grants.push(grant),
        }
    }

    /// The sums, and what updates found worth telling.
    pub fn book(&self) -> &Book {
        &self.state.book
    }

    /// Transcripts that were read and are still there.
    pub fn files(&self) -> usize {
        self.state.marks.len()
    }

    /// Rows with usage that were read, those of transcripts that are gone included.
    pub fn rows(&self) -> u64 {
        self.state.marks.iter().fold(self.state.book.gone_rows, |sum, mark| sum + u64::from(mark.rows))
    }

    /// Lines that speak of usage and could not be read.
    pub fn skipped_lines(&self) -> u64 {
        self.state.marks.iter().fold(self.state.book.gone_skipped, |sum, mark| sum + u64::from(mark.skipped))
    }

    /// Which commit this is.
    pub fn generation(&self) -> u64 {
        self.state.generation
    }

    /// All counted messages, in no order; those without an id are marked.
    pub fn facts(&self) -> Facts<'_> {
        Facts { ledger: self, place: 0, read: VecDeque::new(), parts: HashMap::new(), last: None }
    }

    /// For each session: what its `cost-state` counts and no row shows. A fork carries on the cost of the
    /// session it was copied from, so nothing can be told of it.
    pub fn unlogged(&self) -> Vec<Unlogged> {
        let mut unlogged = Vec::new();
        for session in self.sessions.values().filter(|session| !session.forked) {
            let (cost, rows) = (session.cost, session.total.usage);
            let usage = Usage {
                input: cost.input.saturating_sub(rows.input),
                output: cost.output.saturating_sub(rows.output),
                cache_creation: cost.cache_creation.saturating_sub(rows.cache_creation),
                cache_creation_1h: 0,
                cache_read: cost.cache_read.saturating_sub(rows.cache_read),
            };
            if usage != Usage::default() {
                let (worker, _) = self.credit(session.name, session.last_at, 0);
                unlogged.push(Unlogged { session: self.name(session.name), worker, usage });
            }
        }
        unlogged.sort_by(|a, b| a.session.cmp(&b.session));
        unlogged
    }

    fn name(&self, place: Place) -> Arc<str> {
        self.names.get(&place).cloned().unwrap_or_else(|| Arc::from(""))
    }

    fn linked(&self, link: u32) -> Option<Arc<str>> {
        link.checked_sub(1).map(|place| self.name(place))
    }

    /// The worker and the manager session of what a session did at a time, and whom the audit names for it.
    fn credit(&self, session: Place, at: i64, served: u32) -> (Arc<str>, Option<Arc<str>>) {
        let grants = self.grants.get(&session).map_or(&[][..], Vec::as_slice);
        if let Some(grant) = super::tally::grant_at(grants, at).and_then(|at| grants.get(at))
            && let Some(worker) = self.linked(grant.worker)
        {
            return (worker, self.linked(grant.manager));
        }
        if served != SEVERAL
            && let Some(worker) = self.linked(served)
        {
            return (worker, Some(self.name(session)));
        }
        let known = self.sessions.get(&session).copied().unwrap_or_default();
        let home = self.linked(known.holder).or_else(|| self.linked(known.seen));
        (home.unwrap_or_else(|| Arc::from(MAIN)), None)
    }

    fn id(&self, message: &Message) -> String {
        match message.id {
            Id::Inline { length, bytes } => {
                String::from_utf8_lossy(bytes.get(..usize::from(length)).unwrap_or_default()).into_owned()
            }
            Id::Name(place) => self.name(place).to_string(),
        }
    }

    fn fact(&self, id: String, message: &Message, finished: bool) -> Fact {
        let claim = message.member.claim;
        let (worker, manager) = self.credit(message.session, claim.at, message.served);
        Fact {
            id,
            usage: claim.usage,
            model: self.name(message.model),
            session: self.name(message.session),
            manager,
            worker,
            project: self.name(message.project),
            at: claim.at,
            sidechain: claim.sidechain,
            incomplete: !finished,
            without_id: message.without_id,
        }
    }
}

/// The counted messages; an error ends it.
#[derive(Debug)]
pub struct Facts<'a> {
    ledger: &'a Ledger,
    place: Place,
    read: VecDeque<Fact>,
    /// Ids with several parts, gathered until all are there.
    parts: HashMap<String, Vec<Message>>,
    last: Option<std::collections::hash_map::IntoIter<String, Vec<Message>>>,
}

impl Facts<'_> {
    fn more(&mut self) -> Result<bool> {
        let ledger = self.ledger;
        let length = ledger.state.length;
        let Some(file) = ledger.file.as_ref().filter(|_| self.place < length) else { return Ok(false) };
        let mut buffer = vec![[0; SIZE]; STRIDE.min((length - self.place) as usize)];
        file.read_exact_at(buffer.as_flattened_mut(), u64::from(self.place) * SIZE as u64)
            .map_err(|error| Error::io("cannot read", &ledger.path, &error))?;
        for bytes in &buffer {
            let place = self.place;
            self.place += 1;
            if !record::is_message(bytes) || ledger.superseded.has(place + 1) {
                continue;
            }
            let Some(Record::Message(message)) = record::read(bytes) else {
                return Err(broken(&ledger.path, &format!("record {place} does not hold its check")));
            };
            let id = ledger.id(&message);
            if message.further || message.next_part != 0 {
                self.parts.entry(id).or_default().push(message);
            } else {
                self.read.push_back(ledger.fact(id, &message, message.member.finished));
            }
        }
        Ok(true)
    }
}

impl Iterator for Facts<'_> {
    type Item = Result<Fact>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(fact) = self.read.pop_front() {
                return Some(Ok(fact));
            }
            match self.more() {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => {
                    self.place = self.ledger.state.length;
                    return Some(Err(error));
                }
            }
            let parts = std::mem::take(&mut self.parts);
            let last = self.last.get_or_insert_with(|| parts.into_iter());
            let (id, parts) = last.next()?;
            let text = |place: Place| self.ledger.name(place);
            let texts: Vec<_> =
                parts.iter().map(|part| [text(part.session), text(part.model), text(part.project)]).collect();
            for (message, finished) in groups(&parts, &texts) {
                self.read.push_back(self.ledger.fact(id.clone(), &message, finished));
            }
        }
    }
}
