//! The end of a turn: the result frame.

use serde::Deserialize;
use shared::api_failure::ApiFailure;
use shared::flatten::flatten;

use super::{Refused, WHAT};

/// How a turn ended.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Over {
    /// `success`, `error_max_turns`, `error_during_execution`, …
    pub subtype: String,
    /// Whether it is an error.
    pub is_error: bool,
    /// The last words.
    pub result: Option<String>,
    api_error_status: Option<u16>,
    api_error_type: Option<String>,
    terminal_reason: Option<String>,
    errors: Vec<String>,
    permission_denials: Vec<Refused>,
}

impl Over {
    /// The calls that were denied.
    pub fn denied(&self) -> impl Iterator<Item = &str> {
        self.permission_denials.iter().filter_map(|one| one.tool_use_id.as_deref())
    }

    /// The API error it ended with.
    pub fn api_failure(&self) -> Option<ApiFailure> {
        let is_api = self.terminal_reason.as_deref() == Some("api_error") || self.api_error_status.is_some();
        (self.is_error && is_api).then(|| ApiFailure {
            status: self.api_error_status,
            error_type: self.api_error_type.clone(),
            class: None,
            text: flatten(self.result.as_deref().unwrap_or_default(), WHAT),
        })
    }

    /// What went wrong, in the client's words.
    pub fn trouble(&self) -> String {
        let words = if self.errors.is_empty() {
            self.result.clone().unwrap_or_else(|| self.subtype.clone())
        } else {
            self.errors.join("; ")
        };
        flatten(&words, WHAT)
    }
}
