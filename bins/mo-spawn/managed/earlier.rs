//! What there was before this run: a record that waited for it.

use std::path::PathBuf;

use shared::dispatches;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::paths::Paths;
use shared::record::{Record, Status};

use crate::options::Task;

/// What there was.
#[derive(Debug, Default)]
pub struct Earlier {
    /// The record of this id, asked for and not begun, and where it lies.
    pub record: Option<(PathBuf, Record)>,
}

impl Earlier {
    /// Looks; refuses an id that was used.
    pub fn of(paths: &Paths, task: &Task) -> Result<Self> {
        let Some(id) = &task.id else { return Ok(Self::default()) };
        let Ok((path, record)) = dispatches::find(paths, id.as_str()) else { return Ok(Self::default()) };
        if record.status != Some(Status::Queued) {
            return Err(Error::new(Exit::Usage, format!("there is already a dispatch {id}"))
                .hint("each dispatch needs an id of its own"));
        }
        Ok(Self { record: Some((path, record)) })
    }

    /// What the record of the run has from the one that waited.
    pub fn inherit(&self, record: &mut Record) {
        let Some((_, before)) = &self.record else { return };
        record.queued_at = before.queued_at.clone().or(record.queued_at.take());
        record.title = record.title.take().or_else(|| before.title.clone());
        record.manager_session = before.manager_session.clone().or(record.manager_session.take());
        record.tool_use_id = record.tool_use_id.take().or_else(|| before.tool_use_id.clone());
    }
}
