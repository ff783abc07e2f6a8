//! Which row counts: sightings are laid against what the store holds, and what changes is counted or taken
//! back. The rules themselves are in `winner`, the sums in `tally`.

use super::hash;
use super::layout::Place;
use super::record::{Message, Record};
use super::sighting::{Piece, Sighting, id_kind};
use super::store::further_key;
use super::tally::{Counted, Tally};
use super::winner::{self, Member, Part};
use crate::error::Result;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// Ids with several parts whose messages were taken back, to be counted again when the parts are settled.
#[derive(Debug, Default)]
pub(super) struct Open(BTreeSet<String>);

/// An id as it is looked for.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) id: &'a str,
    pub(super) without_id: bool,
    pub(super) hash: u64,
}

impl<'a> Wanted<'a> {
    pub(super) fn of(id: &'a str, without_id: bool) -> Self {
        Self { id, without_id, hash: hash::of_bytes(id_kind(without_id), id.as_bytes()) }
    }
}

/// A message's texts, as places in the store.
#[derive(Clone, Copy)]
struct Texts {
    model: Place,
    session: Place,
    project: Place,
}

impl Tally<'_> {
    /// Takes in what was read from a file in a worker's home.
    pub(super) fn merge(&mut self, open: &mut Open, piece: &Piece, worker: &str) -> Result<()> {
        let mut places: Vec<Option<Place>> = piece.texts().map(|_| None).collect();
        let mut place = |tally: &mut Self, at: u32| -> Result<Place> {
            if let Some(Some(place)) = places.get(at as usize) {
                return Ok(*place);
            }
            let place = tally.store.name(piece.text(at))?;
            if let Some(slot) = places.get_mut(at as usize) {
                *slot = Some(place);
            }
            Ok(place)
        };
        let mut last_session = None;
        for sighting in &piece.sightings {
            let texts = Texts {
                model: place(self, sighting.model)?,
                session: place(self, sighting.session)?,
                project: place(self, sighting.project)?,
            };
            if last_session != Some(texts.session) {
                self.see(texts.session, worker)?;
                last_session = Some(texts.session);
            }
            self.sight(open, sighting, texts)?;
            self.lighten()?;
        }
        for (session, usage) in &piece.costs {
            let session = place(self, *session)?;
            self.see(session, worker)?;
            self.cost(session, *usage)?;
        }
        for session in &piece.forks {
            let session = place(self, *session)?;
            self.forked(session)?;
        }
        Ok(())
    }

    /// Writes what is held when it has grown heavy, so that memory stays bounded whatever is counted.
    pub(super) fn lighten(&mut self) -> Result<()> {
        if self.store.is_heavy() {
            self.write_sessions()?;
            self.store.write(false)?;
        }
        Ok(())
    }

    /// Takes in what an older store holds, where this one knows nothing of it.
    pub(super) fn merge_missing(&mut self, open: &mut Open, piece: &Piece) -> Result<()> {
        for sighting in &piece.sightings {
            let wanted = Wanted::of(&sighting.id, sighting.without_id);
            let part = sighting.member.part;
            let is_there = match self.first_part(wanted)? {
                None => false,
                Some((_, first)) => first.member.part == part || self.further_part(wanted, part)?.is_some(),
            };
            if !is_there {
                let texts = Texts {
                    model: self.store.name(piece.text(sighting.model))?,
                    session: self.store.name(piece.text(sighting.session))?,
                    project: self.store.name(piece.text(sighting.project))?,
                };
                self.sight(open, sighting, texts)?;
            }
        }
        Ok(())
    }

    fn sight(&mut self, open: &mut Open, sighting: &Sighting, texts: Texts) -> Result<()> {
        let wanted = Wanted::of(&sighting.id, sighting.without_id);
        let Some((place, first)) = self.first_part(wanted)? else {
            let message = self.message(wanted, sighting, texts, 0)?;
            self.store.add(wanted.hash, |previous| message.bytes(previous))?;
            return self.add(counted(&message, message.member.finished));
        };
        let part = sighting.member.part;
        if first.next_part == 0 && first.member.part == part {
            let Some(better) = self.better(wanted, &first, sighting, texts)? else { return Ok(()) };
            self.remove(counted(&first, first.member.finished))?;
            self.add(counted(&better, better.member.finished))?;
            self.store.supersede(wanted.hash, place, |previous| better.bytes(previous))?;
            return Ok(());
        }
        self.open(open, wanted, &first)?;
        if first.member.part == part {
            if let Some(better) = self.better(wanted, &first, sighting, texts)? {
                self.store.supersede(wanted.hash, place, |previous| better.bytes(previous))?;
            }
            return Ok(());
        }
        let key = further_key(wanted.hash, part);
        if let Some((place, old)) = self.further_part(wanted, part)? {
            if let Some(better) = self.better(wanted, &old, sighting, texts)? {
                self.store.supersede(key, place, |previous| better.bytes(previous))?;
            }
            return Ok(());
        }
        let mut message = self.message(wanted, sighting, texts, first.next_part)?;
        message.further = true;
        let new = self.store.add(key, |previous| message.bytes(previous))?;
        let first = Message { next_part: new + 1, ..first };
        self.store.supersede(wanted.hash, place, |previous| first.bytes(previous))?;
        Ok(())
    }

    /// Takes the messages of an id with several parts back, once, until the parts are settled.
    pub(super) fn open(&mut self, open: &mut Open, wanted: Wanted<'_>, first: &Message) -> Result<()> {
        if !open.0.insert(wanted.id.to_owned()) {
            return Ok(());
        }
        for message in self.messages(wanted, first)? {
            self.remove(message)?;
        }
        Ok(())
    }

    /// Counts the messages of all ids that were opened.
    pub(super) fn settle(&mut self, open: &mut Open) -> Result<()> {
        for id in std::mem::take(&mut open.0) {
            // Rows without an id are told apart by their own uuid and have no parts.
            let wanted = Wanted::of(&id, false);
            if let Some((_, first)) = self.first_part(wanted)? {
                for message in self.messages(wanted, &first)? {
                    self.add(message)?;
                }
            }
        }
        Ok(())
    }

    fn message(
        &mut self,
        wanted: Wanted<'_>,
        sighting: &Sighting,
        texts: Texts,
        next_part: u32,
    ) -> Result<Message> {
        let Texts { model, session, project } = texts;
        Ok(Message {
            id: self.store.id_of(&sighting.id)?,
            without_id: sighting.without_id,
            member: sighting.member,
            model,
            session,
            project,
            further: false,
            next_part,
            served: self.served(session, wanted)?,
        })
    }

    /// The message with the sighting taken in, when that changes anything.
    fn better(
        &mut self,
        wanted: Wanted<'_>,
        old: &Message,
        sighting: &Sighting,
        texts: Texts,
    ) -> Result<Option<Message>> {
        let Member { claim, on_main, finished, .. } = sighting.member;
        let mut new = *old;
        new.member.on_main |= on_main;
        new.member.finished |= finished;
        let rank = claim.rank(&old.member.claim);
        let wins = match rank {
            Ordering::Equal => {
                let places = |texts: Texts| [texts.session, texts.model, texts.project];
                let Message { model, session, project, .. } = *old;
                let (ours, theirs) = (places(texts), places(Texts { model, session, project }));
                ours != theirs && self.texts(ours)? < self.texts(theirs)?
            }
            rank => rank.is_lt(),
        };
        if wins {
            new.member.claim = claim;
            (new.model, new.session, new.project) = (texts.model, texts.session, texts.project);
            new.served = self.served(texts.session, wanted)?;
        }
        Ok((new != *old).then_some(new))
    }

    fn texts(&mut self, places: [Place; 3]) -> Result<Vec<std::sync::Arc<str>>> {
        places.into_iter().map(|place| self.store.text(place)).collect()
    }

    pub(super) fn first_part(&mut self, wanted: Wanted<'_>) -> Result<Option<(Place, Message)>> {
        self.store.find(wanted.hash, |store, record| {
            Ok(match record {
                Record::Message(message)
                    if !message.further
                        && message.without_id == wanted.without_id
                        && store.is_id(message.id, wanted.id)? =>
                {
                    Some(message)
                }
                _ => None,
            })
        })
    }

    pub(super) fn further_part(
        &mut self,
        wanted: Wanted<'_>,
        part: Part,
    ) -> Result<Option<(Place, Message)>> {
        self.store.find(further_key(wanted.hash, part), |store, record| {
            Ok(match record {
                Record::Message(message)
                    if message.further
                        && message.without_id == wanted.without_id
                        && message.member.part == part
                        && store.is_id(message.id, wanted.id)? =>
                {
                    Some(message)
                }
                _ => None,
            })
        })
    }

    /// The messages behind an id: one for most, several where its parts prove to be answers of their own.
    fn messages(&mut self, wanted: Wanted<'_>, first: &Message) -> Result<Vec<Counted>> {
        let mut parts = vec![*first];
        let mut next = first.next_part;
        while let Some(place) = next.checked_sub(1) {
            let Record::Message(version) = self.store.record(place)? else { break };
            next = version.next_part;
            if let Some((_, newest)) = self.further_part(wanted, version.member.part)? {
                parts.push(newest);
            }
        }
        let texts = parts
            .iter()
            .map(|part| self.texts([part.session, part.model, part.project]))
            .collect::<Result<Vec<_>>>()?;
        Ok(counted_parts(&parts, &texts))
    }

    /// Adds everything up again from the records.
    pub(super) fn count_again(&mut self) -> Result<()> {
        self.write_sessions()?;
        let (mut superseded, mut sessions) = (Bits::default(), Vec::new());
        self.store.walk(|_, bytes| {
            superseded.set(super::record::previous(bytes));
            if let Some(Record::Session(session)) = super::record::read(bytes) {
                sessions.push(session.name);
            }
            Ok(())
        })?;
        sessions.sort_unstable();
        sessions.dedup();
        self.empty(&sessions)?;
        let mut place = 0;
        while place < self.store.length() {
            for bytes in self.store.block(place)? {
                place += 1;
                let current = super::record::is_message(&bytes) && !superseded.has(place);
                if let Some(Record::Message(message)) = super::record::read(&bytes).filter(|_| current) {
                    self.count_record(&message)?;
                }
            }
        }
        self.recount = false;
        Ok(())
    }

    fn count_record(&mut self, message: &Message) -> Result<()> {
        if message.further {
            return Ok(());
        }
        if message.next_part == 0 {
            return self.add(counted(message, message.member.finished));
        }
        let id = self.store.id(message.id)?;
        for message in self.messages(Wanted::of(&id, message.without_id), message)? {
            self.add(message)?;
        }
        Ok(())
    }
}

/// A message of one part.
pub(super) fn counted(message: &Message, finished: bool) -> Counted {
    Counted {
        usage: message.member.claim.usage,
        session: message.session,
        model: message.model,
        at: message.member.claim.at,
        finished,
        without_id: message.without_id,
        served: message.served,
    }
}

/// The messages that several parts of one id stand for.
fn counted_parts<T: Ord>(parts: &[Message], texts: &[T]) -> Vec<Counted> {
    groups(parts, texts).into_iter().map(|(winner, finished)| counted(&winner, finished)).collect()
}

/// For each message behind an id: its winning part, and whether any part of it was finished.
pub(super) fn groups<T: Ord>(parts: &[Message], texts: &[T]) -> Vec<(Message, bool)> {
    let members: Vec<Member> = parts.iter().map(|part| part.member).collect();
    let rank = |a: usize, b: usize| match (members.get(a), members.get(b)) {
        (Some(first), Some(second)) => first
            .claim
            .rank(&second.claim)
            .then_with(|| texts.get(a).cmp(&texts.get(b)))
            .then(first.part.cmp(&second.part)),
        _ => a.cmp(&b),
    };
    winner::messages(&members, rank)
        .into_iter()
        .filter_map(|group| {
            let finished = group.iter().any(|at| members.get(*at).is_some_and(|member| member.finished));
            Some((*parts.get(*group.first()?)?, finished))
        })
        .collect()
}

/// One bit for each link.
#[derive(Debug, Default)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    /// Sets the bit of a link; "none" has no bit.
    pub(super) fn set(&mut self, link: u32) {
        if link == 0 {
            return;
        }
        let word = link as usize / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        if let Some(bits) = self.0.get_mut(word) {
            *bits |= 1 << (link % 64);
        }
    }

    /// Whether the bit of a link is set.
    pub(super) fn has(&self, link: u32) -> bool {
        self.0.get(link as usize / 64).is_some_and(|bits| bits >> (link % 64) & 1 == 1)
    }
}
