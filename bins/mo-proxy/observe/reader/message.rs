//! What an answer of the Messages API says about itself, in events or in one document.

use serde::Deserialize;
use shared::ledger::usage::Usage;

/// The longest id, model name or error text that is kept.
const LONGEST: usize = 300;

/// What was seen of an answer.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Seen {
    /// The message's id.
    pub message_id: Option<String>,
    /// The model that answered, by its own word.
    pub model: Option<String>,
    /// Its tokens; the last word counts.
    pub usage: Usage,
    /// Whether there was a word about tokens at all.
    pub has_usage: bool,
    /// Whether it came to its end: `message_stop`, or a whole document.
    pub finished: bool,
    /// An error inside the answer, also inside a 200 stream.
    pub failure: Option<Failure>,
    /// Whether a part of it could not be read: what is known may be too little.
    pub unread: bool,
    /// The signatures of its thinking: good only where they were made.
    pub signatures: Vec<String>,
}

/// An error as the API tells it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Failure {
    /// Its type, like `overloaded_error`.
    pub kind: String,
    /// Its words; they may come from anywhere.
    pub message: String,
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: Option<String>,
    id: Option<String>,
    model: Option<String>,
    usage: Option<RawUsage>,
    message: Option<Inner>,
    error: Option<RawFailure>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Inner {
    Message { id: Option<String>, model: Option<String>, usage: Option<RawUsage> },
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawFailure {
    Object {
        #[serde(rename = "type")]
        kind: Option<String>,
        message: Option<String>,
    },
    Text(String),
    Other(serde::de::IgnoredAny),
}

/// Providers leave fields out or send null: what is not said changes nothing.
#[derive(Deserialize)]
struct RawUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation: Option<RawCreation>,
}

#[derive(Deserialize)]
struct RawCreation {
    ephemeral_1h_input_tokens: Option<u64>,
}

/// What stands before a signature. In a text of the answer its quotes would be escaped.
const SIGNATURE: &[u8] = b"\"signature\":\"";
/// The most signatures of one answer that are kept.
const MOST_SIGNATURES: usize = 256;

impl Seen {
    /// Takes note of the signatures in these bytes.
    pub fn note_signatures(&mut self, bytes: &[u8]) {
        for at in memchr::memmem::find_iter(bytes, SIGNATURE) {
            let rest = bytes.get(at + SIGNATURE.len()..).unwrap_or_default();
            let signature =
                rest.split(|byte| *byte == b'"').next().and_then(|one| std::str::from_utf8(one).ok());
            if let Some(signature) = signature.filter(|one| !one.is_empty())
                && self.signatures.len() < MOST_SIGNATURES
            {
                self.signatures.push(signature.to_owned());
            }
        }
    }

    /// Takes in one JSON value: an event's data, or a whole document. Tells whether it was JSON.
    pub fn take(&mut self, json: &[u8]) -> bool {
        let Ok(part) = serde_json::from_slice::<Part>(json) else { return false };
        match part.kind.as_deref() {
            Some("message_start") => {
                if let Some(Inner::Message { id, model, usage }) = part.message {
                    self.told(id, model, usage);
                }
            }
            Some("message_delta") => self.told(None, None, part.usage),
            Some("message_stop") => self.finished = true,
            Some("error") => self.failed(part.error),
            Some("message") => {
                self.told(part.id, part.model, part.usage);
                self.finished = true;
            }
            // Errors in other shapes than the API's, and answers without a type.
            _ if part.error.is_some() => self.failed(part.error),
            _ => self.told(None, part.model, part.usage),
        }
        true
    }

    fn told(&mut self, id: Option<String>, model: Option<String>, usage: Option<RawUsage>) {
        if let Some(id) = id {
            self.message_id = Some(cut(id));
        }
        if let Some(model) = model {
            self.model = Some(cut(model));
        }
        if let Some(raw) = usage {
            self.has_usage = true;
            let usage = &mut self.usage;
            let set = |field: &mut u64, said: Option<u64>| *field = said.unwrap_or(*field);
            set(&mut usage.input, raw.input_tokens);
            set(&mut usage.output, raw.output_tokens);
            set(&mut usage.cache_creation, raw.cache_creation_input_tokens);
            set(&mut usage.cache_read, raw.cache_read_input_tokens);
            let for_an_hour = raw.cache_creation.and_then(|creation| creation.ephemeral_1h_input_tokens);
            set(&mut usage.cache_creation_1h, for_an_hour);
        }
    }

    fn failed(&mut self, raw: Option<RawFailure>) {
        let (kind, message) = match raw {
            Some(RawFailure::Object { kind, message }) => {
                (kind.unwrap_or_default(), message.unwrap_or_default())
            }
            Some(RawFailure::Text(text)) => (String::new(), text),
            _ => Default::default(),
        };
        self.failure = Some(Failure { kind: cut(kind), message: cut(message) });
    }
}

fn cut(text: String) -> String {
    if text.len() <= LONGEST { text } else { text.chars().take(LONGEST).collect() }
}
