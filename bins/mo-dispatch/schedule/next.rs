//! What follows the end of a run: the task is over, or it moves on to another worker, with its history or without.

use jiff::{SignedDuration, Timestamp};
use shared::api_error::Trouble;
use shared::record::Status;

use super::candidate::Candidate;

/// How a run ended, as far as it matters here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ended {
    /// Its status.
    pub status: Option<Status>,
    /// What kind of failure: `key`, `quota`, `overloaded`, …
    pub failure: Option<String>,
    /// When the refused plan begins anew, where the refusal said so.
    pub resets_at: Option<Timestamp>,
    /// The worker had no place left: nothing was run.
    pub no_place: bool,
    /// Stopped by a money guard.
    pub guarded: bool,
    /// Stopped because its caller wanted it.
    pub cancelled: bool,
}

/// What follows.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// The task is over.
    Over,
    /// The same again when there is a place: nothing was run.
    Again,
    /// Another worker goes on; this one refuses work until then.
    Elsewhere {
        /// Until when the worker gets nothing, where its refusal is about more than this task.
        cooling_until: Option<Timestamp>,
    },
}

/// Decides what follows. `cooldown` is how long a worker rests whose refusal does not say.
pub fn next(ended: &Ended, cooldown: SignedDuration, now: Timestamp) -> Next {
    if ended.cancelled {
        return Next::Over;
    }
    if ended.no_place {
        return Next::Again;
    }
    let reset = || {
        let reset = ended.resets_at.filter(|at| *at > now);
        reset.or_else(|| now.checked_add(cooldown).ok())
    };
    match (ended.status, ended.failure.as_deref()) {
        (Some(Status::Quota), _) | (_, Some("quota")) => Next::Elsewhere { cooling_until: reset() },
        _ if ended.guarded => Next::Elsewhere { cooling_until: reset() },
        // Not this worker's plan but its key, its login or its provider: others may do better, it need not rest.
        (Some(Status::Failed), Some(kind)) if Trouble::named(kind).is_some_and(Trouble::is_the_providers) => {
            Next::Elsewhere { cooling_until: None }
        }
        _ => Next::Over,
    }
}

/// Whether a session that one worker began can go on at another: the same kind of worker, and the same models behind
/// it. Elsewhere its history would be refused (signed thinking) or misread, so the task begins anew in the same tree.
pub fn resumes(from: &Candidate, to: &Candidate) -> bool {
    from.kind == to.kind && from.provider == to.provider
}

#[cfg(test)]
mod tests {
    use super::*;

    const COOLDOWN: SignedDuration = SignedDuration::from_mins(30);

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_refused_plan_cools_until_its_own_reset() {
        let now = at("2026-01-01T00:00:00Z");
        let refused = |resets_at| Ended { status: Some(Status::Quota), resets_at, ..Ended::default() };
        let until = |ended: &Ended| match next(ended, COOLDOWN, now) {
            Next::Elsewhere { cooling_until } => cooling_until.unwrap(),
            other => panic!("{other:?}"),
        };
        assert_eq!(until(&refused(Some(at("2026-01-01T03:00:00Z")))), at("2026-01-01T03:00:00Z"));
        assert_eq!(until(&refused(None)), at("2026-01-01T00:30:00Z"));
        // A reset that has passed says nothing any more.
        assert_eq!(until(&refused(Some(at("2025-01-01T00:00:00Z")))), at("2026-01-01T00:30:00Z"));
    }

    #[test]
    fn only_refusals_move_a_task_on() {
        let now = at("2026-01-01T00:00:00Z");
        let ended = |status, failure: Option<&str>| Ended {
            status: Some(status),
            failure: failure.map(str::to_owned),
            ..Ended::default()
        };
        let follows = |ended: &Ended| next(ended, COOLDOWN, now);
        for status in [Status::Done, Status::Denied, Status::CheckFailed, Status::OverBudget, Status::Timeout]
        {
            assert_eq!(follows(&ended(status, None)), Next::Over, "{status:?}");
        }
        // The task's own fault, or nobody's that can be told.
        for kind in ["model", "request", "exit", "start", "timeout"] {
            assert_eq!(follows(&ended(Status::Failed, Some(kind))), Next::Over, "{kind}");
        }
        let moved = Next::Elsewhere { cooling_until: None };
        for kind in ["key", "overloaded", "provider", "unreachable", "url"] {
            assert_eq!(follows(&ended(Status::Failed, Some(kind))), moved, "{kind}");
        }
        assert_eq!(follows(&Ended { no_place: true, ..Ended::default() }), Next::Again);
        let cancelled = Ended { cancelled: true, ..ended(Status::Quota, None) };
        assert_eq!(follows(&cancelled), Next::Over, "nobody wants it any more");
        let guarded = Ended { guarded: true, ..ended(Status::Cancelled, None) };
        assert!(matches!(follows(&guarded), Next::Elsewhere { cooling_until: Some(_) }));
    }
}
