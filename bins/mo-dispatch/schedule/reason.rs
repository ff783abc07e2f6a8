//! Why a worker is not taken, in words that tell the caller what to do.

use std::fmt;

use jiff::Timestamp;
use shared::clock::rfc3339;
use shared::tier::Tier;

/// Why a worker does not get a task.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// It failed this task already.
    Failed,
    /// It cannot work at all.
    Broken(String),
    /// It has no model for the tier.
    NoTier(Option<Tier>),
    /// It does not know the model.
    NoModel(String),
    /// It refuses work until then.
    Cooling(Timestamp),
    /// It is being asked what is left of its plan.
    Asking,
    /// It runs as many tasks as it may.
    Full(u32),
    /// A window of its plan is used up; when it begins anew.
    UsedUp(String, Option<Timestamp>),
    /// How much of its plan is left is not known, and more than that would be billed.
    Unknown,
    /// Nobody knows what is left of its plan, and the run that will tell has not told yet.
    Untold,
    /// The model is billed per use.
    Frontier(String),
}

impl Reason {
    /// Whether it passes with the end of something that runs.
    pub fn passes_with_a_task(&self) -> bool {
        matches!(self, Self::Full(_) | Self::Asking | Self::Untold)
    }

    /// When it passes by itself, where that is known.
    pub fn passes_at(&self) -> Option<Timestamp> {
        match self {
            Self::Cooling(at) | Self::UsedUp(_, Some(at)) => Some(*at),
            _ => None,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed => f.write_str("failed this task already"),
            Self::Broken(why) => f.write_str(why),
            Self::NoTier(Some(tier)) => write!(f, "has no model for the tier {tier}"),
            Self::NoTier(None) => f.write_str("has no model"),
            Self::NoModel(model) => write!(f, "does not know the model {model}"),
            Self::Cooling(at) => write!(f, "refuses work until {}", rfc3339(*at)),
            Self::Asking => f.write_str("is being asked what is left of its plan"),
            Self::Full(limit) => write!(f, "is at its limit of {limit} at once"),
            Self::UsedUp(window, Some(at)) => {
                write!(f, "its window {window} is used up until {}", rfc3339(*at))
            }
            Self::UsedUp(window, None) => write!(f, "its window {window} is used up"),
            Self::Unknown => f.write_str(
                "how much of its plan is left is not known, and work past the plan would be billed \
                 (overage is on, and the guard `overage` is not `allow`)",
            ),
            Self::Untold => f.write_str(
                "has one run until that has told how much of its plan is left \
                 (the guard `overage` is not `allow`)",
            ),
            Self::Frontier(model) => write!(
                f,
                "its model {model} is billed per use, and the guard `frontier` is not `allow`: \
                 ask for the tier opus with a higher effort instead"
            ),
        }
    }
}
