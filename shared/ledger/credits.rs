//! Which dispatch records are new or have changed since the last update, and what they say of sessions.
//! What that does to the sums is left to `grants`.

use super::hash;
use super::homes::Identity;
use super::row::milliseconds;
use super::state::Seen;
use crate::record::Record;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What the dispatcher's directory shows.
#[derive(Debug, Default)]
pub(super) struct Credits {
    /// Records that are new or changed, with their stamps.
    pub(super) records: Vec<(u64, Record)>,
    /// The stamps of all records, sorted.
    pub(super) seen: Vec<Seen>,
    /// When each month's folder changed.
    pub(super) months: BTreeMap<String, u64>,
}

/// Looks for records that differ from what was seen. The folder of an older month is only entered when it
/// changed; a record is replaced by renaming, which changes its folder. The newest month is always entered.
pub(super) fn look(dispatch: &Path, seen: &[Seen], months: &BTreeMap<String, u64>) -> Credits {
    let mut credits = Credits { seen: seen.to_vec(), ..Credits::default() };
    let Ok(entries) = fs::read_dir(dispatch) else { return credits };
    let mut folders: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_month(name))
        .collect();
    folders.sort();
    for (at, month) in folders.iter().enumerate() {
        let folder = dispatch.join(month);
        let Ok(stat) = rustix::fs::stat(&folder) else { continue };
        let changed = Identity::of(&stat).modified;
        credits.months.insert(month.clone(), changed);
        if at + 1 == folders.len() || months.get(month) != Some(&changed) {
            credits.enter(&folder);
        }
    }
    credits.seen.sort_unstable();
    credits
}

impl Credits {
    fn enter(&mut self, folder: &Path) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".json")) else { continue };
            let Ok(stat) = rustix::fs::stat(entry.path()) else { continue };
            let identity = Identity::of(&stat);
            let dispatch = hash::of_bytes(b'd', id.as_bytes());
            let modified = hash::of_numbers(b'd', [identity.modified, identity.inode ^ identity.size]);
            let old = self.seen.iter().position(|seen| seen.dispatch == dispatch);
            if let Some(old) = old.and_then(|at| self.seen.get_mut(at)) {
                if old.modified == modified {
                    continue;
                }
                old.modified = modified;
            } else {
                self.seen.push(Seen { dispatch, modified });
            }
            if let Ok(Some(record)) = Record::read(&entry.path()) {
                self.records.push((dispatch, record));
            }
        }
    }
}

/// `2026-11`.
fn is_month(name: &str) -> bool {
    let (year, month) = name.split_once('-').unwrap_or_default();
    year.len() == 4 && month.len() == 2 && name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

/// When a dispatch began, as far as its record says.
pub(super) fn began(record: &Record) -> i64 {
    let text = record.started_at.as_deref().or(record.queued_at.as_deref());
    text.map_or(0, milliseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_and_changed_records_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let month = dir.path().join("2026-11");
        fs::create_dir_all(&month).unwrap();
        fs::create_dir_all(dir.path().join("by-session")).unwrap();
        let write = |id: &str, text: &str| fs::write(month.join(format!("{id}.json")), text).unwrap();
        write("d-1", r#"{"version":1,"id":"d-1","worker":"glm","worker_sessions":["s"]}"#);
        write("d-2", "half a reco");
        let first = look(dir.path(), &[], &BTreeMap::new());
        assert_eq!((first.records.len(), first.seen.len()), (1, 2));
        let again = look(dir.path(), &first.seen, &first.months);
        assert!(again.records.is_empty());
        assert_eq!(again.seen, first.seen);
        write("d-2", r#"{"version":1,"id":"d-2","worker":"kimi"}"#);
        let third = look(dir.path(), &again.seen, &again.months);
        assert_eq!(
            third.records.iter().map(|(_, record)| record.worker.as_str()).collect::<Vec<_>>(),
            ["kimi"]
        );
    }
}
