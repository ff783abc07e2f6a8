//! The end of a managed dispatch: what still runs is ended, the work is left as it should be, the record is closed, the
//! result is told.

use shared::clock::rfc3339;
use shared::error::Result;
use shared::exit::Exit;
use shared::flatten::paragraphs;
use shared::ledger::usage::Usage;
use shared::record::Status;
use shared::session_files::Before;
use shared::transcript;
use shared::world::World;

use super::ending::{self, Ending};
use super::engine::Engine;
use super::outcome;

/// The most of the worker's last words that is kept.
const SUMMARY: usize = 512 << 10;

/// What is needed for it.
pub struct Closing<'a> {
    /// The outside.
    pub world: &'a World,
    /// How long the session was before.
    pub before: &'a Before,
    /// Whether nobody waits for the result.
    pub in_background: bool,
}

impl Closing<'_> {
    /// Ends it so.
    pub fn close(&self, mut engine: Engine, ending: Ending) -> Result<Exit> {
        let gently = matches!(ending.status, Status::Done | Status::CheckFailed);
        engine.dismiss();
        engine.end_client(gently);
        if let Some(sandbox) = &engine.sandbox {
            engine.journal.record.notes.extend(sandbox.mend());
        }
        let ending = settle(&mut engine, ending, self.before);
        let record = &mut engine.journal.record;
        record.status = Some(ending.status);
        record.error = ending.error;
        let merge = engine.place.finish(self.world, record);
        if record.status == Some(Status::Quota) {
            let at = engine.talk.resets_at.and_then(|at| jiff::Timestamp::from_second(at).ok());
            record.resets_at = at.map(rfc3339);
        }
        record.exit_code = Some(ending::exit(record).code().into());
        let status = record.status.unwrap_or(Status::Failed);
        let reason = record.error.as_ref().map(|error| error.text.clone());
        engine.journal.attempted(status, reason);
        let trouble = engine.journal.close();
        let (record, path) = (&engine.journal.record, &engine.journal.path);
        if !self.in_background {
            let silent = engine.journal.screen.is_silent();
            outcome::tell(self.world, record, path, merge.as_deref(), engine.task.json, silent)?;
        }
        // The run counts whatever happens to its record.
        if let Some(trouble) = trouble {
            self.world.say.error(&trouble);
        }
        Ok(ending::exit(record))
    }
}

/// What the transcript knows better than the frames, and what follows from it.
fn settle(engine: &mut Engine, ending: Ending, before: &Before) -> Ending {
    let course =
        transcript::read(&engine.launch.worker.projects(), &engine.session, before).unwrap_or_default();
    for spent in &course.spent {
        let tokens = spent.tokens;
        let usage = Usage {
            input: tokens.input,
            output: tokens.output,
            cache_creation: tokens.cache_creation,
            cache_creation_1h: spent.for_an_hour,
            cache_read: tokens.cache_read,
        };
        engine.meter.note(&spent.id, &spent.model, usage);
    }
    let record = &mut engine.journal.record;
    if record.denials.is_empty() && engine.denied.is_empty() {
        // Older clients tell it in words only.
        record.denials = course.denials;
    }
    record.usage = engine.meter.by_model();
    let (cost, basis) = engine.meter.cost();
    (record.cost_usd, record.cost_basis) = (cost, Some(basis.to_owned()));
    let last = engine.talk.over.as_ref().and_then(|over| over.result.clone().filter(|_| !over.is_error));
    let last = last.filter(|text| !text.trim().is_empty()).or_else(|| engine.talk.text.clone());
    record.summary = last.map(|text| paragraphs(&text, SUMMARY));
    record.claude_version = engine.talk.version.clone().or(course.version);
    let denials = record.denials.len();
    if ending.status == Status::Done && denials > 0 {
        let text = if denials == 1 {
            "1 action was denied".to_owned()
        } else {
            format!("{denials} actions were denied")
        };
        return Ending::of(Status::Denied, "denied", text);
    }
    ending
}
