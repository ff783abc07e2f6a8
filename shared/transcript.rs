//! One session's transcript, read for how the session went: tokens by model, denials, errors, last words.
//! Counting over all sessions is the ledger's business.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::flatten::flatten;
use crate::record::{Denial, Tokens};

/// The longest row that is looked at; longer ones are tool results, never usage.
const LONGEST_ROW: u64 = 64 << 20;
/// The most characters kept of a denied action, and of the last words.
const SHOWN: usize = 300;

/// How a session went.
#[derive(Debug, Default, PartialEq)]
pub struct Course {
    /// Tokens by model.
    pub usage: BTreeMap<String, Tokens>,
    /// What was denied.
    pub denials: Vec<Denial>,
    /// The last API error, unless the session went on after it.
    pub error: Option<ApiFailure>,
    /// The worker's last words.
    pub last_words: Option<String>,
    /// Which Claude Code wrote it.
    pub version: Option<String>,
}

/// An API error as Claude Code notes it.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiFailure {
    /// The HTTP status; nothing when nobody answered.
    pub status: Option<u16>,
    /// The type in the error's body; nothing when the answer was no JSON.
    pub error_type: Option<String>,
    /// The client's words.
    pub text: String,
}

/// The files of one session and how long they were before a run began.
#[derive(Clone, Debug, Default)]
pub struct Before(HashMap<PathBuf, u64>);

/// All sessions of a worker and how long their transcripts are.
#[derive(Debug)]
pub struct Sessions(HashMap<PathBuf, u64>);

impl Sessions {
    /// Those that there are now.
    pub fn of(projects: &Path) -> Self {
        let folders = fs::read_dir(projects).into_iter().flatten().flatten();
        let files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
        let sessions = files.filter(|file| {
            let path = file.path();
            path.extension().is_some_and(|end| end == "jsonl") && !is_agent(&path)
        });
        Self(sessions.map(|file| (file.path(), file.metadata().map_or(0, |meta| meta.len()))).collect())
    }

    /// The session that was added or went on since, and how long it was before; nothing when it is not
    /// the only one, because then it would be a guess.
    pub fn only_one_that_grew(&self, projects: &Path) -> Option<(String, Before)> {
        let now = Self::of(projects);
        let mut grown =
            now.0.into_iter().filter(|(path, length)| self.0.get(path).is_none_or(|old| old < length));
        let (path, _) = grown.next()?;
        if grown.next().is_some() {
            return None;
        }
        let session = path.file_stem()?.to_str()?.to_owned();
        let before = self.0.get(&path).map(|length| (path, *length)).into_iter().collect();
        Some((session, Before(before)))
    }
}

/// The transcript of this session below a `projects` directory, wherever it was run.
pub fn find(projects: &Path, session: &str) -> Option<PathBuf> {
    let name = format!("{session}.jsonl");
    let folders = fs::read_dir(projects).ok()?;
    folders.flatten().map(|folder| folder.path().join(&name)).find(|path| path.is_file())
}

/// The folder below `projects` for sessions of this directory.
pub fn folder_name(cwd: &Path) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    cwd.to_string_lossy().chars().map(plain).collect()
}

/// How long the session's files are now; rows up to there belong to earlier runs.
pub fn mark(projects: &Path, session: &str) -> Before {
    let files = find(projects, session).map(|main| files(&main)).unwrap_or_default();
    let length = |path: &PathBuf| fs::metadata(path).map_or(0, |meta| meta.len());
    Before(files.into_iter().map(|path| (path.clone(), length(&path))).collect())
}

/// Reads what was added to the session since `before`; nothing when it has no transcript.
pub fn read(projects: &Path, session: &str, before: &Before) -> Option<Course> {
    let main = find(projects, session)?;
    let mut reading = Reading::default();
    for path in files(&main) {
        let from = before.0.get(&path).copied().unwrap_or(0);
        // A file that cannot be read costs its own rows only.
        let _ = reading.file(&path, from, path == main);
    }
    Some(reading.course())
}

/// The session's own file and those of its subagents, however deep.
fn files(main: &Path) -> Vec<PathBuf> {
    let mut found = vec![main.to_owned()];
    let mut folders = vec![main.with_extension("")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() && is_agent(&entry.path()) => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found
}

fn is_agent(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("agent-") && path.extension().is_some_and(|extension| extension == "jsonl")
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row<'a> {
    #[serde(rename = "type")]
    kind: Option<String>,
    version: Option<String>,
    #[serde(default, borrow)]
    message: Option<&'a RawValue>,
    #[serde(default)]
    is_api_error_message: bool,
    api_error_status: Option<u16>,
    api_error_type: Option<String>,
    tool_denial_kind: Option<String>,
    session_id: Option<String>,
    request_session_id: Option<String>,
}

impl Row<'_> {
    /// A fork begins with copies of another session's rows.
    fn is_copy(&self) -> bool {
        self.request_session_id.is_some() && self.request_session_id != self.session_id
    }
}

#[derive(Deserialize)]
struct Message {
    id: Option<String>,
    model: Option<String>,
    usage: Option<Usage>,
    #[serde(default)]
    content: Content,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Blocks(Vec<Block>),
    Other(serde::de::IgnoredAny),
}

impl Default for Content {
    fn default() -> Self {
        Self::Blocks(Vec::new())
    }
}

#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: Option<String>,
    text: Option<String>,
    id: Option<String>,
    name: Option<String>,
    tool_use_id: Option<String>,
    input: Option<Input>,
}

/// The inputs that tell what a tool would have done.
#[derive(Deserialize)]
struct Input {
    command: Option<String>,
    file_path: Option<String>,
    url: Option<String>,
    prompt: Option<String>,
}

impl Input {
    fn what(self) -> String {
        let what = self.command.or(self.file_path).or(self.url).or(self.prompt);
        flatten(&what.unwrap_or_default(), SHOWN)
    }
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Usage {
    #[serde(rename = "input_tokens")]
    input: Option<u64>,
    #[serde(rename = "output_tokens")]
    output: Option<u64>,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_creation: Option<u64>,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read: Option<u64>,
}

impl From<Usage> for Tokens {
    fn from(usage: Usage) -> Self {
        Self {
            input: usage.input.unwrap_or(0),
            output: usage.output.unwrap_or(0),
            cache_creation: usage.cache_creation.unwrap_or(0),
            cache_read: usage.cache_read.unwrap_or(0),
        }
    }
}

#[derive(Default)]
struct Reading {
    /// One message stands in several rows; the one with the most output is final.
    messages: HashMap<String, (String, Tokens)>,
    tools: HashMap<String, (String, String)>,
    course: Course,
}

impl Reading {
    fn file(&mut self, path: &Path, from: u64, is_main: bool) -> std::io::Result<()> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(from))?;
        let mut lines = BufReader::new(file);
        let mut line = Vec::new();
        loop {
            line.clear();
            if lines.by_ref().take(LONGEST_ROW).read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            // A torn or foreign line counts nothing.
            if let Ok(row) = serde_json::from_slice::<Row>(&line) {
                self.row(row, is_main);
            }
        }
    }

    fn row(&mut self, row: Row, is_main: bool) {
        if row.is_copy() {
            return;
        }
        let Some(kind) = row.kind.as_deref().filter(|kind| matches!(*kind, "assistant" | "user")) else {
            return;
        };
        let Some(message) = row.message.and_then(|raw| serde_json::from_str::<Message>(raw.get()).ok())
        else {
            return;
        };
        self.course.version = row.version.or(self.course.version.take());
        let Content::Blocks(blocks) = message.content else { return };
        if kind == "user" {
            if row.tool_denial_kind.is_some() {
                self.denied(&blocks);
            }
            return;
        }
        let text = blocks.iter().filter_map(|block| block.text.as_deref()).collect::<Vec<_>>().join(" ");
        if is_main && row.is_api_error_message {
            let text = flatten(&text, SHOWN);
            let (status, error_type) = (row.api_error_status, row.api_error_type);
            self.course.error = Some(ApiFailure { status, error_type, text });
            return;
        }
        if let (Some(id), Some(model), Some(usage)) = (message.id, message.model, message.usage) {
            self.counted(id, model, usage.into());
        }
        if is_main {
            self.course.error = None;
            if !text.trim().is_empty() {
                self.course.last_words = Some(flatten(&text, SHOWN));
            }
        }
        for block in blocks {
            if let (Some("tool_use"), Some(id), Some(name)) = (block.kind.as_deref(), block.id, block.name) {
                self.tools.insert(id, (name, block.input.map(Input::what).unwrap_or_default()));
            }
        }
    }

    fn counted(&mut self, id: String, model: String, tokens: Tokens) {
        if model == "<synthetic>" {
            return;
        }
        let known = self.messages.entry(id).or_insert_with(|| (model.clone(), tokens));
        if tokens.output > known.1.output {
            *known = (model, tokens);
        }
    }

    fn denied(&mut self, blocks: &[Block]) {
        for id in blocks.iter().filter_map(|block| block.tool_use_id.as_ref()) {
            let (tool, what) = self.tools.get(id).cloned().unwrap_or_default();
            self.course.denials.push(Denial { tool: flatten(&tool, SHOWN), what });
        }
    }

    fn course(mut self) -> Course {
        for (model, tokens) in self.messages.into_values() {
            let sum = self.course.usage.entry(flatten(&model, SHOWN)).or_default();
            sum.input += tokens.input;
            sum.output += tokens.output;
            sum.cache_creation += tokens.cache_creation;
            sum.cache_read += tokens.cache_read;
        }
        self.course
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(rows: &[&str]) -> Course {
        let projects = tempfile::tempdir().unwrap();
        let folder = projects.path().join("-srv");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("s.jsonl"), rows.join("\n")).unwrap();
        read(projects.path(), "s", &Before::default()).unwrap()
    }

    #[test]
    fn a_message_in_several_rows_counts_once_and_its_last_words_stay() {
        let row = |output: u32, text: &str| {
            format!(
                r#"{{"type":"assistant","version":"2.1.0","message":{{"id":"m","model":"x","content":[{{"type":"text","text":"{text}"}}],
                "usage":{{"input_tokens":5,"output_tokens":{output},"cache_read_input_tokens":null}}}}}}"#
            )
            .replace('\n', "")
        };
        let course = course(&[&row(3, "first"), &row(9, "last"), "{torn"]);
        assert_eq!(course.usage["x"], Tokens { input: 5, output: 9, ..Tokens::default() });
        assert_eq!(course.last_words.as_deref(), Some("last"));
        assert_eq!(course.version.as_deref(), Some("2.1.0"));
    }

    #[test]
    fn a_denial_names_its_tool_and_what_it_wanted() {
        let course = course(&[
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"rm -rf /"}}]}}"#,
            r#"{"type":"user","toolDenialKind":"x","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"no"}]}}"#,
        ]);
        assert_eq!(course.denials, [Denial { tool: "Bash".into(), what: "rm -rf /".into() }]);
    }

    #[test]
    fn an_error_counts_only_when_the_session_ended_with_it() {
        let error = r#"{"type":"assistant","isApiErrorMessage":true,"apiErrorStatus":529,"apiErrorType":"overloaded_error","message":{"id":"e","model":"<synthetic>","content":[{"type":"text","text":"no"}]}}"#;
        let answer = r#"{"type":"assistant","message":{"id":"m","model":"x","content":[{"type":"text","text":"yes"}]}}"#;
        assert_eq!(course(&[error]).error.unwrap().status, Some(529));
        assert_eq!(course(&[error, answer]).error, None);
        assert!(course(&[error]).usage.is_empty());
    }
}
