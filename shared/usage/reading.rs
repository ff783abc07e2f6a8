//! One reading of an account's plan usage: its windows by their own names, and whether work past them is billed.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::moment::Moment;

/// So long a reading is as good as a new one, in seconds.
pub const FRESH: u64 = 4 * 60;
/// So long an older one is better than none, in seconds; it is marked with its age.
pub const KEPT: u64 = 30 * 60;

/// How far a reading can be trusted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Freshness {
    /// As good as a new one.
    Fresh,
    /// Better than none.
    Stale,
    /// Too old to say anything.
    Gone,
}

/// One window of a plan, such as the last five hours or this week's use of one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Its own name: `five_hour`, `seven_day`, `seven_day_opus`, …
    pub name: String,
    /// The model it is for, by its display name; nothing when it is for all.
    #[serde(default)]
    pub model: Option<String>,
    /// How much is used, in percent; nothing when that is unknown.
    #[serde(default)]
    pub percent: Option<f64>,
    /// When it begins anew.
    #[serde(default)]
    pub resets_at: Option<Moment>,
    /// The provider's own word on it: `allowed`, `rejected`, `warning`, …
    #[serde(default)]
    pub status: Option<String>,
    /// When this was observed.
    pub at: Moment,
}

impl Window {
    /// How far what stands here can be trusted.
    pub fn freshness(&self, now: Timestamp) -> Freshness {
        // A time to come: the clock has been set back, and nobody can tell the age.
        if self.at.ahead(now) > FRESH {
            return Freshness::Gone;
        }
        match self.at.age(now) {
            age if age < FRESH => Freshness::Fresh,
            age if age < KEPT => Freshness::Stale,
            _ => Freshness::Gone,
        }
    }

    /// Whether the window has begun anew since, so that what was read no longer holds.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.resets_at.is_some_and(|reset| reset.0 <= now)
    }
}

/// Whether work past the plan's windows goes on and is billed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overage {
    /// Nobody said.
    #[default]
    Unknown,
    /// It ends there.
    Off,
    /// It would go on, and be billed.
    Enabled,
    /// It is being billed now.
    InUse,
}

impl Overage {
    /// Whether the next task could be billed.
    pub fn is_on(self) -> bool {
        matches!(self, Self::Enabled | Self::InUse)
    }
}

/// What is known of an account's usage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// When it was made.
    pub at: Moment,
    /// The kind of plan, as the provider names it.
    #[serde(default)]
    pub plan: Option<String>,
    /// Whether there are plan windows at all: a token login has none. Nothing when that is unknown.
    #[serde(default)]
    pub has_limits: Option<bool>,
    /// The windows, by name.
    #[serde(default)]
    pub windows: Vec<Window>,
    /// Whether work past the windows is billed.
    #[serde(default)]
    pub overage: Overage,
    /// Why the last try to read failed.
    #[serde(default)]
    pub error: Option<String>,
}

impl Reading {
    /// A reading that says nothing yet.
    pub fn empty(at: Timestamp) -> Self {
        Self {
            at: at.into(),
            plan: None,
            has_limits: None,
            windows: Vec::new(),
            overage: Overage::Unknown,
            error: None,
        }
    }

    /// Puts a window in the place of the one of that name. What the new one does not know stays known, as long as it
    /// is the same span.
    pub fn put(&mut self, window: Window) {
        let Some(old) = self.windows.iter_mut().find(|old| old.name == window.name) else {
            self.windows.push(window);
            self.windows.sort_by(|one, other| one.name.cmp(&other.name));
            return;
        };
        // Readings may come out of order; one much older than what is known comes after a clock was set back.
        if window.at < old.at && old.at.ahead(window.at.0) < KEPT {
            return;
        }
        let same_span = window.resets_at.is_none() || window.resets_at == old.resets_at;
        let mut before = std::mem::replace(old, window);
        if old.model.is_none() {
            old.model = before.model.take();
        }
        if same_span && !before.is_over(old.at.0) {
            old.resets_at = old.resets_at.or(before.resets_at);
            // A figure is only as young as its own observation.
            if old.percent.is_none() && old.status.is_none() {
                (old.percent, old.status, old.at) = (before.percent, before.status, before.at);
            }
        }
    }

    /// This reading with what only an older one knows. A failed try never wipes what was observed before it.
    #[must_use]
    pub fn after(self, older: Option<Self>) -> Self {
        let Some(mut whole) = older else { return self };
        for window in self.windows {
            whole.put(window);
        }
        let newest = whole.at.max(self.at);
        let is_newer = self.at >= whole.at;
        whole.at = newest;
        if is_newer {
            whole.error = self.error;
            whole.plan = self.plan.or(whole.plan);
            whole.has_limits = self.has_limits.or(whole.has_limits);
            if self.overage != Overage::Unknown {
                whole.overage = self.overage;
            }
        }
        whole
    }

    /// The windows that still say something: young enough, or full until a reset that is to come.
    pub fn known(&self, now: Timestamp) -> impl Iterator<Item = &Window> {
        self.windows.iter().filter(move |window| {
            !window.is_over(now)
                && (window.freshness(now) != Freshness::Gone
                    || (super::full(window, now) && window.resets_at.is_some()))
        })
    }

    /// How far the reading as a whole can be trusted: as far as its youngest window.
    pub fn freshness(&self, now: Timestamp) -> Freshness {
        let rank = |freshness: &Freshness| match freshness {
            Freshness::Fresh => 0,
            Freshness::Stale => 1,
            Freshness::Gone => 2,
        };
        let windows = self.windows.iter().map(|window| window.freshness(now));
        windows.min_by_key(rank).unwrap_or(Freshness::Gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Moment {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap().into()
    }

    fn window(name: &str, percent: Option<f64>, resets: Option<i64>, seen: i64) -> Window {
        Window {
            name: name.into(),
            model: None,
            percent,
            resets_at: resets.map(at),
            status: None,
            at: at(seen),
        }
    }

    fn reading(seen: i64, windows: Vec<Window>) -> Reading {
        Reading { windows, ..Reading::empty(at(seen).0) }
    }

    #[test]
    fn a_failed_reading_wipes_nothing_and_ages() {
        let good = Reading {
            overage: Overage::Enabled,
            ..reading(0, vec![window("five_hour", Some(50.0), Some(9000), 0)])
        };
        let failed = Reading { error: Some("no answer".into()), ..reading(60, vec![]) };
        let both = failed.after(Some(good));
        assert_eq!(
            (both.at, both.overage, both.error.as_deref()),
            (at(60), Overage::Enabled, Some("no answer"))
        );
        assert_eq!(both.freshness(at(200).0), Freshness::Fresh);
        assert_eq!(both.freshness(at(240).0), Freshness::Stale);
        assert_eq!(both.freshness(at(1800).0), Freshness::Gone);
        assert_eq!(both.known(at(1799).0).count(), 1);
        assert_eq!(both.known(at(1800).0).count(), 0);
    }

    #[test]
    fn a_full_window_is_remembered_until_its_reset() {
        let full = reading(0, vec![window("seven_day", Some(99.0), Some(500_000), 0)]);
        assert_eq!(full.known(at(499_999).0).count(), 1);
        assert_eq!(full.known(at(500_000).0).count(), 0);
        let no_reset = reading(0, vec![window("seven_day", Some(100.0), None, 0)]);
        assert_eq!(no_reset.known(at(1799).0).count(), 1);
        assert_eq!(no_reset.known(at(1800).0).count(), 0);
    }

    #[test]
    fn what_a_newer_window_does_not_know_is_kept_only_within_its_span() {
        let mut whole = reading(0, vec![window("five_hour", Some(80.0), Some(100), 0)]);
        whole.put(window("five_hour", None, None, 50));
        assert_eq!((whole.windows[0].percent, whole.windows[0].at), (Some(80.0), at(0)));
        whole.put(window("five_hour", None, None, 150));
        assert_eq!((whole.windows[0].percent, whole.windows[0].resets_at), (None, None));
        whole.put(window("five_hour", Some(1.0), None, 20));
        assert_eq!(whole.windows[0].percent, None, "an older one changes nothing");
    }
}
