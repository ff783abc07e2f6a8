//! The records of the store: 128 bytes each, of six kinds, checked by a hash. What they add up to is left
//! to `book`, where they lie to `store`.

use super::id::Id;
use super::layout::{Bytes, CHECK_AT, Fields, PREVIOUS_AT, Place, Writer, check};
use super::usage::{Total, Usage};
use super::winner::{Claim, Member, Part, Uuid};

const MESSAGE: u8 = 1;
const NAME: u8 = 2;
const MORE: u8 = 3;
const SESSION: u8 = 4;
const GRANT: u8 = 5;
const SERVED: u8 = 6;

/// In the place of a worker: several of them answered.
pub(super) const SEVERAL: u32 = u32::MAX;

/// The part of a name that one record holds.
const NAME_PART: usize = 112;
/// The bytes of a token count of one message: `json` lets none through that needs more.
const TOKENS_WIDTH: usize = 5;

/// One part of one message: its winning row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) id: Id,
    pub(super) without_id: bool,
    pub(super) member: Member,
    pub(super) model: Place,
    pub(super) session: Place,
    pub(super) project: Place,
    /// It is not the first part of its id: the first one is found by the id alone, this one by id and part.
    pub(super) further: bool,
    /// In the first part: the newest further part. In a further part: the one before it. Zero is none.
    pub(super) next_part: u32,
    /// What the session's [`Served`] record of the id says: a worker (a link), [`SEVERAL`] or none.
    pub(super) served: u32,
}

/// What is known of a session, as a worker's and as a manager's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Session {
    pub(super) name: Place,
    /// The worker whose home holds the session's own file (a link).
    pub(super) holder: u32,
    /// Else the first of the workers in whose homes rows of it were seen (a link).
    pub(super) seen: u32,
    pub(super) total: Total,
    /// The time of its last counted message.
    pub(super) last_at: i64,
    /// The largest `cost-state` seen.
    pub(super) cost: Usage,
    /// It began as a copy of another session, whose cost it carries on.
    pub(super) forked: bool,
    /// The gateway's audit names workers for messages of it.
    pub(super) audited: bool,
    /// How many grants credit parts of it to managers or workers.
    pub(super) grants: u32,
    /// How many grants name it as the manager, its own shares only while something is in them.
    pub(super) manages: u32,
    /// The newest of them, shares always included (a link).
    pub(super) newest_grant: u32,
}

/// What one dispatch record says of one session: from when on it belongs to whom. Or a share: the messages of
/// a session that a worker answered through the gateway.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Grant {
    pub(super) session: Place,
    pub(super) number: u32,
    pub(super) dispatch: u64,
    pub(super) from: i64,
    /// Links to names.
    pub(super) worker: u32,
    pub(super) manager: u32,
    /// The manager's grant before this one (a link).
    pub(super) next_of_manager: u32,
    pub(super) total: Total,
    /// It is a share: the session is its own manager, and `dispatch` and `from` say nothing.
    pub(super) share: bool,
}

/// Which worker answered a message of a session through the gateway, as the audit says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Served {
    pub(super) session: Place,
    pub(super) id: Id,
    /// A link, or [`SEVERAL`].
    pub(super) worker: u32,
}

/// A record of any kind, as read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Record {
    Message(Message),
    /// A text of `length` bytes, its first part; the rest follows in `More` records.
    Name {
        length: usize,
        head: Vec<u8>,
    },
    More(Vec<u8>),
    Session(Session),
    Grant(Grant),
    Served(Served),
}

/// The version of the record before this one (a link), superseded by it.
pub(super) fn previous(bytes: &Bytes) -> u32 {
    Fields { bytes: bytes.get(PREVIOUS_AT..CHECK_AT).unwrap_or_default() }.small()
}

impl AsRef<Grant> for Grant {
    fn as_ref(&self) -> &Grant {
        self
    }
}

/// Whether it calls itself a message; that it is whole is another question.
pub(super) fn is_message(bytes: &Bytes) -> bool {
    bytes.first() == Some(&MESSAGE)
}

/// Whether the bytes are those that were written.
pub(super) fn is_whole(bytes: &Bytes) -> bool {
    Fields { bytes: bytes.get(CHECK_AT..).unwrap_or_default() }.small() == check(bytes)
}

/// Flags of a message, one bit each.
fn flags(flags: [bool; 7]) -> u8 {
    flags.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag))
}

impl Served {
    pub(super) fn bytes(&self, previous: u32) -> Bytes {
        let mut writer = Writer::new(SERVED);
        writer.number(u64::from(self.session), 4);
        writer.number(u64::from(self.worker), 4);
        self.id.write(&mut writer);
        writer.done(previous)
    }

    fn read(mut fields: Fields<'_>) -> Self {
        let (session, worker) = (fields.small(), fields.small());
        Self { session, id: Id::read(&mut fields), worker }
    }
}

impl Message {
    pub(super) fn bytes(&self, previous: u32) -> Bytes {
        let mut writer = Writer::new(MESSAGE);
        let Member { part, claim, on_main, finished } = self.member;
        let (by_request, part) = match part {
            Part::Request(hash) => (true, hash),
            Part::Input(input) => (false, input),
        };
        writer.put(&[flags([
            self.without_id,
            self.further,
            by_request,
            on_main,
            finished,
            claim.sidechain,
            claim.uuid.usual,
        ])]);
        self.id.write(&mut writer);
        writer.number(part, 8);
        writer.put(&claim.uuid.bytes);
        writer.put(&claim.at.to_le_bytes());
        writer.usage(&claim.usage, TOKENS_WIDTH);
        for link in [self.model, self.session, self.project] {
            writer.number(u64::from(link), 4);
        }
        writer.number(u64::from(self.next_part), 4);
        writer.number(u64::from(self.served), 4);
        writer.done(previous)
    }

    fn read(mut fields: Fields<'_>) -> Self {
        let flags = fields.number(1);
        let flag = |at: u32| flags >> at & 1 == 1;
        let id = Id::read(&mut fields);
        let part = fields.number(8);
        let uuid = Uuid { usual: flag(6), bytes: fields.array() };
        let at = i64::from_le_bytes(fields.array());
        let usage = fields.usage(TOKENS_WIDTH);
        let (model, session, project) = (fields.small(), fields.small(), fields.small());
        Self {
            id,
            without_id: flag(0),
            member: Member {
                part: if flag(2) { Part::Request(part) } else { Part::Input(part) },
                claim: Claim { usage, at, uuid, sidechain: flag(5) },
                on_main: flag(3),
                finished: flag(4),
            },
            model,
            session,
            project,
            further: flag(1),
            next_part: fields.small(),
            served: fields.small(),
        }
    }
}

impl Session {
    pub(super) fn bytes(&self, previous: u32) -> Bytes {
        let mut writer = Writer::new(SESSION);
        writer.put(&[u8::from(self.forked) | u8::from(self.audited) << 1]);
        for link in [self.name, self.holder, self.seen, self.grants, self.manages, self.newest_grant] {
            writer.number(u64::from(link), 4);
        }
        writer.put(&self.last_at.to_le_bytes());
        writer.total(&self.total);
        writer.usage(&self.cost, TOKENS_WIDTH);
        writer.done(previous)
    }

    fn read(mut fields: Fields<'_>) -> Self {
        let flags = fields.number(1);
        let (forked, audited) = (flags & 1 == 1, flags >> 1 & 1 == 1);
        let [name, holder, seen, grants, manages, newest_grant] = std::array::from_fn(|_| fields.small());
        let last_at = i64::from_le_bytes(fields.array());
        let total = fields.total();
        let cost = fields.usage(TOKENS_WIDTH);
        Self { name, holder, seen, total, last_at, cost, forked, audited, grants, manages, newest_grant }
    }
}

impl Grant {
    pub(super) fn bytes(&self, previous: u32) -> Bytes {
        let mut writer = Writer::new(GRANT);
        for link in [self.session, self.number, self.worker, self.manager, self.next_of_manager] {
            writer.number(u64::from(link), 4);
        }
        writer.number(self.dispatch, 8);
        writer.put(&self.from.to_le_bytes());
        writer.total(&self.total);
        writer.put(&[u8::from(self.share)]);
        writer.done(previous)
    }

    fn read(mut fields: Fields<'_>) -> Self {
        let [session, number, worker, manager, next_of_manager] = std::array::from_fn(|_| fields.small());
        let dispatch = fields.number(8);
        let from = i64::from_le_bytes(fields.array());
        let total = fields.total();
        let share = fields.number(1) == 1;
        Self { session, number, dispatch, from, worker, manager, next_of_manager, total, share }
    }
}

/// The records of a name: the first holds its length.
pub(super) fn name(text: &str) -> Vec<Bytes> {
    let mut parts = text.as_bytes().chunks(NAME_PART);
    let mut first = Writer::new(NAME);
    first.number(text.len() as u64, 4);
    first.put(parts.next().unwrap_or_default());
    let mut records = vec![first.done(0)];
    for part in parts {
        let mut more = Writer::new(MORE);
        more.number(part.len() as u64, 1);
        more.put(part);
        records.push(more.done(0));
    }
    records
}

/// Reads a record; `None` when its check does not hold or its kind is unknown.
pub(super) fn read(bytes: &Bytes) -> Option<Record> {
    if !is_whole(bytes) {
        return None;
    }
    let mut fields = Fields { bytes: bytes.get(..PREVIOUS_AT)? };
    match fields.number(1) as u8 {
        MESSAGE => Some(Record::Message(Message::read(fields))),
        NAME => {
            let length = fields.small() as usize;
            Some(Record::Name { length, head: fields.take(length.min(NAME_PART)).to_vec() })
        }
        MORE => {
            let length = fields.number(1) as usize;
            Some(Record::More(fields.take(length.min(NAME_PART)).to_vec()))
        }
        SESSION => Some(Record::Session(Session::read(fields))),
        GRANT => Some(Record::Grant(Grant::read(fields))),
        SERVED => Some(Record::Served(Served::read(fields))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::id::INLINE_ID;
    use super::super::layout::SIZE;
    use super::*;

    const USAGE: Usage = Usage {
        input: (1 << 40) - 1,
        output: 2,
        cache_creation: 1 << 39,
        cache_creation_1h: 4,
        cache_read: (1 << 40) - 1,
    };

    #[test]
    fn every_kind_reads_back_as_written() {
        let message = Message {
            id: Id::Inline { length: 5, bytes: [b'm'; INLINE_ID] },
            without_id: true,
            member: Member {
                part: Part::Request(u64::MAX - 1),
                claim: Claim {
                    usage: USAGE,
                    at: -5,
                    uuid: Uuid { usual: true, bytes: [7; 16] },
                    sidechain: true,
                },
                on_main: true,
                finished: true,
            },
            model: 1,
            session: u32::MAX - 1,
            project: 3,
            further: true,
            next_part: u32::MAX,
            served: SEVERAL,
        };
        let named = Message { id: Id::Name(77), further: false, ..message };
        for message in [message, named] {
            let bytes = message.bytes(9);
            assert_eq!((read(&bytes), previous(&bytes)), (Some(Record::Message(message)), 9));
        }
        let total = Total { messages: 5, usage: USAGE };
        let session = Session {
            name: 1,
            holder: 2,
            total,
            last_at: 4,
            cost: USAGE,
            forked: true,
            audited: true,
            ..Session::default()
        };
        assert_eq!(read(&session.bytes(0)), Some(Record::Session(session)));
        let grant = Grant {
            session: 1,
            number: 2,
            dispatch: u64::MAX,
            from: -1,
            total,
            share: true,
            ..Grant::default()
        };
        assert_eq!(read(&grant.bytes(0)), Some(Record::Grant(grant)));
        for id in [message.id, named.id] {
            let served = Served { session: 3, id, worker: SEVERAL };
            assert_eq!(read(&served.bytes(0)), Some(Record::Served(served)));
        }
    }

    #[test]
    fn a_flipped_bit_is_seen() {
        let bytes = Session::default().bytes(3);
        for bit in 0..SIZE * 8 {
            let mut broken = bytes;
            broken[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&broken), None, "bit {bit}");
        }
        assert_eq!(read(&[0; SIZE]), None);
    }

    #[test]
    fn a_long_name_takes_several_records() {
        let text = "n".repeat(NAME_PART * 2 + 1);
        let records = name(&text);
        assert_eq!(records.len(), 3);
        assert_eq!(name("").len(), 1);
        assert!(matches!(read(&records[0]), Some(Record::Name { length, .. }) if length == text.len()));
    }
}
