//! `ledger.json`: the sums that hooks and the status line read without touching the store. It is written
//! after the commit; a run that finds it missing or older than the store writes it again.

use super::book::{Book, Cell};
use super::disk::{self, Disk};
use super::usage::Total;
use crate::error::{Error, Result};
use crate::file;
use crate::money::{Cost, Money};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The format of `ledger.json`.
pub(crate) const VERSION: u32 = 1;
/// Above this a `ledger.json` is not ours.
const CAP: u64 = 4 << 20;

/// A sum as it is published.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sum {
    /// Messages.
    pub messages: u64,
    /// Prompt tokens from no cache.
    pub input: u64,
    /// Tokens written by the model.
    pub output: u64,
    /// Prompt tokens written to the cache.
    pub cache_creation: u64,
    /// Prompt tokens read from the cache.
    pub cache_read: u64,
    /// Input, cache writes and output.
    pub fresh: u64,
    /// What they cost, as far as the prices are known; nothing where none is.
    pub cost_usd: Option<f64>,
    /// Parts of it have no known price: the cost is less than the whole.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

impl Sum {
    /// The published form of a total.
    pub fn of(total: Total, cost: Option<Cost>) -> Self {
        let Total { messages, usage } = total;
        Self {
            messages,
            input: usage.input,
            output: usage.output,
            cache_creation: usage.cache_creation,
            cache_read: usage.cache_read,
            fresh: usage.fresh(),
            cost_usd: cost.and_then(|cost| cost.known()).map(Money::dollars),
            partial: cost.is_some_and(|cost| cost.is_partial()),
        }
    }
}

/// The sums over all sessions that dispatched workers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AllTime {
    /// Fresh tokens of the dispatched workers.
    pub worker_fresh: u64,
    /// Fresh tokens of both.
    pub fresh: u64,
    /// How many sessions.
    pub sessions: u64,
}

/// A session that dispatched workers: fresh tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    /// Manager and workers.
    pub fresh: u64,
    /// The manager alone.
    pub main: u64,
    /// The workers it dispatched.
    pub by_worker: BTreeMap<String, u64>,
}

/// The whole document.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Published {
    /// The format.
    pub version: u32,
    /// When it was written.
    pub generated_at: String,
    /// Which commit of the store it shows.
    pub generation: u64,
    /// The first run over everything is not done yet: the sums are not whole.
    pub catching_up: bool,
    /// All messages.
    pub totals: Sum,
    /// By worker, `main` for the manager.
    pub by_worker: BTreeMap<String, Sum>,
    /// Over all sessions that dispatched workers.
    pub all_time: AllTime,
    /// The last sessions that dispatched workers.
    pub sessions: BTreeMap<String, Session>,
}

/// What the tokens of a cell cost, where the prices are known: given worker, model and cell.
pub type Price<'a> = dyn Fn(&str, &str, &Cell) -> Option<Money> + 'a;

/// Where it lies.
pub fn path(dir: &Path) -> PathBuf {
    dir.join("ledger.json")
}

/// Reads what was published; `None` when there is nothing of ours.
pub fn read(dir: &Path) -> Option<Published> {
    let bytes = file::read_if_there(&path(dir), CAP).ok().flatten()?;
    serde_json::from_slice::<Published>(&bytes).ok().filter(|published| published.version == VERSION)
}

/// The document for these sums; `price` gets worker, model and cell.
pub(super) fn document(book: &Book, generation: u64, generated_at: String, price: &Price<'_>) -> Published {
    let mut by_worker = BTreeMap::new();
    let mut all_costs = Cost::default();
    for (worker, models) in &book.workers {
        let mut cost = Cost::default();
        for (model, cell) in models {
            cost.add(price(worker, model, cell));
        }
        all_costs += cost;
        by_worker.insert(worker.clone(), Sum::of(book.worker(worker), Some(cost)));
    }
    let sessions = book.managers.iter().map(|manager| {
        let workers = manager.by_worker.values().fold(0_u64, |sum, fresh| sum.wrapping_add(*fresh));
        let session = Session {
            fresh: manager.main.wrapping_add(workers),
            main: manager.main,
            by_worker: manager.by_worker.clone(),
        };
        (manager.session.clone(), session)
    });
    let super::book::AllTime { worker_fresh, fresh, sessions: count } = book.all_time;
    Published {
        version: VERSION,
        generated_at,
        generation,
        catching_up: book.catching_up,
        totals: Sum::of(book.totals, Some(all_costs)),
        by_worker,
        all_time: AllTime { worker_fresh, fresh, sessions: count },
        sessions: sessions.collect(),
    }
}

/// Replaces the published document. Another program's file in its place is set aside first.
pub(super) fn write(disk: &dyn Disk, dir: &Path, published: &Published) -> Result<()> {
    let path = path(dir);
    let failed = |error| Error::io("cannot write", &path, &error);
    // What a power cut left empty is nobody's.
    if path.metadata().is_ok_and(|meta| meta.len() > 0) && read(dir).is_none() {
        let mut old = path.clone().into_os_string();
        old.push(".old");
        disk.rename(&path, Path::new(&old)).map_err(failed)?;
    }
    let mut text = serde_json::to_vec_pretty(published)
        .map_err(|error| Error::new(crate::exit::Exit::Bug, "cannot write").at(&path).caused_by(error))?;
    text.push(b'\n');
    disk::replace(disk, &path, &text, false).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::super::disk::RealDisk;
    use super::*;

    #[test]
    fn a_foreign_file_is_set_aside_and_our_own_replaced() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(path(dir.path()), r#"{"sessions": [1, 2]}"#).unwrap();
        assert_eq!(read(dir.path()), None);
        for generation in [1, 2] {
            let published = document(&Book::default(), generation, "now".into(), &|_, _, _| None);
            write(&RealDisk, dir.path(), &published).unwrap();
            assert_eq!(read(dir.path()).unwrap().generation, generation);
        }
        let old = std::fs::read_to_string(dir.path().join("ledger.json.old")).unwrap();
        assert_eq!(old, r#"{"sessions": [1, 2]}"#);
    }
}
