//! One session's transcript, read for how the session went: tokens by model, denials, errors, last words.
//! Counting over all sessions is the ledger's business.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::api_failure::ApiFailure;
use crate::denied::is_denied;
use crate::flatten::flatten;
use crate::record::{Denial, Tokens};
use crate::session_files::{Before, files, find};

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
    /// What each message used; their sums are `usage`.
    pub spent: Vec<Spent>,
    /// What the account's plan said when it last refused: a client's `rate_limit_info`.
    pub refused: Option<Value>,
}

/// What one message used.
#[derive(Clone, Debug, PartialEq)]
pub struct Spent {
    /// The message.
    pub id: String,
    /// The model.
    pub model: String,
    /// Its tokens.
    pub tokens: Tokens,
    /// The part of the cache writes that is kept for an hour; only prices care.
    pub for_an_hour: u64,
}

/// Reads what was added to the session since `before`; nothing when it has no transcript.
pub fn read(projects: &Path, session: &str, before: &Before) -> Option<Course> {
    let main = find(projects, session)?;
    let mut reading = Reading::default();
    for path in files(&main) {
        let from = before.length(&path);
        // A file that cannot be read costs its own rows only.
        let _ = reading.file(&path, from, path == main);
    }
    Some(reading.course())
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
    api_error_params: Option<Value>,
    /// A word where the row is an API error.
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
    tool_denial_kind: Option<String>,
    permission_decision: Option<serde::de::IgnoredAny>,
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
    #[serde(default)]
    is_error: bool,
    content: Option<Said>,
}

/// What a tool's result says.
#[derive(Deserialize)]
#[serde(untagged)]
enum Said {
    Text(String),
    Other(serde::de::IgnoredAny),
}

impl Said {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Other(_) => None,
        }
    }
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
    #[serde(rename = "cache_creation")]
    kept: Option<Kept>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Kept {
    #[serde(rename = "ephemeral_1h_input_tokens")]
    for_an_hour: Option<u64>,
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
    messages: HashMap<String, Spent>,
    tools: HashMap<String, (String, String)>,
    /// What was denied by the looks of it; only counts where the client has no field for it.
    seemingly_denied: Vec<Denial>,
    /// Whether the client says in a field what was decided on a tool.
    tells_decisions: bool,
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
            self.results(&blocks, row.tool_denial_kind.is_some());
            self.tells_decisions |= row.tool_denial_kind.is_some() || row.permission_decision.is_some();
            return;
        }
        let text = blocks.iter().filter_map(|block| block.text.as_deref()).collect::<Vec<_>>().join(" ");
        if is_main && row.is_api_error_message {
            let said = row.api_error_params.and_then(|params| params.get("rate_limit_info").cloned());
            self.course.refused = said.or(self.course.refused.take());
            let (status, error_type) = (row.api_error_status, row.api_error_type);
            let class = row.error.and_then(|raw| serde_json::from_str(raw.get()).ok());
            let mut error = ApiFailure { status, error_type, class, text }.completed();
            error.text = flatten(&error.text, SHOWN);
            self.course.error = Some(error);
            return;
        }
        if is_main && message.model.is_none() && message.usage.is_none() && blocks.is_empty() {
            // What 2.0.76 makes of an answer that is not of this API, a web page for example: no error, exit code 0.
            let class = Some("malformed".to_owned());
            self.course.error = Some(ApiFailure { class, ..ApiFailure::default() });
            return;
        }
        if let (Some(id), Some(model), Some(usage)) = (message.id, message.model, message.usage) {
            let for_an_hour = usage.kept.and_then(|kept| kept.for_an_hour).unwrap_or(0);
            self.counted(Spent { id, model, tokens: usage.into(), for_an_hour });
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

    fn counted(&mut self, spent: Spent) {
        if spent.model == "<synthetic>" {
            return;
        }
        let known = self.messages.entry(spent.id.clone()).or_insert_with(|| spent.clone());
        if spent.tokens.output > known.tokens.output {
            *known = spent;
        }
    }

    fn results(&mut self, blocks: &[Block], denied: bool) {
        for block in blocks {
            let Some(id) = &block.tool_use_id else { continue };
            let (tool, what) = self.tools.get(id).cloned().unwrap_or_default();
            let text = block.content.as_ref().and_then(Said::text).unwrap_or_default();
            let seems = block.is_error && is_denied(&tool, text);
            let denial = Denial { tool: flatten(&tool, SHOWN), what };
            match (denied, seems) {
                (true, _) => self.course.denials.push(denial),
                (false, true) => self.seemingly_denied.push(denial),
                (false, false) => {}
            }
        }
    }

    fn course(mut self) -> Course {
        if !self.tells_decisions {
            self.course.denials.append(&mut self.seemingly_denied);
        }
        for Spent { model, tokens, .. } in self.messages.values() {
            let sum = self.course.usage.entry(flatten(model, SHOWN)).or_default();
            sum.input += tokens.input;
            sum.output += tokens.output;
            sum.cache_creation += tokens.cache_creation;
            sum.cache_read += tokens.cache_read;
        }
        self.course.spent = self.messages.into_values().collect();
        self.course
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

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

    #[test]
    fn a_client_without_a_field_for_denials_is_understood_and_one_with_it_is_believed() {
        let call = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"x"}}]}}"#;
        let result = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"This command requires approval"}]}}"#;
        assert_eq!(course(&[call, result]).denials, [Denial { tool: "Bash".into(), what: "x".into() }]);
        let told = r#"{"type":"user","permissionDecision":{"decision":"accept"},"message":{"content":[]}}"#;
        assert_eq!(course(&[call, told, result]).denials, []);
    }

    #[test]
    fn a_page_instead_of_an_answer_is_an_error() {
        let page = r#"{"type":"assistant","message":{"0":"<","content":[]}}"#;
        assert_eq!(course(&[page]).error.unwrap().class.as_deref(), Some("malformed"));
    }

    #[test]
    fn subagents_beside_the_session_count_where_they_name_it() {
        let projects = tempfile::tempdir().unwrap();
        let folder = projects.path().join("-srv");
        fs::create_dir_all(&folder).unwrap();
        let row = |session: &str, id: &str| {
            format!(
                r#"{{"sessionId":"{session}","type":"assistant","message":{{"id":"{id}","model":"x","content":[],"usage":{{"output_tokens":1}}}}}}"#
            )
        };
        for (name, session) in [("s", "s"), ("agent-1", "s"), ("agent-2", "other")] {
            fs::write(folder.join(format!("{name}.jsonl")), row(session, name)).unwrap();
        }
        let course = read(projects.path(), "s", &Before::default()).unwrap();
        assert_eq!(course.usage["x"].output, 2);
    }
}
