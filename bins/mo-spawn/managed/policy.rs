//! What the worker is answered when it asks for leave: by the rules, but for two tools that ask a person something.

use std::path::Path;

use serde_json::value::RawValue;

use crate::policy::{Decision, Policy};

/// The tool with which a model asks a person.
const QUESTION: &str = "AskUserQuestion";
/// The tool with which a model asks for leave to carry out its plan.
const PLAN: &str = "ExitPlanMode";

/// What is answered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// Do it.
    Allow,
    /// Do not, and this is why; it is a denial.
    Deny(String),
    /// No, but nothing was forbidden: a question that nobody can answer.
    Decline(String),
}

/// Decides on one call in this directory.
pub fn decide(policy: &Policy, tool: &str, input: &RawValue, directory: &Path) -> Verdict {
    match tool {
        QUESTION => Verdict::Decline(
            "Nobody can answer now. Decide yourself, and say in your last words what you assumed.".to_owned(),
        ),
        PLAN => Verdict::Decline("Do not carry it out. End your turn with the whole plan.".to_owned()),
        _ => match policy.decide(tool, &serde_json::from_str(input.get()).unwrap_or_default(), directory) {
            Decision::Allow => Verdict::Allow,
            Decision::Deny(why) => Verdict::Deny(why),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_allowed_is_denied_and_a_question_is_no_denial() {
        let policy = Policy::default();
        let input = RawValue::from_string("{}".to_owned()).unwrap();
        let decide = |tool: &str| decide(&policy, tool, &input, Path::new("/w"));
        assert!(matches!(decide("WebFetch"), Verdict::Deny(why) if why.contains("WebFetch")));
        assert!(matches!(decide("Bash"), Verdict::Deny(_)));
        assert!(matches!(decide("AskUserQuestion"), Verdict::Decline(_)));
    }
}
