//! What the model says and does: the assistant's frames.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use shared::api_failure::ApiFailure;
use shared::flatten::flatten;
use shared::ledger::usage::Usage;

use super::WHAT;

/// What the model said.
#[derive(Debug, Default)]
pub struct Said {
    /// The message.
    pub id: Option<String>,
    /// The model.
    pub model: String,
    /// Its tokens so far.
    pub usage: Usage,
    /// Its text.
    pub text: String,
    /// The tools it calls: the call, the name, what it is to do.
    pub tools: Vec<Call>,
    /// Whether it is the main conversation.
    pub main: bool,
    /// The API error, where it is one.
    pub error: Option<ApiFailure>,
    /// When the quota is renewed, in seconds since 1970.
    pub resets_at: Option<i64>,
}

/// One call of a tool.
#[derive(Clone, Debug)]
pub struct Call {
    /// The call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What it is to do.
    pub what: String,
}

/// The frame as it comes.
#[derive(Deserialize)]
pub(super) struct AssistantFrame {
    message: Message,
    parent_tool_use_id: Option<String>,
    error: Option<Value>,
    #[serde(default)]
    is_api_error_message: bool,
    api_error_status: Option<u16>,
    api_error_type: Option<String>,
    api_error_params: Option<Params>,
}

#[derive(Deserialize)]
struct Params {
    rate_limit_info: Option<Window>,
}

#[derive(Deserialize)]
struct Window {
    #[serde(rename = "resetsAt")]
    resets_at: Option<f64>,
}

#[derive(Deserialize)]
struct Message {
    id: Option<String>,
    #[serde(default)]
    model: String,
    #[serde(default)]
    usage: Option<Figures>,
    #[serde(default)]
    content: Vec<Block>,
}

#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type", default)]
    kind: String,
    text: Option<String>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Box<RawValue>>,
}

/// Tokens as they come.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct Figures {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation: Option<Kept>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Kept {
    ephemeral_1h_input_tokens: Option<u64>,
}

impl From<Figures> for Usage {
    fn from(figures: Figures) -> Self {
        Self {
            input: figures.input_tokens.unwrap_or(0),
            output: figures.output_tokens.unwrap_or(0),
            cache_creation: figures.cache_creation_input_tokens.unwrap_or(0),
            cache_creation_1h: figures
                .cache_creation
                .and_then(|kept| kept.ephemeral_1h_input_tokens)
                .unwrap_or(0),
            cache_read: figures.cache_read_input_tokens.unwrap_or(0),
        }
    }
}

/// The inputs that tell what a tool is to do.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Input {
    command: Option<String>,
    file_path: Option<String>,
    notebook_path: Option<String>,
    pattern: Option<String>,
    url: Option<String>,
    description: Option<String>,
    prompt: Option<String>,
}

/// What a tool with this input is to do, in a line.
pub(super) fn what(input: &RawValue) -> String {
    let input: Input = serde_json::from_str(input.get()).unwrap_or_default();
    let what = input.command.or(input.file_path).or(input.notebook_path).or(input.pattern).or(input.url);
    flatten(&what.or(input.description).or(input.prompt).unwrap_or_default(), WHAT)
}

impl AssistantFrame {
    /// What it says.
    pub(super) fn said(self) -> Said {
        let mut said = Said {
            id: self.message.id,
            usage: self.message.usage.unwrap_or_default().into(),
            model: self.message.model,
            main: self.parent_tool_use_id.is_none(),
            resets_at: self
                .api_error_params
                .and_then(|params| params.rate_limit_info?.resets_at)
                .map(|seconds| seconds as i64),
            ..Said::default()
        };
        for block in self.message.content {
            if let Some(text) = block.text {
                if !said.text.is_empty() {
                    said.text.push('\n');
                }
                said.text.push_str(&text);
            } else if let ("tool_use", Some(id), Some(name)) = (block.kind.as_str(), block.id, block.name) {
                let what = block.input.as_deref().map(what).unwrap_or_default();
                said.tools.push(Call { id, name, what });
            }
        }
        if self.is_api_error_message || self.error.is_some() {
            let failure = ApiFailure {
                status: self.api_error_status,
                error_type: self.api_error_type,
                class: self.error.as_ref().and_then(Value::as_str).map(str::to_owned),
                text: said.text.clone(),
            };
            let failure = failure.completed();
            said.error = Some(ApiFailure { text: flatten(&failure.text, WHAT), ..failure });
        }
        said
    }
}
