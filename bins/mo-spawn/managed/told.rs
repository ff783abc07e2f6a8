//! What a worker is told besides its task: our words to every worker, its role's, the caller's. They go by file: words
//! of a command line can be read by everybody on the machine, and are cut at 128 KiB.

use std::path::{Path, PathBuf};

use shared::dispatch_id::DispatchId;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::file::{self, Durability};
use shared::policy;
use shared::record::Record;
use shared::world::World;

use crate::options::Task;

/// The longest text of a caller's.
const LONGEST: u64 = 256 << 10;
/// How the file's name ends, beside the record.
const ENDING: &str = "told";

/// Writes it beside the record, for the owner alone.
pub fn write(world: &World, task: &Task, id: &DispatchId) -> Result<PathBuf> {
    let path = Record::path(&world.paths, id, world.clock.now())?.with_extension(ENDING);
    if let Some(directory) = path.parent() {
        file::create_private_dir(directory)?;
    }
    file::replace(&path, text(task)?.as_bytes(), file::PRIVATE, Durability::Lazy)?;
    Ok(path)
}

fn text(task: &Task) -> Result<String> {
    let mut text = policy::WORKER.trim_end().to_owned();
    for part in [added(task.system_prompt.as_deref())?, task.role_words.clone()].into_iter().flatten() {
        text.push_str("\n\n");
        text.push_str(part.trim_end());
    }
    Ok(text + "\n")
}

/// The caller's own words.
fn added(path: Option<&Path>) -> Result<Option<String>> {
    let Some(path) = path else { return Ok(None) };
    let text = String::from_utf8(file::read(path, LONGEST)?)
        .map_err(|_| Error::new(Exit::Usage, "the system prompt is not UTF-8:").at(path))?;
    Ok(Some(text))
}
