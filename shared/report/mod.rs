//! The report at the end of a worker's final message: what is demanded of it, how it is read, and where its word
//! differs from what really happened.

mod compare;
mod fence;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::flatten::flatten;

pub use compare::disagreements;

/// The longest block that is read as a report.
const LONGEST: usize = 64 << 10;
/// The most files, and the most blockers, that are kept.
const MOST_FILES: usize = 2000;
const MOST_BLOCKERS: usize = 20;

/// How it went, in the worker's own word.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// All of it is done.
    Success,
    /// A part of it is done.
    Partial,
    /// It is not done.
    Failure,
}

/// What the worker thinks should come next.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NextAction {
    /// Take the work over.
    Merge,
    /// Look at it first.
    Review,
    /// Somebody better must decide.
    Escalate,
    /// Nothing.
    #[default]
    None,
}

/// What a worker reports. Texts are one line each, and safe to show.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The role it played.
    #[serde(default, deserialize_with = "word")]
    pub role: String,
    /// What kind of task it was, in a word.
    #[serde(default, deserialize_with = "word")]
    pub task_type: String,
    /// How it went.
    pub status: Outcome,
    /// The files it says it changed.
    #[serde(default, deserialize_with = "files")]
    pub files_touched: Vec<String>,
    /// The command by which it tested; empty for none.
    #[serde(default, deserialize_with = "sentence")]
    pub tests_run: String,
    /// Whether those tests pass; nothing where it does not say.
    #[serde(default)]
    pub tests_pass: Option<bool>,
    /// What matters most, in one sentence.
    #[serde(default, deserialize_with = "sentence")]
    pub key_finding: String,
    /// What stood in the way.
    #[serde(default, deserialize_with = "blockers")]
    pub blockers: Vec<String>,
    /// What should come next.
    #[serde(default)]
    pub next_action: NextAction,
}

/// What a worker is told about the report.
pub fn demand(role: &str) -> String {
    format!(
        r#"End your final message with exactly one report, the last fenced block in it, and nothing below it:

```json
{{"role": "{role}", "task_type": "one-word-or-slug", "status": "success", "files_touched": [], "tests_run": "", "tests_pass": null, "key_finding": "", "blockers": [], "next_action": "review"}}
```

- status: success when all of the task is done and proven, partial when some of it is, failure when none is.
- files_touched: every file you created, changed or deleted, relative to the working directory.
- tests_run: the command you really ran, or "". tests_pass: true, false, or null when you ran none.
- key_finding: one sentence. blockers: one short sentence each.
- next_action: merge, review, escalate (somebody better must decide) or none.

It is compared with git and with checks run after you: what does not match is shown to your caller."#
    )
}

/// The report in a worker's final message, or why there is none.
pub fn parse(message: &str) -> Result<Report> {
    let block = fence::last_json(message).ok_or_else(|| missing("it ends without a report block"))?;
    if block.len() > LONGEST {
        return Err(missing("its last JSON block is too long for a report"));
    }
    if !block.trim_start().starts_with('{') {
        return Err(missing("its last JSON block is no object"));
    }
    serde_json::from_str(block).map_err(|error| {
        let reason = flatten(&error.to_string(), 120);
        missing(&format!("its last JSON block is no report: {reason}"))
    })
}

fn missing(why: &str) -> Error {
    Error::new(Exit::Data, format!("the worker's final message has no report: {why}"))
}

/// The texts in a value, however it was written: one, a list of them, or none.
fn texts<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<String>, D::Error> {
    let items = match Value::deserialize(from)? {
        Value::Array(items) => items,
        one => vec![one],
    };
    let texts = items.into_iter().filter_map(|item| match item {
        Value::String(text) if !text.trim().is_empty() => Some(text),
        _ => None,
    });
    Ok(texts.collect())
}

fn word<'a, D: Deserializer<'a>>(from: D) -> Result<String, D::Error> {
    texts(from).map(|texts| flatten(&texts.join(" "), 64))
}

fn sentence<'a, D: Deserializer<'a>>(from: D) -> Result<String, D::Error> {
    texts(from).map(|texts| flatten(&texts.join("; "), 500))
}

fn files<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<String>, D::Error> {
    list(from, MOST_FILES, 500)
}

fn blockers<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<String>, D::Error> {
    list(from, MOST_BLOCKERS, 200)
}

fn list<'a, D: Deserializer<'a>>(from: D, most: usize, longest: usize) -> Result<Vec<String>, D::Error> {
    let items = texts(from)?.into_iter().map(|item| flatten(&item, longest));
    Ok(items.filter(|item| !item.is_empty()).take(most).collect())
}

#[cfg(test)]
mod tests;
