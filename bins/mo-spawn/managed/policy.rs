//! Leave for tools, given by rule: a headless worker has nobody to ask.

use serde_json::value::RawValue;

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

/// The rules of one dispatch.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    allow: Vec<String>,
}

impl Policy {
    /// These tools need no question.
    pub fn new(allow: &[String]) -> Self {
        Self { allow: allow.to_vec() }
    }

    /// Decides on one call.
    pub fn decide(&self, tool: &str, _input: &RawValue) -> Verdict {
        match tool {
            QUESTION => Verdict::Decline(
                "Nobody can answer now. Decide yourself, and say in your last words what you assumed."
                    .to_owned(),
            ),
            PLAN => Verdict::Decline("Do not carry it out. End your turn with the whole plan.".to_owned()),
            _ if self.allow.iter().any(|allowed| allowed == tool) => Verdict::Allow,
            _ => Verdict::Deny(format!(
                "{tool} is not allowed in this dispatch, and nobody is there to ask. Do it another way, or say what you could not do."
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_allowed_is_denied_and_a_question_is_no_denial() {
        let policy = Policy::new(&["WebFetch".to_owned()]);
        let input = RawValue::from_string("{}".to_owned()).unwrap();
        assert_eq!(policy.decide("WebFetch", &input), Verdict::Allow);
        assert!(matches!(policy.decide("Bash", &input), Verdict::Deny(why) if why.contains("Bash")));
        assert!(matches!(policy.decide("AskUserQuestion", &input), Verdict::Decline(_)));
    }
}
