//! Tests of the limits, with a clock of their own.

use std::collections::HashSet;
use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;

use super::board::Board;
use super::breaker::{Breaker, Pass, Seen};
use super::gate::{Asked, Gate, Ticket};
use super::health::{Health, Turn};
use super::refusal::{Limit, of_answer, of_event, retry_after};
use super::retry::{Budget, Failed, Verdict, decide};
use super::{Moment, Outcome};
use crate::config::{Breaking, Pace, Retrying};

fn at(seconds: u64) -> Moment {
    Duration::from_secs(seconds)
}

fn settings() -> Breaking {
    Breaking { failures: 3, share: 0.5, window: at(60), open: at(30) }
}

/// Lets one request through and takes it back.
fn one(breaker: &mut Breaker, outcome: Outcome, now: Moment) {
    let pass = breaker.admit(now).unwrap();
    breaker.ended(pass, outcome, now);
}

#[test]
fn failures_open_it_one_try_at_a_time_closes_it() {
    let mut breaker = Breaker::new(settings());
    for second in 0..3 {
        assert_eq!(breaker.seen(at(second)), Seen::Closed);
        one(&mut breaker, Outcome::Failure, at(second));
    }
    assert_eq!((breaker.seen(at(3)), breaker.since()), (Seen::Open, Some(at(2))));
    assert_eq!(breaker.admit(at(3)).unwrap_err(), at(29));
    assert_eq!(breaker.seen(at(32)), Seen::HalfOpen);
    let first = breaker.admit(at(32)).unwrap();
    assert!(breaker.admit(at(32)).is_err() && breaker.admit(at(40)).is_err());
    breaker.ended(first, Outcome::Success, at(41));
    assert_eq!((breaker.seen(at(41)), breaker.since()), (Seen::Closed, None));
    // What was counted before is forgotten.
    one(&mut breaker, Outcome::Failure, at(42));
    assert_eq!(breaker.seen(at(42)), Seen::Closed);
}

#[test]
fn a_try_that_fails_makes_the_pause_longer_and_one_that_is_throttled_says_nothing() {
    let mut breaker = Breaker::new(settings());
    for _ in 0..3 {
        one(&mut breaker, Outcome::Failure, at(0));
    }
    one(&mut breaker, Outcome::Failure, at(30));
    assert_eq!(breaker.admit(at(30)).unwrap_err(), at(60));
    for outcome in [Outcome::Throttled, Outcome::Abandoned] {
        one(&mut breaker, outcome, at(90));
        assert_eq!(breaker.seen(at(90)), Seen::HalfOpen);
    }
    // A try that nobody ended is given up.
    let lost = breaker.admit(at(90)).unwrap();
    assert!(breaker.admit(at(119)).is_err());
    let next = breaker.admit(at(120)).unwrap();
    breaker.ended(lost, Outcome::Failure, at(121));
    breaker.ended(next, Outcome::Success, at(121));
    assert_eq!(breaker.seen(at(121)), Seen::Closed);
}

#[test]
fn throttling_is_no_failure_and_old_failures_are_forgotten() {
    let mut breaker = Breaker::new(settings());
    for second in 0..100 {
        one(&mut breaker, Outcome::of_status(429), at(second));
        one(&mut breaker, Outcome::of_status(529), at(second));
    }
    for minute in 0..10 {
        one(&mut breaker, Outcome::of_status(500), at(100 + minute * 61));
        one(&mut breaker, Outcome::of_status(500), at(100 + minute * 61));
    }
    // Three failures among many successes are no reason.
    for _ in 0..20 {
        one(&mut breaker, Outcome::of_status(400), at(800));
    }
    for _ in 0..5 {
        one(&mut breaker, Outcome::Failure, at(801));
    }
    assert_eq!(breaker.seen(at(801)), Seen::Closed);
}

#[test]
fn requests_that_were_under_way_do_not_push_the_pause() {
    let mut breaker = Breaker::new(settings());
    let late: Vec<Pass> = (0..5).map(|_| breaker.admit(at(0)).unwrap()).collect();
    for _ in 0..3 {
        one(&mut breaker, Outcome::Failure, at(1));
    }
    for pass in late {
        breaker.ended(pass, Outcome::Failure, at(29));
    }
    assert_eq!(breaker.admit(at(30)).unwrap_err(), at(1));
    assert!(breaker.admit(at(31)).is_ok());
}

#[test]
fn a_model_that_does_worse_is_told_once_and_recovers_by_success_or_time() {
    let mut health = Health::default();
    assert_eq!(health.note(Outcome::Failure, at(0)), None);
    assert_eq!(health.note(Outcome::Failure, at(1)), None);
    assert_eq!(health.note(Outcome::Failure, at(2)), Some(Turn::Degraded));
    assert_eq!(health.note(Outcome::Failure, at(3)), None);
    assert!(health.is_degraded(at(4)));
    assert_eq!(health.note(Outcome::Success, at(4)), None);
    assert_eq!(health.note(Outcome::Throttled, at(4)), None);
    assert_eq!(health.note(Outcome::Success, at(5)), Some(Turn::Recovered(at(3))));
    for second in 6..9 {
        health.note(Outcome::Failure, at(second));
    }
    assert!(health.is_degraded(at(9)) && !health.is_degraded(at(200)));
}

#[test]
fn a_chain_asks_the_healthy_first_and_the_broken_last() {
    let mut board = Board::new(settings());
    let places = [("zai", "glm"), ("kimi", "k2"), ("own", "q")];
    let mut fail = |upstream: &str, model: &str, times: usize, outcome: Outcome| {
        for _ in 0..times {
            let pass = board.admit(upstream, model, at(1)).unwrap();
            board.ended(pass, upstream, model, outcome, at(1));
        }
    };
    fail("zai", "glm", 3, Outcome::Failure);
    fail("kimi", "k2", 4, Outcome::Success);
    fail("kimi", "k2", 3, Outcome::Failure);
    assert_eq!(board.order(places.into_iter(), at(2)), [2, 1, 0]);
    assert_eq!(board.order(places.into_iter(), at(1000)), [0, 1, 2]);
    let told = board.told(at(2));
    assert_eq!(
        told.iter().map(|told| (told.breaker, told.degraded)).collect::<Vec<_>>(),
        [(Seen::Closed, true), (Seen::Open, true),]
    );
    // Names that clients make up have an end.
    for number in 0..2000 {
        let pass = board.admit("zai", &format!("m{number}"), at(3)).unwrap();
        board.ended(pass, "zai", &format!("m{number}"), Outcome::Success, at(3));
    }
    assert!(board.told(at(3)).len() <= 512);
}

#[test]
fn a_queue_is_short_fair_and_gives_up_in_time() {
    let pace = Pace { at_once: Some(2), queue: Some(4), wait: Some(at(10)), ..Pace::default() };
    let mut gate = Gate::new(pace);
    assert_eq!((gate.ask(1, at(0)), gate.ask(1, at(0))), (Asked::Go, Asked::Go));
    let mut wait = |session, now| match gate.ask(session, now) {
        Asked::Wait(ticket) => ticket,
        other => panic!("{other:?}"),
    };
    let (first, second, third) = (wait(1, at(0)), wait(1, at(1)), wait(1, at(2)));
    let other = wait(2, at(3));
    assert!(matches!(gate.ask(3, at(3)), Asked::Refused(after) if after == at(1)));
    assert_eq!(gate.ready(at(3)), []);
    gate.done();
    assert_eq!(gate.ready(at(4)), [first]);
    gate.done();
    // The session that waits less is not behind all of the other's.
    assert_eq!(gate.ready(at(4)), [other]);
    gate.leave(second);
    assert_eq!(gate.look_again(at(5)), Some(at(7)));
    assert_eq!((gate.overdue(at(11)), gate.overdue(at(12))), (vec![], vec![third]));
    assert_eq!((gate.queued(), gate.running(), gate.look_again(at(13))), (0, 2, None));
}

#[test]
fn requests_a_minute_are_refilled_by_time() {
    let mut gate = Gate::new(Pace { per_minute: Some(3), queue: Some(1), ..Pace::default() });
    for _ in 0..3 {
        assert_eq!(gate.ask(1, at(0)), Asked::Go);
    }
    let Asked::Wait(ticket) = gate.ask(1, at(0)) else { panic!("it must wait") };
    assert!(matches!(gate.ask(2, at(0)), Asked::Refused(after) if after == at(40)));
    assert_eq!(gate.look_again(at(1)), Some(at(19)));
    assert_eq!(gate.ready(at(19)), []);
    assert_eq!(gate.ready(at(20)), [ticket]);
    let mut free = Gate::new(Pace::default());
    assert!((0..10_000).all(|_| free.ask(1, at(0)) == Asked::Go));
}

fn answered(status: u16) -> Failed {
    Failed::Answered { status, after: None, should: None, quota: false }
}

#[test]
fn only_what_is_safe_and_told_or_allowed_is_tried_again() {
    let settings = Retrying { base: Duration::from_millis(100), longest: at(5), ..Retrying::default() };
    let told = |status, after: Option<u64>, should, quota| Failed::Answered {
        status,
        after: after.map(at),
        should,
        quota,
    };
    let decided = |made, failed| decide(&settings, &mut Budget::default(), made, failed, 0.5);
    for (made, failed, pause) in [
        (1, Failed::Unreached, Some(50)),
        (2, Failed::Unreached, Some(100)),
        (3, Failed::Unreached, None),
        (1, Failed::Unanswered, None),
        (1, answered(503), Some(50)),
        (1, answered(529), Some(50)),
        (1, answered(500), None),
        (1, answered(429), None),
        (1, told(429, Some(2), None, false), Some(2050)),
        (1, told(429, Some(60), None, false), None),
        (1, told(429, Some(2), None, true), None),
        (1, told(529, None, Some(false), false), None),
        (1, told(500, None, Some(true), false), Some(50)),
        (1, answered(400), None),
    ] {
        let verdict = match decided(made, failed) {
            Verdict::Again(pause) => Some(pause.as_millis()),
            Verdict::Enough(_) => None,
        };
        assert_eq!(verdict, pause, "{made} {failed:?}");
    }
}

#[test]
fn tries_never_become_the_load() {
    let settings = Retrying { budget: 0.1, ..Retrying::default() };
    let mut budget = Budget::default();
    let mut tries = 0;
    for _ in 0..1000 {
        budget.paid(&settings);
        if matches!(decide(&settings, &mut budget, 1, answered(529), 1.0), Verdict::Again(_)) {
            tries += 1;
        }
    }
    assert!((100..=105).contains(&tries), "{tries}");
}

#[test]
fn a_plan_that_is_used_up_is_told_from_too_many_requests() {
    let now: Timestamp = "2026-12-01T12:00:00Z".parse().unwrap();
    let reset: Timestamp = "2026-12-01T15:00:00Z".parse().unwrap();
    let reset_text = reset.as_second().to_string();
    let refused = |status: u16, headers: &[(&str, &str)], body: &str| {
        let header = |name: &str| headers.iter().find(|(own, _)| *own == name).map(|(_, value)| *value);
        of_answer(status, header, body.as_bytes(), now)
    };
    let unified = "anthropic-ratelimit-unified-status";
    let reset_name = "anthropic-ratelimit-unified-reset";
    for (status, headers, body, limit) in [
        (
            429,
            &[(unified, "rejected"), (reset_name, reset_text.as_str())][..],
            "",
            Some(Limit::Quota(Some(reset))),
        ),
        // A header decides, whatever is said.
        (
            429,
            &[(unified, "allowed"), ("retry-after", "3")],
            "usage limit",
            Some(Limit::Throttle(Some(at(3)))),
        ),
        (429, &[("retry-after", "3")], "{\"error\":\"slow down\"}", Some(Limit::Throttle(Some(at(3))))),
        (429, &[("retry-after", "10800")], "", Some(Limit::Quota(Some(reset)))),
        (429, &[], "you have reached your weekly usage limit", Some(Limit::Quota(None))),
        (429, &[], "", Some(Limit::Throttle(None))),
        (402, &[], "", Some(Limit::Quota(None))),
        (529, &[], "", Some(Limit::Overloaded)),
        (503, &[("retry-after", "1")], "", Some(Limit::Throttle(Some(at(1))))),
        (503, &[], "", None),
        (400, &[], "quota", None),
    ] {
        assert_eq!(refused(status, headers, body), limit, "{status} {headers:?} {body}");
    }
    for (data, limit) in [
        (
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#,
            Some(Limit::Throttle(None)),
        ),
        (
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"Weekly limit reached"}}"#,
            Some(Limit::Quota(None)),
        ),
        (r#"{"type":"error","error":{"type":"overloaded_error"}}"#, Some(Limit::Overloaded)),
        (r#"{"type":"error","error":{"type":"api_error"}}"#, None),
        (r#"{"type":"message_stop"}"#, None),
        ("{", None),
    ] {
        assert_eq!(of_event(data.as_bytes()), limit, "{data}");
    }
    assert_eq!(retry_after("Tue, 01 Dec 2026 12:00:09 GMT", now), Some(at(9)));
    assert_eq!(retry_after("Tue, 01 Dec 2020 12:00:09 GMT", now), Some(at(0)));
    for text in ["", "-1", "soon", "1.5"] {
        assert_eq!(retry_after(text, now), None, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// However requests come and end: while it is not closed, at most one is under way that was let through since.
    #[test]
    fn no_two_requests_try_at_once(steps in prop::collection::vec((0..8_u64, 0..4_u8), 1..80)) {
        let mut breaker = Breaker::new(settings());
        let (mut now, mut trying) = (0, None);
        for (pause, what) in steps {
            now += pause;
            let closed = breaker.seen(at(now)) == Seen::Closed;
            let Ok(pass) = breaker.admit(at(now)) else { continue };
            if !closed {
                let lone = trying.replace(now).is_none_or(|since| now >= since + 30);
                prop_assert!(lone, "two at {now}");
            }
            if what < 3 {
                let outcome = [Outcome::Success, Outcome::Failure, Outcome::Throttled][what as usize];
                breaker.ended(pass, outcome, at(now));
                trying = None;
            }
        }
    }

    /// However requests come, leave and end: no limit is passed, and nobody is forgotten or let through twice.
    #[test]
    fn a_gate_keeps_its_limits_and_forgets_nobody(
        at_once in prop::option::of(1..4_u64),
        per_minute in prop::option::of(1..30_u64),
        steps in prop::collection::vec((0..3_000_u64, 0..4_u64, 0..5_u8), 1..120),
    ) {
        let mut gate = Gate::new(Pace { at_once, per_minute, queue: Some(10), wait: Some(at(20)) });
        let mut now = Duration::ZERO;
        let (mut running, mut started) = (0_u64, Vec::new());
        let mut waiting: HashSet<Ticket> = HashSet::new();
        for (pause, session, what) in steps {
            now += Duration::from_millis(pause);
            match what {
                0..=2 => match gate.ask(session, now) {
                    Asked::Go => {
                        running += 1;
                        started.push(now);
                    }
                    Asked::Wait(ticket) => prop_assert!(waiting.insert(ticket)),
                    Asked::Refused(after) => prop_assert!(waiting.len() >= 10 && after >= at(1)),
                },
                3 if running > 0 => {
                    gate.done();
                    running -= 1;
                }
                _ => {
                    let first = waiting.iter().min().copied();
                    if let Some(ticket) = first {
                        gate.leave(ticket);
                        waiting.remove(&ticket);
                    }
                }
            }
            for ticket in gate.overdue(now) {
                prop_assert!(waiting.remove(&ticket));
            }
            for ticket in gate.ready(now) {
                prop_assert!(waiting.remove(&ticket));
                running += 1;
                started.push(now);
            }
            prop_assert_eq!((gate.running(), gate.queued()), (running, waiting.len()));
            prop_assert!(at_once.is_none_or(|most| running <= most));
            let lately = started.iter().filter(|then| now.saturating_sub(**then) < at(60)).count() as u64;
            // A full minute saved up, and a minute that passes.
            prop_assert!(per_minute.is_none_or(|most| lately <= 2 * most), "{lately}");
            prop_assert_eq!(gate.look_again(now).is_some(), !waiting.is_empty());
        }
        gate.overdue(now + at(20));
        prop_assert_eq!(gate.queued(), 0);
    }
}
