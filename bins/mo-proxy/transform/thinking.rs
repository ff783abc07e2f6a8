//! How much a request may think: what the caller, the profile and the room for an answer leave.

use crate::config::Thinking;
use crate::config::names::LEAST_THINKING;
use crate::scan::Value;

/// What is left for the answer at least, in tokens.
const ROOM: u64 = 1_024;
/// Of the answer's tokens, one part in so many is left for what is said.
const SHARE: u64 = 8;

/// What a caller says of thinking.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Asked {
    /// Nothing.
    Nothing,
    /// None of it.
    Off,
    /// So many tokens; none named is 0.
    Budget(u64),
    /// As much as it takes.
    Adaptive,
    /// Something that we do not know.
    Other,
}

impl Asked {
    /// Reads the member `thinking`.
    pub fn read(value: Value<'_>) -> Self {
        let kind = value.get("type").and_then(Value::text);
        match kind.as_deref() {
            Some("disabled") => Self::Off,
            Some("enabled") => Self::Budget(value.get("budget_tokens").and_then(Value::whole).unwrap_or(0)),
            Some("adaptive") => Self::Adaptive,
            None if value.is_null() => Self::Nothing,
            _ => Self::Other,
        }
    }
}

/// Everything that decides.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The caller.
    pub asked: Asked,
    /// The profile.
    pub profile: Option<Thinking>,
    /// How hard the caller wants it to think.
    pub effort: Option<String>,
    /// Whether the provider understands `adaptive`.
    pub adaptive: bool,
}

/// What goes out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// What came.
    Keep,
    /// None.
    Off,
    /// So many tokens.
    Budget(u64),
}

/// Decides. A budget always leaves room for an answer; a call too small for both gets no thinking, and its
/// `max_tokens` is not raised for it.
pub fn decide(wanted: &Wanted, max_tokens: Option<u64>) -> Outcome {
    let budget = match (wanted.profile, wanted.asked) {
        (_, Asked::Off) | (None, Asked::Nothing | Asked::Other) => return Outcome::Keep,
        (Some(Thinking::Off), _) => return Outcome::Off,
        (None, Asked::Adaptive) if wanted.adaptive => return Outcome::Keep,
        (None, Asked::Adaptive | Asked::Budget(0)) => of_effort(wanted.effort.as_deref()),
        (Some(Thinking::Budget(tokens)), _) | (None, Asked::Budget(tokens)) => tokens,
    };
    let most = max_tokens.map_or(u64::MAX, |most| most.saturating_sub(ROOM.max(most / SHARE)));
    match budget.min(most) {
        small if small < LEAST_THINKING && max_tokens.is_some() => Outcome::Off,
        same if wanted.asked == Asked::Budget(same) => Outcome::Keep,
        tokens => Outcome::Budget(tokens.max(LEAST_THINKING)),
    }
}

fn of_effort(effort: Option<&str>) -> u64 {
    match effort {
        Some("low") => 2_048,
        Some("medium") => 8_192,
        Some("xhigh" | "max") => 32_000,
        _ => 16_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(asked: Asked, profile: Option<Thinking>, max_tokens: u64) -> Outcome {
        decide(&Wanted { asked, profile, effort: None, adaptive: false }, Some(max_tokens))
    }

    #[test]
    fn a_budget_leaves_room_for_the_answer() {
        let budget = Some(Thinking::Budget(32_000));
        for (asked, profile, max_tokens, outcome) in [
            (Asked::Nothing, None, 32_000, Outcome::Keep),
            (Asked::Off, budget, 32_000, Outcome::Keep),
            (Asked::Nothing, budget, 64_000, Outcome::Budget(32_000)),
            (Asked::Nothing, budget, 32_000, Outcome::Budget(28_000)),
            (Asked::Nothing, budget, 8_192, Outcome::Budget(7_168)),
            // A small call gets no thinking, instead of more tokens.
            (Asked::Nothing, budget, 512, Outcome::Off),
            (Asked::Nothing, budget, 2_048, Outcome::Budget(1_024)),
            (Asked::Budget(10_000), None, 32_000, Outcome::Keep),
            (Asked::Budget(32_000), None, 32_000, Outcome::Budget(28_000)),
            (Asked::Budget(10_000), Some(Thinking::Budget(4_000)), 32_000, Outcome::Budget(4_000)),
            (Asked::Budget(10_000), Some(Thinking::Off), 32_000, Outcome::Off),
            (Asked::Adaptive, None, 32_000, Outcome::Budget(16_000)),
            (Asked::Adaptive, None, 1_500, Outcome::Off),
            (Asked::Other, None, 32_000, Outcome::Keep),
        ] {
            assert_eq!(decided(asked, profile, max_tokens), outcome, "{asked:?} {profile:?} {max_tokens}");
        }
    }

    #[test]
    fn effort_is_a_budget_where_adaptive_is_unknown() {
        let wanted = |effort: &str, adaptive| Wanted {
            asked: Asked::Adaptive,
            profile: None,
            effort: Some(effort.into()),
            adaptive,
        };
        assert_eq!(decide(&wanted("low", false), Some(64_000)), Outcome::Budget(2_048));
        assert_eq!(decide(&wanted("max", false), Some(64_000)), Outcome::Budget(32_000));
        assert_eq!(decide(&wanted("max", true), Some(64_000)), Outcome::Keep);
    }
}
