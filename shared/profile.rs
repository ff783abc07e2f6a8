//! Our own file about a worker, `worker.json`: what kind of identity it is, its models, how its last check went.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::auth::Auth;
use crate::document;
use crate::error::Result;
use crate::file::{self, Durability};
use crate::tier::Tier;

/// Our own file beside Claude Code's.
pub const PROFILE: &str = "worker.json";

/// What kind of identity a worker is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A provider's API and a key.
    #[default]
    Provider,
    /// Another Claude account, logged in by Claude Code itself.
    Account,
}

impl Kind {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::Account => "account",
        }
    }
}

/// The model behind a tier, with what is known of it.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Mapped {
    /// The provider's name for it.
    pub model: String,
    /// Tokens of input and output together.
    #[serde(default)]
    pub context_window: Option<u64>,
    /// Tokens of one answer.
    #[serde(default)]
    pub max_output: Option<u64>,
}

/// How one tier did at the last check.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct TierCheck {
    /// Whether it answered.
    pub ok: bool,
    /// `ok`, or what kind of trouble.
    pub kind: String,
    /// The model that was asked.
    pub model: String,
    /// How long it took, in milliseconds.
    pub ms: u64,
}

/// How many tasks the dispatcher gives at once to a worker that nobody gave a limit: each is a whole Claude Code of some
/// 200 MB.
pub const USUAL_LIMIT: u32 = 8;

/// The last check.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// When.
    pub at: String,
    /// With which Claude Code.
    pub claude_version: Option<String>,
    /// At which endpoint.
    #[serde(default)]
    pub base_url: Option<String>,
    /// What came of it.
    pub tiers: BTreeMap<Tier, TierCheck>,
}

/// Our own file about a worker.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// The format: 1.
    pub version: u32,
    /// The worker's name.
    pub name: String,
    /// Provider or account.
    pub kind: Kind,
    /// The preset it was made from.
    pub preset: Option<String>,
    /// Where an account's configuration lies: never in the worker's own directory.
    pub config_dir: Option<PathBuf>,
    /// Whether we made that directory, and so may remove it when asked to.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub made_config_dir: bool,
    /// How the provider takes the key.
    pub auth: Auth,
    /// The command that prints the key.
    pub key_command: Option<Vec<String>>,
    /// The tier for everything that is not mapped.
    pub default_tier: Option<Tier>,
    /// The mapped tiers.
    pub tiers: BTreeMap<Tier, Mapped>,
    /// Switches that the provider needs.
    pub env: BTreeMap<String, String>,
    /// Paid by the month.
    pub flat_plan: bool,
    /// The one to take when several could.
    pub preferred: bool,
    /// The most it may run at once.
    pub max_parallel: Option<u32>,
    /// When it was made.
    pub created: Option<String>,
    /// The last check.
    pub last_check: Option<Check>,
}

impl Profile {
    /// Reads the file, where there is one.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        let Some(bytes) = file::read_own(path, file::JSON_CAP)? else { return Ok(None) };
        document::must_be_object(path, &bytes)?;
        document::parse(path, &bytes).map(Some)
    }

    /// Writes the file.
    pub fn write(&self, directory: &Path) -> Result<()> {
        document::replace(&directory.join(PROFILE), self, Durability::Synced)
    }
}
