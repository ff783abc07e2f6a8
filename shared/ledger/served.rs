//! Which worker answered a message through the gateway. For each session and id that is one word, which only
//! grows: nobody, one worker, several. So it never matters whether the audit or the transcript is read first.
//! Reading the audit is left to `audit`, what a worker's share does to the sums to `tally`.

use super::layout::Place;
use super::merge::{Open, Wanted, counted};
use super::record::{Message, Record, SEVERAL, Served};
use super::sighting::clipped;
use super::store::{further_key, served_key};
use super::tally::{Tally, link};
use crate::error::Result;

/// What two words say together.
fn joined(a: u32, b: u32) -> u32 {
    match (a, b) {
        (0, word) | (word, 0) => word,
        (a, b) if a == b => a,
        _ => SEVERAL,
    }
}

impl Tally<'_> {
    /// Takes in that a worker, or several, answered a message of a session.
    pub(super) fn serve(
        &mut self,
        open: &mut Open,
        session: &str,
        id: &str,
        worker: Option<&str>,
    ) -> Result<()> {
        let session = self.store.name(&clipped(session))?;
        let word = match worker {
            Some(worker) => link(self.store.name(worker)?),
            None => SEVERAL,
        };
        let wanted = Wanted::of(id, false);
        let key = served_key(session, wanted.hash);
        let word = if let Some((place, old)) = self.served_record(session, wanted)? {
            let word = joined(old.worker, word);
            if word == old.worker {
                return Ok(());
            }
            let new = Served { worker: word, ..old };
            self.store.supersede(key, place, |previous| new.bytes(previous))?;
            word
        } else {
            let new = Served { session, id: self.store.id_of(id)?, worker: word };
            self.store.add(key, |previous| new.bytes(previous))?;
            let known = self.known(session)?;
            known.changed |= !known.session.audited;
            known.session.audited = true;
            word
        };
        self.reassign(open, wanted, session, word)
    }

    /// The word on a message of this session.
    pub(super) fn served(&mut self, session: Place, wanted: Wanted<'_>) -> Result<u32> {
        if wanted.without_id || !self.known(session)?.session.audited {
            return Ok(0);
        }
        Ok(self.served_record(session, wanted)?.map_or(0, |(_, served)| served.worker))
    }

    fn served_record(&mut self, session: Place, wanted: Wanted<'_>) -> Result<Option<(Place, Served)>> {
        self.store.find(served_key(session, wanted.hash), |store, record| {
            Ok(match record {
                Record::Served(served)
                    if served.session == session && store.is_id(served.id, wanted.id)? =>
                {
                    Some(served)
                }
                _ => None,
            })
        })
    }

    /// Gives the session's messages of this id to whom the word names.
    fn reassign(&mut self, open: &mut Open, wanted: Wanted<'_>, session: Place, served: u32) -> Result<()> {
        let Some((place, first)) = self.first_part(wanted)? else { return Ok(()) };
        let is_alone = first.next_part == 0;
        if !is_alone {
            self.open(open, wanted, &first)?;
        }
        if first.session == session {
            let new = Message { served, ..first };
            if is_alone {
                self.remove(counted(&first, first.member.finished))?;
                self.add(counted(&new, new.member.finished))?;
            }
            self.store.supersede(wanted.hash, place, |previous| new.bytes(previous))?;
        }
        let mut next = first.next_part;
        while let Some(place) = next.checked_sub(1) {
            let Record::Message(version) = self.store.record(place)? else { break };
            next = version.next_part;
            let part = version.member.part;
            if let Some((place, newest)) = self.further_part(wanted, part)?
                && newest.session == session
            {
                let new = Message { served, ..newest };
                let key = further_key(wanted.hash, part);
                self.store.supersede(key, place, |previous| new.bytes(previous))?;
            }
        }
        Ok(())
    }
}
