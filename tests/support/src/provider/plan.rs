//! What an account's plan says of itself in the headers of an answer.

/// Whether work past the plan is billed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overage {
    /// It ends there.
    Off,
    /// It would be.
    Enabled,
    /// It is: the plan refuses, and the request is served all the same.
    InUse,
}

/// One window of a plan.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    window: String,
    status: &'static str,
    share: f64,
    reset: u64,
    overage: Overage,
}

impl Plan {
    /// A window with room, used this far.
    pub(super) fn within(window: &str, share: f64, reset: u64) -> Self {
        let status = if share > 0.9 { "allowed_warning" } else { "allowed" };
        Self { window: window.into(), status, share, reset, overage: Overage::Off }
    }

    /// A window that is used up.
    pub(super) fn refused(window: &str, reset: u64) -> Self {
        Self { status: "rejected", ..Self::within(window, 1.0, reset) }
    }

    /// `WINDOW SHARE RESET [off|enabled|in-use]`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let (window, share, reset) =
            (words.next()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let plan = Self::within(window, share, reset);
        match words.next() {
            None | Some("off") => Some(plan),
            Some("enabled") => Some(Self { overage: Overage::Enabled, ..plan }),
            Some("in-use") => Some(Self { overage: Overage::InUse, ..Self::refused(window, reset) }),
            Some(_) => None,
        }
    }

    /// The headers.
    pub(super) fn headers(&self) -> Vec<(String, String)> {
        let short = match self.window.as_str() {
            "five_hour" => "5h",
            "seven_day" => "7d",
            other => other,
        };
        let mut pairs = vec![
            ("status".to_owned(), self.status.to_owned()),
            ("representative-claim".to_owned(), self.window.clone()),
            ("reset".to_owned(), self.reset.to_string()),
            (format!("{short}-status"), self.status.to_owned()),
            (format!("{short}-utilization"), self.share.to_string()),
            (format!("{short}-reset"), self.reset.to_string()),
        ];
        match self.overage {
            Overage::Off => {
                pairs.push(("overage-status".to_owned(), "rejected".to_owned()));
                pairs.push(("overage-disabled-reason".to_owned(), "org_level_disabled".to_owned()));
            }
            Overage::Enabled => pairs.push(("overage-status".to_owned(), "allowed".to_owned())),
            Overage::InUse => {
                pairs.push(("overage-status".to_owned(), "allowed".to_owned()));
                pairs.push(("overage-in-use".to_owned(), "true".to_owned()));
            }
        }
        pairs
            .into_iter()
            .map(|(name, value)| (format!("anthropic-ratelimit-unified-{name}"), value))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Plan;

    #[test]
    fn billing_shows_in_the_headers() {
        let of = |text: &str| Plan::parse(text).map(|plan| plan.headers());
        let has = |text: &str, name: &str, value: &str| {
            let name = format!("anthropic-ratelimit-unified-{name}");
            of(text).unwrap().contains(&(name, value.to_owned()))
        };
        assert!(
            has("five_hour 0.5 9", "5h-utilization", "0.5") && has("five_hour 0.5 9", "status", "allowed")
        );
        assert!(
            has("seven_day 1 9 in-use", "status", "rejected")
                && has("seven_day 1 9 in-use", "overage-status", "allowed")
        );
        assert!(of("five_hour 0.5").is_none() && of("five_hour x 9").is_none() && of("w 1 9 odd").is_none());
    }
}
