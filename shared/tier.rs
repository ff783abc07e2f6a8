//! Claude Code's four sizes of model, and the variables that map each to a provider's own.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::redact::typed;

/// A size of model, from the largest to the smallest.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// The frontier.
    Fable,
    /// Hard work.
    Opus,
    /// Everyday work.
    Sonnet,
    /// Quick, mechanical and background work.
    Haiku,
}

impl Tier {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Fable, Self::Opus, Self::Sonnet, Self::Haiku];

    /// Its name, as in `--model opus`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fable => "fable",
            Self::Opus => "opus",
            Self::Sonnet => "sonnet",
            Self::Haiku => "haiku",
        }
    }

    /// The variable that tells Claude Code which model to ask for when this tier is meant.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Fable => "ANTHROPIC_DEFAULT_FABLE_MODEL",
            Self::Opus => "ANTHROPIC_DEFAULT_OPUS_MODEL",
            Self::Sonnet => "ANTHROPIC_DEFAULT_SONNET_MODEL",
            Self::Haiku => "ANTHROPIC_DEFAULT_HAIKU_MODEL",
        }
    }

    /// The tier of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| tier.name().eq_ignore_ascii_case(name))
    }

    /// The tier of this name, or what is wrong with it.
    pub fn parse(name: &str) -> Result<Self> {
        Self::named(name).ok_or_else(|| {
            Error::new(Exit::Usage, format!("there is no tier `{}`", typed(name)))
                .hint("the tiers are fable, opus, sonnet and haiku")
        })
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
