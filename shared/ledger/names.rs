//! Texts in the store, each told once: models, sessions, projects, workers, and ids too long for a record.

use super::hash;
use super::id::{INLINE_ID, Id};
use super::layout::Place;
use super::record::{self, Record};
use super::store::{Store, broken};
use crate::error::Result;
use std::sync::Arc;

impl Store<'_> {
    /// The text of a message's id.
    pub(super) fn id(&self, id: Id) -> Result<String> {
        match id {
            Id::Inline { length, bytes } => {
                let text = bytes.get(..usize::from(length)).unwrap_or_default();
                Ok(String::from_utf8_lossy(text).into_owned())
            }
            Id::Name(place) => self.read_name(place),
        }
    }

    /// Whether a message's id is this text.
    pub(super) fn is_id(&self, id: Id, wanted: &str) -> Result<bool> {
        match id {
            Id::Inline { length, bytes } => Ok(bytes.get(..usize::from(length)) == Some(wanted.as_bytes())),
            Id::Name(place) => Ok(self.read_name(place)? == wanted),
        }
    }

    /// A text as an id: short ones stand in the record.
    pub(super) fn id_of(&mut self, text: &str) -> Result<Id> {
        let mut bytes = [0; INLINE_ID];
        match bytes.get_mut(..text.len()) {
            Some(head) => {
                head.copy_from_slice(text.as_bytes());
                Ok(Id::Inline { length: text.len() as u8, bytes })
            }
            None => Ok(Id::Name(self.name(text)?)),
        }
    }

    pub(super) fn read_name(&self, place: Place) -> Result<String> {
        let Record::Name { length, head } = self.record(place)? else {
            return Err(broken(self.path(), &format!("record {place} should be a name")));
        };
        let mut text = head;
        let mut next = place;
        while text.len() < length {
            next += 1;
            match self.record(next)? {
                Record::More(part) if !part.is_empty() => text.extend(part),
                _ => return Err(broken(self.path(), &format!("the name at {place} breaks off"))),
            }
        }
        String::from_utf8(text).map_err(|_| broken(self.path(), &format!("the name at {place} is no text")))
    }

    /// The text of a name.
    pub(super) fn text(&mut self, place: Place) -> Result<Arc<str>> {
        if let Some(text) = self.texts.get(&place) {
            return Ok(Arc::clone(text));
        }
        let text: Arc<str> = self.read_name(place)?.into();
        self.texts.insert(place, Arc::clone(&text));
        Ok(text)
    }

    /// The place of a name, which is added when it is new.
    pub(super) fn name(&mut self, text: &str) -> Result<Place> {
        if let Some(place) = self.names.get(text) {
            return Ok(*place);
        }
        let place = if let Some(place) = self.find_name(text)? {
            place
        } else {
            let place = self.length();
            self.tail.extend(record::name(text));
            self.index(hash::of_bytes(b'n', text.as_bytes()), place)?;
            place
        };
        let text: Arc<str> = text.into();
        self.names.insert(Arc::clone(&text), place);
        self.texts.insert(place, text);
        Ok(place)
    }

    /// The place of a name that is already there.
    pub(super) fn find_name(&mut self, text: &str) -> Result<Option<Place>> {
        for place in self.candidates(hash::of_bytes(b'n', text.as_bytes()))? {
            if matches!(self.record(place)?, Record::Name { .. }) && self.read_name(place)? == text {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::super::disk::RealDisk;
    use super::*;

    #[test]
    fn names_are_told_once_and_survive_a_lost_index() {
        let dir = tempfile::tempdir().unwrap();
        let long = "long ".repeat(200);
        let texts = ["a", "", &long];
        let mut store = Store::open(&RealDisk, dir.path(), 1, 0).unwrap();
        let places = texts.map(|text| store.name(text).unwrap());
        assert_eq!(texts.map(|text| store.name(text).unwrap()), places);
        store.write(true).unwrap();
        let length = store.length();
        std::fs::remove_file(dir.path().join("index.1.0")).unwrap();
        let mut store = Store::open(&RealDisk, dir.path(), 1, length).unwrap();
        assert_eq!(texts.map(|text| store.name(text).unwrap()), places);
        assert_eq!(&*store.text(places[2]).unwrap(), long);
        assert_eq!(store.length(), length);
    }
}
