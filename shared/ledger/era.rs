//! One set of store files follows another: a damaged set is set aside, an old one handed over and removed.
//! Every record carries its own check, so what is whole in a damaged set is saved.

use super::disk::Disk;
use super::grants::Said;
use super::id::Id;
use super::layout::{Bytes, Place, SIZE};
use super::merge::{Bits, Open};
use super::record::{self, Grant, Message, Record, SEVERAL, Served, Session};
use super::sighting::{Piece, Sighting};
use super::state::{self, State};
use super::store::{broken, facts_path, index_path, walk};
use super::tally::Tally;
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Moves all files of a damaged store into a folder of their own.
pub(super) fn set_aside(disk: &dyn Disk, dir: &Path) -> Result<PathBuf> {
    let aside = dir.join(format!("damaged-{}", asides(dir).len() + 1));
    let failed = |error| Error::io("cannot set aside the damaged store in", &aside, &error);
    disk.make_dir(&aside).map_err(failed)?;
    // The state last: a run that was cut off here finds it without its records, and sets aside the rest.
    let mut names = store_files(dir);
    names.push(state::path(dir));
    for path in names {
        if let Some(name) = path.file_name().filter(|_| path.exists()) {
            disk.rename(&path, &aside.join(name)).map_err(failed)?;
        }
    }
    Ok(aside)
}

/// The files of records and indexes, of any era.
fn store_files(dir: &Path) -> Vec<PathBuf> {
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.starts_with("facts.") || name.starts_with("index.")
    };
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_ours).collect();
    files.sort();
    files
}

/// Removes the files of all eras but the one that counts. What cannot be removed does no harm.
pub(super) fn remove_others(disk: &dyn Disk, dir: &Path, era: u32) {
    let (facts, index) = (facts_path(dir, era), index_path(dir, era));
    for path in store_files(dir) {
        if path != facts && path.with_extension("") != index {
            let _ = disk.remove(&path);
        }
    }
}

/// The folders of stores that were set aside, the newest last.
pub(super) fn asides(dir: &Path) -> Vec<PathBuf> {
    (1..=u32::MAX)
        .map(|number| dir.join(format!("damaged-{number}")))
        .take_while(|aside| aside.exists())
        .collect()
}

/// A store was set aside; if there is no state, nothing was made in its place yet.
pub(super) fn was_damaged(dir: &Path) -> bool {
    dir.join("damaged-1").exists()
}

/// What an old set holds besides its messages.
#[derive(Default)]
struct Old {
    names: BTreeMap<Place, String>,
    sessions: BTreeMap<Place, Session>,
    grants: BTreeMap<(Place, u32), Grant>,
    superseded: Bits,
    /// The name that is being read, and how long it will be.
    reading: Option<(Place, usize, Vec<u8>)>,
}

/// Takes over what the new store lacks: messages whose transcripts are gone, and who is credited with them.
/// Without a state the files are a damaged set, of which everything that is whole is taken.
pub(super) fn import(
    tally: &mut Tally<'_>,
    open: &mut Open,
    dir: &Path,
    state: Option<&State>,
) -> Result<()> {
    let paths = match state {
        Some(state) if state.length == 0 => return Ok(()),
        Some(state) => vec![facts_path(dir, state.era)],
        None => {
            let is_facts = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem == "facts");
            store_files(dir).into_iter().filter(is_facts).collect()
        }
    };
    for path in paths {
        let failed = |error| Error::io("cannot read", &path, &error);
        let file = File::open(&path).map_err(failed)?;
        let whole = (file.metadata().map_err(failed)?.len() / SIZE as u64) as Place;
        let length = state.map_or(whole, |state| state.length);
        if length > whole {
            return Err(broken(&path, "it is shorter than what was committed"));
        }
        import_file(tally, open, &file, &path, length, state.is_none())?;
    }
    Ok(())
}

fn import_file(
    tally: &mut Tally<'_>,
    open: &mut Open,
    file: &File,
    path: &Path,
    length: Place,
    is_damaged: bool,
) -> Result<()> {
    let mut old = Old::default();
    walk(file, path, length, &mut |place, bytes| {
        match record::read(bytes) {
            Some(record) => old.note(place, bytes, record),
            None if is_damaged => old.reading = None,
            None => return Err(broken(path, &format!("record {place} does not hold its check"))),
        }
        Ok(())
    })?;
    // Whose they are comes before the messages, so that each is counted in its place at once.
    old.hand_over_sessions(tally)?;
    walk(file, path, length, &mut |place, bytes| match record::read(bytes) {
        Some(Record::Message(message)) if !old.superseded.has(place + 1) => {
            old.hand_over(tally, open, &message)?;
            tally.lighten()
        }
        Some(Record::Served(served)) if !old.superseded.has(place + 1) => {
            old.hand_over_served(tally, open, &served)?;
            tally.lighten()
        }
        _ => Ok(()),
    })
}

impl Old {
    fn note(&mut self, place: Place, bytes: &Bytes, record: Record) {
        self.superseded.set(record::previous(bytes));
        match record {
            Record::Name { length, head } => self.reading = Some((place, length, head)),
            Record::More(part) => {
                if let Some((_, _, text)) = &mut self.reading {
                    text.extend(part);
                }
            }
            Record::Session(session) => {
                self.sessions.insert(session.name, session);
            }
            Record::Grant(grant) => {
                self.grants.insert((grant.session, grant.number), grant);
            }
            Record::Message(_) | Record::Served(_) => {}
        }
        if let Some((place, length, text)) = self.reading.take() {
            if text.len() < length {
                self.reading = Some((place, length, text));
            } else if let Ok(text) = String::from_utf8(text) {
                self.names.insert(place, text);
            }
        }
    }

    fn name(&self, place: Place) -> Option<&str> {
        self.names.get(&place).map(String::as_str)
    }

    fn linked(&self, link: u32) -> Option<&str> {
        self.name(link.checked_sub(1)?)
    }

    fn id(&self, id: Id) -> Option<String> {
        match id {
            Id::Inline { length, bytes } => {
                let id = bytes.get(..usize::from(length))?;
                std::str::from_utf8(id).ok().map(str::to_owned)
            }
            Id::Name(place) => self.name(place).map(str::to_owned),
        }
    }

    fn hand_over_served(&self, tally: &mut Tally<'_>, open: &mut Open, served: &Served) -> Result<()> {
        let (Some(session), Some(id)) = (self.name(served.session), self.id(served.id)) else {
            return Ok(());
        };
        match self.linked(served.worker) {
            _ if served.worker == SEVERAL => tally.serve(open, session, &id, None),
            Some(worker) => tally.serve(open, session, &id, Some(worker)),
            None => Ok(()),
        }
    }

    fn hand_over(&self, tally: &mut Tally<'_>, open: &mut Open, message: &Message) -> Result<()> {
        let id = self.id(message.id);
        let texts = [message.model, message.session, message.project].map(|place| self.name(place));
        let (Some(id), [Some(model), Some(session), Some(project)]) = (id, texts) else { return Ok(()) };
        // A damaged set may have lost the record that says it.
        let served = Served { session: message.session, id: message.id, worker: message.served };
        self.hand_over_served(tally, open, &served)?;
        let mut piece = Piece::default();
        let [model, session, project] = [model, session, project].map(|text| piece.keep(text));
        piece.sightings.push(Sighting {
            id: id.into(),
            without_id: message.without_id,
            member: message.member,
            model,
            session,
            project,
        });
        tally.merge_missing(open, &piece)
    }

    fn hand_over_sessions(&self, tally: &mut Tally<'_>) -> Result<()> {
        for session in self.sessions.values() {
            let Some(name) = self.name(session.name) else { continue };
            let name = tally.store.name(name)?;
            if tally.known(name)?.session.holder == 0 {
                if let Some(worker) = self.linked(session.holder) {
                    tally.hold(name, worker)?;
                } else if let Some(worker) = self.linked(session.seen) {
                    tally.see(name, worker)?;
                }
            }
            tally.cost(name, session.cost)?;
            if session.forked {
                tally.forked(name)?;
            }
        }
        for grant in self.grants.values().filter(|grant| !grant.share) {
            let (Some(session), Some(worker)) = (self.name(grant.session), self.linked(grant.worker)) else {
                continue;
            };
            let manager = self.linked(grant.manager);
            tally.say(&Said { dispatch: grant.dispatch, session, from: grant.from, worker, manager })?;
        }
        Ok(())
    }
}
