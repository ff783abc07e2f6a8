//! A role's file as it was written, checked but not yet judged: what it says, and what it leaves open.

use std::path::Path;

use crate::document::broken;
use crate::error::{Error, Result};
use crate::flatten::flatten;
use crate::front_matter::{self, Entry, Value, Wrong};
use crate::permission_mode::PermissionMode;
use crate::role::tool::Tool;
use crate::tier::Tier;

/// The most that a role's file may hold.
pub const CAP: u64 = 64 << 10;

/// What one file says.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Draft {
    /// What the role is for, in one line.
    pub description: Option<String>,
    /// The tools it gets.
    pub tools: Option<Vec<Tool>>,
    /// The size of model it wants.
    pub tier: Option<Tier>,
    /// What it may do without being asked.
    pub permission: Option<PermissionMode>,
    /// The form of its answer, in one line.
    pub output: Option<String>,
    /// The words to the worker.
    pub prompt: String,
}

impl Draft {
    /// Reads a file's bytes.
    pub fn read(path: &Path, bytes: &[u8]) -> Result<Self> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let line = bytes.iter().take(error.valid_up_to()).filter(|byte| **byte == b'\n').count() + 1;
            told(path, &Wrong::new(line, "it is not UTF-8"))
        })?;
        Self::of(text).map_err(|wrong| told(path, &wrong))
    }

    fn of(text: &str) -> Result<Self, Wrong> {
        let document = front_matter::parse(text)?;
        let mut draft = Self { prompt: document.body, ..Self::default() };
        for entry in &document.entries {
            draft.take(entry)?;
        }
        Ok(draft)
    }

    fn take(&mut self, entry: &Entry) -> Result<(), Wrong> {
        match entry.key.as_str() {
            "description" => self.description = Some(line_of(entry, 300)?),
            "output" => self.output = Some(line_of(entry, 500)?),
            "tier" => self.tier = Some(named(entry, Tier::parse)?),
            "permission" => self.permission = Some(named(entry, PermissionMode::parse)?),
            "tools" => self.tools = Some(tools(entry)?),
            key => {
                let what = format!(
                    "there is no key `{key}`: a role has description, tools, tier, permission, output"
                );
                return Err(Wrong::new(entry.line, what));
            }
        }
        Ok(())
    }
}

fn told(path: &Path, wrong: &Wrong) -> Error {
    broken(path, wrong.line, &wrong.what).hint("correct the line; all other roles work")
}

fn text(entry: &Entry) -> Result<&str, Wrong> {
    match &entry.value {
        Value::Text(text) => Ok(text),
        Value::List(_) => Err(Wrong::new(entry.line, format!("`{}` wants one line of text", entry.key))),
    }
}

fn line_of(entry: &Entry, longest: usize) -> Result<String, Wrong> {
    text(entry).map(|text| flatten(text, longest))
}

fn named<T>(entry: &Entry, parse: fn(&str) -> Result<T>) -> Result<T, Wrong> {
    parse(text(entry)?).map_err(|error| {
        let hint = error.what_next().map(|hint| format!("; {hint}")).unwrap_or_default();
        Wrong::new(entry.line, format!("{error}{hint}"))
    })
}

fn tools(entry: &Entry) -> Result<Vec<Tool>, Wrong> {
    let pieces = match &entry.value {
        Value::Text(text) => front_matter::split(text),
        Value::List(items) => items.iter().map(String::as_str).collect(),
    };
    let mut tools: Vec<Tool> = Vec::new();
    for piece in pieces {
        let tool = Tool::parse(piece).ok_or_else(|| {
            let what = "a tool is written like `Read` or `Bash(git diff:*)`, with commas between";
            Wrong::new(entry.line, what)
        })?;
        if !tools.contains(&tool) {
            tools.push(tool);
        }
    }
    if tools.is_empty() {
        return Err(Wrong::new(entry.line, "`tools` names no tool; leave it out for reading alone"));
    }
    Ok(tools)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_file_is_read() {
        let draft = Draft::of(
            "---\ndescription: Looks.\ntools: Read, Bash(git diff:*), Read\ntier: haiku\npermission: plan\noutput: a list\n---\nLook.",
        )
        .unwrap();
        assert_eq!(draft.tools.unwrap().len(), 2);
        assert_eq!((draft.tier, draft.permission), (Some(Tier::Haiku), Some(PermissionMode::Plan)));
        assert_eq!((draft.output.as_deref(), draft.prompt.as_str()), (Some("a list"), "Look."));
    }

    #[test]
    fn a_broken_file_is_told_with_its_line() {
        for (text, line, part) in [
            ("---\ndescription: x\npermision: plan\n---\n", 3, "no key `permision`"),
            ("---\npermission: root\n---\n", 2, "bypassPermissions"),
            ("---\ntier: huge\n---\n", 2, "the tiers are"),
            ("---\ntools: rm -rf\n---\n", 2, "written like"),
            ("---\ntools:\n---\n", 2, "no tool"),
            ("---\noutput: [a]\n---\n", 2, "one line"),
        ] {
            let error = Draft::read(Path::new("/r/x.md"), text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(&format!("/r/x.md:{line}: ")) && error.contains(part), "{error}");
        }
        let error = Draft::read(Path::new("/r/x.md"), b"---\n\xff").unwrap_err();
        assert_eq!(error.to_string(), "/r/x.md:2: it is not UTF-8");
    }
}
