//! What may cost money beyond a plan. Closed unless the settings say `allow`, and closed where nothing is known.

use shared::dispatch_config::{DispatchConfig, Guard};

/// The guards, as the settings have them.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Guards {
    /// Models that are billed per use.
    pub frontier: Guard,
    /// Work past a plan's window.
    pub overage: Guard,
}

impl From<&DispatchConfig> for Guards {
    fn from(config: &DispatchConfig) -> Self {
        Self { frontier: config.frontier, overage: config.overage }
    }
}

/// What a running task was seen doing that may cost money.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Spending {
    /// The plan says that this work is billed past its window.
    Overage,
    /// A model that is billed per use has answered.
    Frontier(String),
}

impl Spending {
    /// Why the run must stop, and what would let it go on; nothing where its guard is open.
    pub fn stops(&self, guards: Guards) -> Option<String> {
        match self {
            Self::Overage if !guards.overage.is_open() => {
                let why = "the plan's window ran out while it worked, and going on would be billed: \
                           the guard `overage` is not `allow`";
                Some(why.to_owned())
            }
            Self::Frontier(model) if !guards.frontier.is_open() => Some(format!(
                "{model} answered, which is billed per use: the guard `frontier` is not `allow`"
            )),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_starts_billing_stops_unless_allowed() {
        let closed = Guards::default();
        let open = Guards { frontier: Guard::Allow, overage: Guard::Allow };
        for spending in [Spending::Overage, Spending::Frontier("claude-fable-5".into())] {
            assert!(spending.stops(closed).is_some(), "{spending:?}");
            assert_eq!(spending.stops(open), None, "{spending:?}");
        }
        let half = Guards { frontier: Guard::Allow, ..closed };
        assert!(Spending::Overage.stops(half).is_some(), "one guard does not open the other");
    }
}
