//! What a stretch of transcript showed: the winning row of each message in it, with its texts told once.
//! Rows are folded in here as they are read; the store merges sightings, never rows.

use super::hash;
use super::row::{CostState, Row};
use super::usage::Usage;
use super::winner::{Claim, Member, Part, Uuid};
use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Ids and names longer than this are cut and told apart by a hash.
const LONGEST_TEXT: usize = 512;

/// A text's place among the texts of a [`Piece`].
pub(super) type TextAt = u32;

/// One message as a piece of transcript shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sighting {
    pub(super) id: Box<str>,
    pub(super) without_id: bool,
    pub(super) member: Member,
    pub(super) model: TextAt,
    pub(super) session: TextAt,
    pub(super) project: TextAt,
}

/// What was read from one file in one go.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) sightings: Vec<Sighting>,
    pub(super) costs: Vec<(TextAt, Usage)>,
    pub(super) forks: Vec<TextAt>,
    pub(super) rows: u32,
    pub(super) skipped: u32,
    texts: Vec<Box<str>>,
    text_at: HashMap<Box<str>, TextAt>,
    places: HashMap<(u64, Part), u32>,
    last: Option<u32>,
}

/// What the folder says where the row is silent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Folder<'a> {
    pub(super) session: &'a str,
    pub(super) project: &'a str,
}

impl Piece {
    /// The text behind a place.
    pub(super) fn text(&self, at: TextAt) -> &str {
        self.texts.get(at as usize).map_or("", |text| text)
    }

    /// All texts, in the order of their places.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(|text| &**text)
    }

    /// The place of a text, told once.
    pub(super) fn keep(&mut self, text: &str) -> TextAt {
        let text = clipped(text);
        if let Some(at) = self.text_at.get(&*text) {
            return *at;
        }
        let at = self.texts.len() as TextAt;
        self.texts.push(text.as_ref().into());
        self.text_at.insert(text.into(), at);
        at
    }

    /// Folds a row in.
    pub(super) fn add(&mut self, row: &Row<'_>, folder: Folder<'_>) {
        self.rows += 1;
        let model = self.keep(&row.model);
        let session = self.keep(row.session.as_deref().unwrap_or(folder.session));
        let project = self.keep(row.cwd.as_deref().unwrap_or(folder.project));
        if let Some(fork) = &row.forked {
            let fork = self.keep(fork);
            if !self.forks.contains(&fork) {
                self.forks.push(fork);
            }
        }
        let member = Member {
            part: match &row.request_ref {
                Some(reference) => Part::Request(hash::of_bytes(b'r', reference.as_bytes())),
                None => Part::Input(row.usage.input),
            },
            claim: Claim {
                usage: row.usage,
                at: row.at,
                uuid: Uuid::of(row.uuid.as_deref()),
                sidechain: row.sidechain,
            },
            on_main: !row.sidechain,
            finished: row.finished,
        };
        let id = row.id.as_deref().map_or_else(|| name_without_id(row, self.text(session)), clipped);
        // A row without an id is one message by its uuid, whatever its other fields say.
        let part = if row.id.is_some() { member.part } else { Part::Input(0) };
        let member = Member { part, ..member };
        if let Some(last) = self.last.and_then(|at| self.sightings.get(at as usize))
            && *last.id == *id
            && last.member.part == part
            && last.without_id == row.id.is_none()
        {
            let at = self.last.unwrap_or_default();
            return self.fold(at, member, [model, session, project]);
        }
        let key = (hash::of_bytes(id_kind(row.id.is_none()), id.as_bytes()), part);
        let new = self.sightings.len() as u32;
        let at = match self.places.entry(key) {
            Entry::Occupied(old) => *old.get(),
            Entry::Vacant(place) => *place.insert(new),
        };
        self.last = Some(at);
        if at == new {
            let without_id = row.id.is_none();
            let id = id.into();
            self.sightings.push(Sighting { id, without_id, member, model, session, project });
        } else {
            self.fold(at, member, [model, session, project]);
        }
    }

    /// Keeps the better of two rows of one message.
    fn fold(&mut self, at: u32, member: Member, [model, session, project]: [TextAt; 3]) {
        let Some(old) = self.sightings.get(at as usize) else { return };
        let texts = |session: TextAt, model: TextAt, project: TextAt| {
            (self.text(session), self.text(model), self.text(project))
        };
        let rank = (member.claim.rank(&old.member.claim))
            .then_with(|| texts(session, model, project).cmp(&texts(old.session, old.model, old.project)));
        let (on_main, finished) =
            (member.on_main || old.member.on_main, member.finished || old.member.finished);
        let Some(old) = self.sightings.get_mut(at as usize) else { return };
        if rank.is_lt() {
            old.member.claim = member.claim;
            (old.model, old.session, old.project) = (model, session, project);
        }
        (old.member.on_main, old.member.finished) = (on_main, finished);
    }

    /// Notes what a process counted for its session.
    pub(super) fn add_cost(&mut self, cost: &CostState<'_>) {
        let session = self.keep(&cost.session);
        match self.costs.iter_mut().find(|(at, _)| *at == session) {
            Some((_, usage)) => *usage = largest(*usage, cost.usage),
            None => self.costs.push((session, cost.usage)),
        }
    }
}

/// Counters that only grow: the larger of each.
pub(super) fn largest(a: Usage, b: Usage) -> Usage {
    Usage {
        input: a.input.max(b.input),
        output: a.output.max(b.output),
        cache_creation: a.cache_creation.max(b.cache_creation),
        cache_creation_1h: a.cache_creation_1h.max(b.cache_creation_1h),
        cache_read: a.cache_read.max(b.cache_read),
    }
}

/// Keeps the hashes of ids and of uuids apart.
pub(super) fn id_kind(without_id: bool) -> u8 {
    if without_id { b'u' } else { b'm' }
}

/// The name of a message without an id: its uuid, else what it says.
fn name_without_id<'a>(row: &'a Row<'_>, session: &str) -> Cow<'a, str> {
    if let Some(uuid) = row.uuid.as_deref() {
        clipped(uuid)
    } else {
        let said = format!("{session} {} {:?} {}", row.at, row.usage, row.model);
        Cow::Owned(format!("row-{:016x}", hash::of_bytes(b'w', said.as_bytes())))
    }
}

/// A text short enough to keep; a longer one ends in the hash of the whole.
pub(super) fn clipped(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST_TEXT {
        return Cow::Borrowed(text);
    }
    let end = (0..=LONGEST_TEXT - 20).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let head = text.get(..end).unwrap_or_default();
    let (a, b) = (hash::of_bytes(b'x', text.as_bytes()), hash::of_bytes(b'y', text.as_bytes()));
    Cow::Owned(format!("{head}~{:016x}", a ^ b.rotate_left(7)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: Option<&'static str>, output: u64, uuid: &'static str) -> Row<'static> {
        Row {
            id: id.map(Cow::Borrowed),
            model: "m".into(),
            request_ref: Some("r".into()),
            session: None,
            forked: None,
            cwd: None,
            uuid: Some(uuid.into()),
            at: 1,
            sidechain: false,
            finished: output > 100,
            usage: Usage { input: 3, output, ..Usage::default() },
        }
    }

    #[test]
    fn block_rows_of_one_answer_are_one_sighting() {
        let mut piece = Piece::default();
        let folder = Folder { session: "s", project: "p" };
        for (output, uuid) in [(1, "a"), (260, "b"), (259, "c")] {
            piece.add(&row(Some("msg"), output, uuid), folder);
        }
        assert_eq!((piece.sightings.len(), piece.rows), (1, 3));
        assert_eq!(piece.sightings[0].member.claim.usage.output, 260);
        assert!(piece.sightings[0].member.finished);
        assert_eq!(piece.text(piece.sightings[0].session), "s");
    }

    #[test]
    fn rows_without_an_id_are_told_apart_by_their_uuid() {
        let mut piece = Piece::default();
        let folder = Folder { session: "s", project: "p" };
        for uuid in ["a", "b", "a"] {
            piece.add(&row(None, 5, uuid), folder);
        }
        assert_eq!(piece.sightings.len(), 2);
    }

    #[test]
    fn an_endless_text_is_cut_and_told_apart() {
        let (a, b) = ("é".repeat(900), "é".repeat(901));
        assert!(clipped(&a).len() <= LONGEST_TEXT);
        assert_ne!(clipped(&a), clipped(&b));
    }
}
