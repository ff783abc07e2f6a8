//! The role of a task: it fills in what the caller left open, and the report it asks for is held against what happened.

use std::ffi::OsString;

use shared::error::Result;
use shared::record::Record;
use shared::report;
use shared::role::{self, Role};
use shared::worker::Worker;
use shared::world::World;

use crate::model;
use crate::options::Task;

/// The task as its role makes it. What the caller said stands.
pub fn of(world: &World, task: &Task) -> Result<Task> {
    let mut task = task.clone();
    let Some(name) = &task.role else { return Ok(task) };
    let role = role::find(&world.paths, &world.cwd(), name)?;
    for note in role.notes() {
        world.say.note(&note);
    }
    if task.model.is_none() {
        let worker = Worker::load(&world.paths, &task.worker)?;
        // A worker that has no such tier works with what it has.
        let tier = role.tier.filter(|tier| model::check(&worker, tier.name()).is_ok());
        task.model = tier.map(|tier| tier.name().to_owned());
    }
    task.permission_mode.get_or_insert_with(|| role.permission.name().to_owned());
    task.allowed_by_role = role.uses().map(str::to_owned).collect();
    task.cast = arguments(&role);
    task.role_words = Some(role.system_prompt());
    Ok(task)
}

/// What a role adds to Claude Code's arguments.
fn arguments(role: &Role) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["--tools".into(), role.tool_names().join(",").into()];
    // Else servers that the project brings would be tools that the role does not have.
    if !role.tool_names().iter().any(|name| name.starts_with("mcp__")) {
        words.push("--strict-mcp-config".into());
    }
    words
}

/// Reads the report in the worker's last words, and notes where it differs from what happened. `changed` is nothing
/// where nobody could look.
pub fn compare(record: &mut Record, changed: Option<&[String]>) {
    let Some(summary) = &record.summary else { return };
    match report::parse(summary) {
        Ok(report) => {
            record.disagreements = report::disagreements(&report, changed, &record.checks);
            record.report = serde_json::to_value(report).ok();
        }
        Err(error) => record.disagreements = vec![format!("{error}.")],
    }
}
