//! What holds for every choice, however the workers stand: tried on thousands of pictures.

use std::time::Instant;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use shared::dispatch_config::Guard;
use shared::tier::Tier;
use shared::usage::{self, Overage, Reading, Window};
use shared::worker::Kind;

use super::candidate::{Candidate, Wish};
use super::choose::{Choice, choose, judge};
use super::guards::Guards;

fn now() -> Timestamp {
    "2026-06-01T12:00:00Z".parse().unwrap()
}

fn minutes(offset: i64) -> Timestamp {
    now() + SignedDuration::from_mins(offset)
}

fn window() -> impl Strategy<Value = Window> {
    let name = prop_oneof![
        Just(("five_hour", None)),
        Just(("seven_day", None)),
        Just(("seven_day_opus", Some("opus")))
    ];
    let percent = proptest::option::weighted(
        0.9,
        prop_oneof![Just(0.0), Just(50.0), Just(98.9), Just(99.0), Just(100.0)],
    );
    (name, percent, proptest::option::of(-600_i64..600), -60_i64..1).prop_map(
        |((name, model), percent, reset, seen)| Window {
            name: name.to_owned(),
            percent,
            resets_at: reset.map(|reset| minutes(reset).into()),
            model: model.map(str::to_owned),
            status: None,
            at: minutes(seen).into(),
        },
    )
}

fn reading() -> impl Strategy<Value = Reading> {
    let overage =
        proptest::sample::select(vec![Overage::Unknown, Overage::Off, Overage::Enabled, Overage::InUse]);
    (proptest::collection::vec(window(), 0..3), overage).prop_map(|(windows, overage)| Reading {
        windows,
        overage,
        ..Reading::empty(now())
    })
}

fn candidate(number: usize) -> impl Strategy<Value = Candidate> {
    let tiers = proptest::sample::subsequence(Tier::ALL.to_vec(), 1..=4);
    let state = (
        any::<bool>(),
        proptest::option::weighted(0.1, Just("no key".to_owned())),
        0_u32..4,
        any::<bool>(),
        proptest::bool::weighted(0.2),
    );
    let times = (
        proptest::option::of(1_u32..4),
        proptest::option::of(-600_i64..0),
        proptest::option::weighted(0.3, -60_i64..60),
    );
    (proptest::option::of(reading()), tiers, state, times).prop_map(
        move |(reading, tiers, (anthropic, broken, running, preferred, asking), (limit, used, cooling))| {
            Candidate {
                name: format!("w{number}"),
                kind: if anthropic { Kind::Account } else { Kind::Provider },
                provider: if anthropic { "anthropic".into() } else { format!("p{number}") },
                broken,
                unproven: !anthropic && number.is_multiple_of(2),
                default_tier: tiers.first().copied(),
                tiers: tiers.iter().map(|tier| (*tier, format!("m-{tier}"))).collect(),
                anthropic,
                preferred,
                running,
                limit,
                last_used: used.map(minutes),
                cooling_until: cooling.map(minutes),
                asking,
                reading: reading.filter(|_| anthropic),
            }
        },
    )
}

fn candidates() -> impl Strategy<Value = Vec<Candidate>> {
    (0..7_usize).prop_flat_map(|count| (0..count).map(candidate).collect::<Vec<_>>())
}

fn guards() -> impl Strategy<Value = Guards> {
    let guard = || prop_oneof![Just(Guard::Block), Just(Guard::Allow)];
    (guard(), guard()).prop_map(|(frontier, overage)| Guards { frontier, overage })
}

fn wish() -> impl Strategy<Value = Wish> {
    let tier = proptest::option::of(proptest::sample::select(Tier::ALL.to_vec()));
    let named = proptest::option::weighted(0.3, (0..7_usize).prop_map(|number| format!("w{number}")));
    let failed = proptest::collection::vec((0..7_usize).prop_map(|number| format!("w{number}")), 0..3);
    (named, tier, failed).prop_map(|(worker, tier, failed)| Wish { worker, tier, model: None, failed })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn who_is_taken_may_do_it(wish in wish(), candidates in candidates(), guards in guards()) {
        let Choice::Take { at, billed } = choose(&wish, &candidates, guards, now()) else { return Ok(()) };
        let taken = &candidates[at];
        prop_assert!(wish.worker.as_ref().is_none_or(|name| *name == taken.name));
        prop_assert!(!wish.failed.contains(&taken.name) && taken.broken.is_none());
        prop_assert!(taken.limit.is_none_or(|limit| taken.running < limit));
        let tier = wish.tier.or(taken.default_tier).unwrap();
        prop_assert!(taken.tiers.contains_key(&tier));
        prop_assert!(guards.frontier.is_open() || !taken.anthropic || tier != Tier::Fable);
        prop_assert!(wish.worker.is_some() || taken.cooling_until.is_none_or(|until| until <= now()));
        let model = &taken.tiers[&tier];
        prop_assert_eq!(billed, usage::exhausted(taken.reading.as_ref(), Some(model), now()));
        let on = taken.reading.as_ref().is_some_and(|reading| reading.overage.is_on());
        prop_assert!(!billed || (guards.overage.is_open() && on), "closed guards bill nothing");
        // Whoever's plan is not known may have it used up, and be billed, whatever was said of that before.
        let is_told = usage::is_told(taken.reading.as_ref(), now()) || !taken.anthropic;
        prop_assert!(is_told || !on || guards.overage.is_open(), "unknown usage with overage on is used up");
        prop_assert!(is_told || taken.running == 0 || guards.overage.is_open(), "one request is risked");
    }

    #[test]
    fn nobody_waits_or_is_refused_who_could_be_served(wish in wish(), candidates in candidates(), guards in guards()) {
        let fit: Vec<_> = candidates
            .iter()
            .filter(|candidate| wish.worker.as_ref().is_none_or(|name| *name == candidate.name))
            .filter_map(|candidate| judge(&wish, candidate, guards, now()).ok())
            .collect();
        match choose(&wish, &candidates, guards, now()) {
            Choice::Take { billed, .. } => prop_assert_eq!(billed, fit.iter().all(|bills| *bills)),
            // Only who would bill is left out for somebody who will be free, and all for the preferred one's answer.
            Choice::Wait { .. } => prop_assert!(
                fit.iter().all(|bills| *bills)
                    || candidates.iter().any(|one| one.preferred && one.asking)
            ),
            Choice::Refuse { .. } => prop_assert!(fit.is_empty()),
        }
    }

    #[test]
    fn whoever_answers_first_is_not_taken_before_the_preferred_one(running in 0_u32..3, busy in 0_u32..3) {
        let worker = |name: &str, running| Candidate {
            name: name.to_owned(),
            tiers: [(Tier::Sonnet, "m".to_owned())].into(),
            default_tier: Some(Tier::Sonnet),
            running,
            ..Candidate::default()
        };
        let preferred = Candidate { preferred: true, asking: true, ..worker("b", busy) };
        let mut candidates = vec![worker("a", running), preferred];
        let chosen = |candidates: &[Candidate]| choose(&Wish::default(), candidates, Guards::default(), now());
        // Busier than the other, it would not be taken anyway.
        let waits = matches!(chosen(&candidates), Choice::Wait { .. });
        prop_assert_eq!(waits, busy <= running);
        candidates[1].asking = false;
        prop_assert_eq!(chosen(&candidates), Choice::Take { at: usize::from(busy <= running), billed: false });
    }

    #[test]
    fn the_preferred_one_is_favoured_and_never_flooded(count in 2_usize..6, tasks in 1_usize..40) {
        let mut workers: Vec<Candidate> = (0..count)
            .map(|number| Candidate {
                name: format!("w{number}"),
                tiers: [(Tier::Sonnet, "m".to_owned())].into(),
                default_tier: Some(Tier::Sonnet),
                preferred: number == 1,
                ..Candidate::default()
            })
            .collect();
        for task in 0..tasks {
            let Choice::Take { at, .. } = choose(&Wish::default(), &workers, Guards::default(), now()) else {
                panic!("somebody is free");
            };
            workers[at].running += 1;
            workers[at].last_used = Some(minutes(i64::try_from(task).unwrap()));
            let least = workers.iter().map(|one| one.running).min().unwrap();
            let most = workers.iter().map(|one| one.running).max().unwrap();
            prop_assert!(most <= least + 1, "a batch spreads: {workers:?}");
            prop_assert!(workers[1].running == most, "the preferred one comes first");
        }
    }

    #[test]
    fn who_is_known_to_answer_comes_first_of_equals(unproven in 0_usize..4, running in 0_u32..3) {
        let worker = |number: usize| Candidate {
            name: format!("w{number}"),
            tiers: [(Tier::Sonnet, "m".to_owned())].into(),
            default_tier: Some(Tier::Sonnet),
            unproven: number <= unproven,
            running,
            last_used: (number > unproven).then(|| minutes(0)),
            ..Candidate::default()
        };
        let mut workers: Vec<_> = (0..5).map(worker).collect();
        let chosen = |workers: &[Candidate]| choose(&Wish::default(), workers, Guards::default(), now());
        prop_assert_eq!(chosen(&workers), Choice::Take { at: unproven + 1, billed: false });
        // Busier than the others, they are no equals.
        workers.iter_mut().filter(|one| !one.unproven).for_each(|one| one.running += 1);
        prop_assert_eq!(chosen(&workers), Choice::Take { at: 0, billed: false });
    }

    #[test]
    fn who_rested_longest_is_next(count in 1_usize..6) {
        let mut workers: Vec<Candidate> = (0..count)
            .map(|number| Candidate {
                name: format!("w{number}"),
                tiers: [(Tier::Opus, "m".to_owned())].into(),
                default_tier: Some(Tier::Opus),
                ..Candidate::default()
            })
            .collect();
        let mut order = Vec::new();
        for task in 0..count * 2 {
            let Choice::Take { at, .. } = choose(&Wish::default(), &workers, Guards::default(), now()) else {
                panic!("somebody is free");
            };
            workers[at].last_used = Some(minutes(i64::try_from(task).unwrap()));
            order.push(at);
        }
        prop_assert_eq!(&order[..count], &order[count..], "each in turn");
    }
}

#[test]
fn a_full_window_of_one_model_blocks_that_model_alone() {
    let full = Window {
        name: "seven_day_opus".into(),
        percent: Some(99.0),
        resets_at: None,
        model: Some("Opus".into()),
        status: None,
        at: now().into(),
    };
    let account = Candidate {
        name: "work".into(),
        kind: Kind::Account,
        anthropic: true,
        tiers: [(Tier::Opus, "claude-opus-4-8".to_owned()), (Tier::Sonnet, "claude-sonnet-5".to_owned())]
            .into(),
        default_tier: Some(Tier::Opus),
        reading: Some(Reading { windows: vec![full], ..Reading::empty(now()) }),
        ..Candidate::default()
    };
    let at = |tier| judge(&Wish { tier: Some(tier), ..Wish::default() }, &account, Guards::default(), now());
    assert!(at(Tier::Opus).is_err());
    assert_eq!(at(Tier::Sonnet), Ok(false));
}

/// What one choice takes is shown by `make bench`, which runs this with its output.
#[test]
#[expect(clippy::print_stdout, reason = "a figure for `make bench`")]
fn the_least_busy_of_a_thousand_is_taken() {
    let workers: Vec<Candidate> = (0..1_000)
        .map(|number| Candidate {
            name: format!("w{number}"),
            tiers: [(Tier::Opus, "m".to_owned())].into(),
            default_tier: Some(Tier::Opus),
            running: (number + 3) % 7,
            ..Candidate::default()
        })
        .collect();
    let fastest = (0..50)
        .map(|_| {
            let start = Instant::now();
            let choice = choose(&Wish::default(), &workers, Guards::default(), now());
            assert_eq!(
                choice,
                Choice::Take { at: 102, billed: false },
                "the first by name of those that rest"
            );
            start.elapsed()
        })
        .min()
        .unwrap();
    println!("one task among 1,000 workers: {} us", fastest.as_micros());
}
