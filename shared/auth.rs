//! How a provider takes its key: which header, and so which variable Claude Code reads it from.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::redact::typed;

/// The header that carries the key.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Auth {
    /// `Authorization: Bearer KEY`, as most providers want it.
    #[default]
    Bearer,
    /// `x-api-key: KEY`, as Anthropic wants it for an own key.
    XApiKey,
}

impl Auth {
    /// Its name in files and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bearer => "bearer",
            Self::XApiKey => "x-api-key",
        }
    }

    /// The variable that makes Claude Code send the key so.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Bearer => "ANTHROPIC_AUTH_TOKEN",
            Self::XApiKey => "ANTHROPIC_API_KEY",
        }
    }

    /// The way of this name.
    pub fn parse(name: &str) -> Result<Self> {
        [Self::Bearer, Self::XApiKey].into_iter().find(|auth| auth.name() == name).ok_or_else(|| {
            Error::new(Exit::Usage, format!("there is no auth `{}`", typed(name)))
                .hint("auth is bearer (most providers) or x-api-key (an own Anthropic key)")
        })
    }
}

impl fmt::Display for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_files_and_on_command_lines_are_the_same() {
        for auth in [Auth::Bearer, Auth::XApiKey] {
            assert_eq!(Auth::parse(auth.name()).unwrap(), auth);
            assert_eq!(serde_json::to_string(&auth).unwrap(), format!("\"{auth}\""));
        }
        assert_eq!(Auth::parse("basic").unwrap_err().exit(), Exit::Usage);
    }
}
