//! The result, as it stands on standard output: the worker's summary for people, one document for programs.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use shared::digits::grouped;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::flatten::{flatten, paragraphs};
use shared::record::{Attempt, Check, Denial, Failure, Record, Status, Tokens};
use shared::world::World;

/// The document of `--json`.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    version: u32,
    id: &'a str,
    status: Option<Status>,
    summary: Option<&'a str>,
    report: Option<&'a Value>,
    disagreements: &'a [String],
    files: &'a [String],
    checks: &'a [Check],
    attempts: &'a [Attempt],
    usage: &'a BTreeMap<String, Tokens>,
    cost_usd: Option<f64>,
    cost_basis: Option<&'a str>,
    denials: &'a [Denial],
    worktree: Option<&'a str>,
    branch: Option<&'a str>,
    commit: Option<&'a str>,
    merge: Option<&'a str>,
    notes: &'a [String],
    resume: Option<&'a str>,
    resets_at: Option<&'a str>,
    record: &'a str,
    error: Option<&'a Failure>,
}

impl<'a> Document<'a> {
    /// The document of this record, which lies there.
    pub fn of(record: &'a Record, path: &'a str, merge: Option<&'a str>) -> Self {
        Self {
            version: 1,
            id: &record.id,
            status: record.status,
            summary: record.summary.as_deref(),
            report: record.report.as_ref(),
            disagreements: &record.disagreements,
            files: &record.files,
            checks: &record.checks,
            attempts: &record.attempts,
            usage: &record.usage,
            cost_usd: record.cost_usd,
            cost_basis: record.cost_basis.as_deref(),
            denials: &record.denials,
            worktree: record.worktree.as_deref(),
            branch: record.branch.as_deref(),
            commit: record.commit.as_deref(),
            merge,
            notes: &record.notes,
            resume: record.resume.as_deref(),
            resets_at: record.resets_at.as_deref(),
            record: path,
            error: record.error.as_ref(),
        }
    }
}

/// Tells the result.
pub fn tell(
    world: &World,
    record: &Record,
    path: &Path,
    merge: Option<&str>,
    json: bool,
    silent: bool,
) -> Result<()> {
    let path = path.to_string_lossy();
    if json {
        let document = Document::of(record, &path, merge);
        let text = serde_json::to_string_pretty(&document)
            .map_err(|error| Error::new(Exit::Bug, "cannot write the result").caused_by(error))?;
        world.say.line(&text)?;
    } else if let Some(summary) = &record.summary {
        world.say.line(&paragraphs(summary, usize::MAX))?;
    }
    if !silent {
        aside(world, record, merge);
    }
    Ok(())
}

/// What a person wants to know beside the result.
fn aside(world: &World, record: &Record, merge: Option<&str>) {
    let status = record.status.map_or("unknown", Status::name);
    let why = record.error.as_ref().map(|error| format!(": {}", error.text)).unwrap_or_default();
    world.say.note(&format!("{}: {status}{why}", record.worker));
    for check in record.checks.iter().filter(|check| check.exit_code != Some(0)) {
        world.say.note(&format!("$ {}", flatten(&check.command, 200)));
        world.say.aside(&format!("{}\n", paragraphs(&check.tail, usize::MAX)));
    }
    for denial in &record.denials {
        world.say.note(&format!("denied: {} {}", denial.tool, denial.what));
    }
    if !record.files.is_empty() {
        let files = record.files.iter().map(|file| flatten(file, 200)).collect::<Vec<_>>();
        world.say.note(&format!("changed: {}", files.join(", ")));
    }
    for disagreement in &record.disagreements {
        world.say.note(&format!("its report: {disagreement}"));
    }
    for note in &record.notes {
        world.say.note(note);
    }
    world.say.note(&used(record));
    if let Some(merge) = merge {
        let (base, branch) = (record.base_commit.as_deref(), record.branch.as_deref().unwrap_or_default());
        let base = base.and_then(|base| base.get(..10)).unwrap_or("HEAD");
        world.say.hint(&format!("look: git diff {base}...{branch}"));
        world.say.hint(&format!("take: {merge}   (or as one commit: git merge --squash {branch})"));
    }
    if let Some(next) = shared::outcome::what_next(record) {
        world.say.hint(&next);
    }
    if let (true, Some(resume)) = (record.status != Some(Status::Done), &record.resume) {
        world.say.hint(&format!("go on with it: {resume} TEXT"));
    }
}

fn used(record: &Record) -> String {
    let fresh: u64 =
        record.usage.values().map(|tokens| tokens.input + tokens.cache_creation + tokens.output).sum();
    let cost = match (record.cost_basis.as_deref(), record.cost_usd) {
        (Some("flat"), _) => "a flat plan".to_owned(),
        (_, Some(dollars)) => format!("${dollars:.4}"),
        _ => "cost unknown".to_owned(),
    };
    let attempts = record.attempts.len();
    let attempts = if attempts == 1 { "1 attempt".to_owned() } else { format!("{attempts} attempts") };
    format!("{attempts}, {} fresh tokens, {cost}", grouped(fresh.into()))
}
