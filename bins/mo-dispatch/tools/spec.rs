//! One task as its caller asked for it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use shared::flatten::flatten;
use shared::tier::Tier;

use crate::schedule::candidate::Wish;

/// The longest title that is kept.
const LONGEST: usize = 120;

/// A task. The schema says what each field may hold; it has been checked before this is made.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Spec {
    /// A few words for lists.
    pub title: String,
    /// The whole task.
    pub prompt: String,
    /// This worker and no other.
    pub worker: Option<String>,
    /// How strong a model it needs.
    pub tier: Option<Tier>,
    /// This model instead of a tier.
    pub model: Option<String>,
    /// A role.
    pub role: Option<String>,
    /// Appended to the worker's system prompt.
    pub system_prompt: Option<String>,
    /// How deep the model thinks.
    pub effort: Option<String>,
    /// How long it may take.
    pub timeout_minutes: Option<u32>,
    /// Commands that must succeed.
    pub check: Vec<String>,
    /// How often work that fails its check is sent back.
    pub attempts: Option<u32>,
    /// A git worktree of its own.
    pub worktree: bool,
    /// Patterns of the files it may change.
    pub files: Vec<String>,
    /// The most it may cost.
    pub budget_usd: Option<f64>,
    /// The most tokens.
    pub budget_tokens: Option<u64>,
    /// The most turns.
    pub max_turns: Option<u32>,
    /// How it may use its tools.
    pub permission_mode: Option<String>,
    /// Tools it may use besides.
    pub allow: Vec<String>,
    /// It outlives the session.
    pub detach: bool,
    /// What must have ended well before.
    pub after: Vec<String>,
}

impl Spec {
    /// The task in these arguments, which have been checked against the schema.
    pub fn of(arguments: &Value) -> Result<Self, String> {
        let mut spec: Self = serde_json::from_value(arguments.clone()).map_err(|error| error.to_string())?;
        // It is shown in lists, also on terminals.
        spec.title = flatten(&spec.title, LONGEST);
        if spec.title.is_empty() {
            "untitled".clone_into(&mut spec.title);
        }
        // A tier's name is a tier, wherever it stands.
        if let Some(tier) = spec.model.as_deref().and_then(Tier::named) {
            spec.tier = Some(tier);
            spec.model = None;
        }
        Ok(spec)
    }

    /// What it asks of a worker.
    pub fn wish(&self, failed: &[String]) -> Wish {
        Wish {
            worker: self.worker.clone(),
            tier: self.tier,
            model: self.model.clone(),
            failed: failed.to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_hostile_title_is_flat_and_a_tier_is_no_model() {
        let arguments = json!({"title": "a\u{1b}[2J\n\u{202e}b", "prompt": "p", "model": "Opus"});
        let spec = Spec::of(&arguments).unwrap();
        assert_eq!((spec.title.as_str(), spec.tier, spec.model), ("a [2J b", Some(Tier::Opus), None));
        assert_eq!(Spec::of(&json!({"title": "\u{200b}", "prompt": "p"})).unwrap().title, "untitled");
    }
}
