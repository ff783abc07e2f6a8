//! What a reading means for the next task: is there room, how much, and when again. Pure.

use jiff::Timestamp;

use super::reading::{Overage, Reading, Window};
use crate::moment::Moment;

/// From this percentage on a window counts as used up.
pub(super) const FULL: f64 = 99.0;
/// The provider's word for a window that refuses.
const REFUSED: &str = "rejected";

/// Whether the window is used up and has not begun anew.
pub fn full(window: &Window, now: Timestamp) -> bool {
    let used_up = window.percent.is_some_and(|percent| percent >= FULL);
    (used_up || window.status.as_deref() == Some(REFUSED)) && !window.is_over(now)
}

/// Whether work for this model would find nothing left of the plan. Usage that nobody knows counts as used up where
/// work past the plan would be billed.
pub fn exhausted(reading: Option<&Reading>, model: Option<&str>, now: Timestamp) -> bool {
    let Some(reading) = reading else { return false };
    if reading.overage == Overage::InUse && !reading.windows.iter().any(|window| window.is_over(now)) {
        // Billing was observed, and no window has begun anew since.
        return true;
    }
    if reading.known(now).any(|window| applies(window, model, reading.overage) && full(window, now)) {
        return true;
    }
    reading.overage.is_on() && !is_told(Some(reading), now)
}

/// Whether anybody told lately how far the plan is used. Where nobody did, work may be billed without anybody knowing
/// it, also where it was not the last time: until an answer tells, one request is as much as may be risked.
pub fn is_told(reading: Option<&Reading>, now: Timestamp) -> bool {
    let says = |window: &Window| window.percent.is_some() || window.status.is_some();
    reading.is_some_and(|reading| reading.known(now).any(|window| window.model.is_none() && says(window)))
}

/// The least that is left in percent, over the windows that such work would use; nothing when that is unknown.
pub fn headroom(reading: Option<&Reading>, model: Option<&str>, now: Timestamp) -> Option<f64> {
    let reading = reading?;
    let windows = reading.known(now).filter(|window| applies(window, model, reading.overage));
    windows.filter_map(|window| window.percent).map(|percent| 100.0 - percent).min_by(f64::total_cmp)
}

/// When such work is possible again: the latest reset of the windows that refuse it. Nothing where none does, or
/// where one does not say.
pub fn refused_until(reading: &Reading, model: Option<&str>, now: Timestamp) -> Option<Moment> {
    let refusing =
        reading.known(now).filter(|window| applies(window, model, reading.overage) && full(window, now));
    let resets: Option<Vec<Moment>> = refusing.map(|window| window.resets_at).collect();
    resets.and_then(|resets| resets.into_iter().max())
}

/// Whether work for this model uses the window. Where the model is not known, the windows of single models count
/// only if guessing wrong would cost money.
fn applies(window: &Window, model: Option<&str>, overage: Overage) -> bool {
    let Some(scope) = &window.model else { return true };
    let Some(model) = model else { return overage != Overage::Off };
    let (scope, model) = (scope.to_lowercase(), model.to_lowercase());
    // The family is what a display name, a tier and a model's id share: Opus, opus, claude-opus-5.
    let family = scope
        .split(|letter: char| !letter.is_alphanumeric())
        .find(|word| *word != "claude" && word.starts_with(|letter: char| letter.is_alphabetic()));
    family.is_some_and(|family| model.contains(family))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_second(1_800_000_000).unwrap()
    }

    fn window(name: &str, percent: Option<f64>, resets_in: Option<i64>) -> Window {
        let second = |ahead: i64| Moment(Timestamp::from_second(1_800_000_000 + ahead).unwrap());
        Window {
            name: name.into(),
            model: super::super::answer::model_in(name),
            percent,
            resets_at: resets_in.map(second),
            status: None,
            at: now().into(),
        }
    }

    fn reading(overage: Overage, windows: Vec<Window>) -> Reading {
        Reading { windows, overage, ..Reading::empty(now()) }
    }

    fn spent(reading: &Reading, model: &str) -> bool {
        exhausted(Some(reading), Some(model), now())
    }

    #[test]
    fn a_window_is_used_up_from_99_percent_until_its_reset() {
        let at =
            |percent, reset| spent(&reading(Overage::Off, vec![window("five_hour", percent, reset)]), "opus");
        assert!(!at(Some(98.9), Some(10)));
        assert!(at(Some(99.0), Some(10)));
        assert!(at(Some(100.0), None));
        assert!(!at(Some(100.0), Some(0)), "it has begun anew");
        assert!(!at(None, Some(10)));
    }

    #[test]
    fn a_models_own_window_stops_that_model_only() {
        let reading = reading(
            Overage::Off,
            vec![window("five_hour", Some(1.0), None), window("seven_day_opus", Some(100.0), None)],
        );
        assert!(spent(&reading, "opus") && spent(&reading, "claude-opus-5-5"));
        assert!(!spent(&reading, "sonnet") && !spent(&reading, "claude-fable-5"));
        assert_eq!(headroom(Some(&reading), Some("sonnet"), now()), Some(99.0));
        assert_eq!(headroom(Some(&reading), Some("opus"), now()), Some(0.0));
    }

    #[test]
    fn unknown_usage_counts_as_used_up_where_it_could_be_billed() {
        for overage in [Overage::Enabled, Overage::InUse] {
            assert!(spent(&reading(overage, vec![]), "opus"));
            assert!(spent(&reading(overage, vec![window("five_hour", None, None)]), "opus"));
        }
        for overage in [Overage::Off, Overage::Unknown] {
            assert!(!spent(&reading(overage, vec![]), "opus"));
        }
        for overage in [Overage::Enabled, Overage::InUse, Overage::Unknown] {
            let one_model = reading(overage, vec![window("seven_day_opus", Some(99.0), None)]);
            assert!(exhausted(Some(&one_model), None, now()), "the model is not known: {overage:?}");
        }
        for (percent, told) in [(None, false), (Some(10.0), true)] {
            let reading = reading(Overage::Unknown, vec![window("five_hour", percent, None)]);
            assert_eq!(is_told(Some(&reading), now()), told);
        }
        assert!(!is_told(None, now()));
        let known = reading(Overage::Enabled, vec![window("five_hour", Some(10.0), None)]);
        assert!(!spent(&known, "opus"));
        let later = Timestamp::from_second(1_800_000_000 + 1800).unwrap();
        assert!(exhausted(Some(&known), Some("opus"), later), "what is too old is unknown");
        assert!(!is_told(Some(&known), later));
        assert!(!exhausted(None, Some("opus"), now()), "an account that was never asked is asked first");
    }

    #[test]
    fn billing_seen_once_holds_until_the_window_begins_anew() {
        let mut billed = reading(Overage::InUse, vec![window("five_hour", Some(50.0), Some(60))]);
        billed.put(window("seven_day", Some(20.0), Some(6000)));
        assert!(spent(&billed, "opus"));
        let later = Timestamp::from_second(1_800_000_060).unwrap();
        assert!(!exhausted(Some(&billed), Some("opus"), later));
    }

    #[test]
    fn the_next_try_is_after_the_last_of_the_refusing_resets() {
        let windows = vec![
            window("five_hour", Some(100.0), Some(60)),
            window("seven_day", Some(99.5), Some(600)),
            window("seven_day_opus", Some(100.0), Some(6000)),
        ];
        let reading = reading(Overage::Off, windows);
        let until = |model| refused_until(&reading, Some(model), now()).map(|moment| moment.ahead(now()));
        assert_eq!((until("sonnet"), until("opus")), (Some(600), Some(6000)));
    }
}
