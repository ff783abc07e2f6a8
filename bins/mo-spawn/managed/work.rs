//! The course of the work: baseline, turn, checks, and back again until it is right or nobody wants more of it.

use std::time::{Duration, Instant};

use globset::{Glob, GlobSet, GlobSetBuilder};
use shared::error::{Error, Result};
use shared::event::Kind;
use shared::exit::Exit;
use shared::record::{Check, Status};

use super::check::{LIMIT, Running};
use super::ending::Ending;
use super::engine::{Engine, Step};
use super::prompt;

/// How long is waited for a quota whose reset nobody knows, at first.
const FIRST_WAIT: Duration = Duration::from_secs(60);
/// The longest such wait.
const LONGEST_WAIT: Duration = Duration::from_secs(30 * 60);
/// A provider's clock may differ from ours.
const LATE: Duration = Duration::from_secs(5);

impl Engine<'_> {
    /// Does the task.
    pub fn work(&mut self, task: &str, only: Option<&GlobSet>) -> Ending {
        match self.tried(task, only) {
            Ok(()) => Ending::done(),
            Err(ending) => ending,
        }
    }

    fn tried(&mut self, task: &str, only: Option<&GlobSet>) -> Result<(), Ending> {
        if self.task.baseline {
            self.journal.record.checks = self.checks(true)?;
        }
        let mut text = task.to_owned();
        let mut left = self.task.attempts;
        loop {
            self.journal.attempt();
            self.worked(text)?;
            self.unless_finishing()?;
            let mut checks = self.checks(false)?;
            for (check, before) in checks.iter_mut().zip(&self.journal.record.checks) {
                check.failed_before = before.failed_before;
            }
            let outside = only.map(|only| self.outside(only)).unwrap_or_default();
            let failed = checks.iter().filter(|check| check.exit_code != Some(0)).count();
            self.journal.record.checks = checks;
            let held = std::mem::take(&mut self.held).join("\n\n");
            if failed == 0 && outside.is_empty() {
                if held.is_empty() {
                    return Ok(());
                }
                // Told meanwhile: it is part of the task.
                text = held;
                self.journal.attempted(Status::Done, None);
                continue;
            }
            left = left.saturating_sub(1);
            let ending = self.not_right(failed, &outside);
            if left == 0 {
                return Err(ending);
            }
            self.journal.attempted(Status::CheckFailed, ending.error.map(|error| error.text));
            text = prompt::revision(&self.journal.record.checks, &outside);
            if !held.is_empty() {
                text = format!("{held}\n\n{text}");
            }
        }
    }

    fn not_right(&self, failed: usize, outside: &[String]) -> Ending {
        let mut text = match failed {
            0 => String::new(),
            1 => "a check failed".to_owned(),
            more => format!("{more} checks failed"),
        };
        let checks = self.journal.record.checks.iter().filter(|check| check.exit_code != Some(0));
        for check in checks {
            let before = if check.failed_before == Some(true) { " (as before the work began)" } else { "" };
            text.push_str(&format!(
                "{}`{}`{before}",
                if text.contains('`') { ", " } else { ": " },
                check.command
            ));
        }
        if !outside.is_empty() {
            let also = if failed > 0 { "; " } else { "" };
            text.push_str(&format!("{also}changed files that it may not change: {}", outside.join(", ")));
        }
        Ending::of(Status::CheckFailed, "check", shared::flatten::flatten(&text, 1000))
    }

    /// A turn, and after a used-up quota another one, where that is asked for.
    fn worked(&mut self, text: String) -> Result<(), Ending> {
        let mut said = text;
        let mut wait = FIRST_WAIT;
        loop {
            match self.turn(&said) {
                Err(ending) if ending.status == Status::Quota && self.task.wait_quota => {
                    self.journal.attempted(Status::Quota, ending.error.map(|error| error.text));
                    self.wait(wait)?;
                    wait = (wait * 2).min(LONGEST_WAIT);
                    self.journal.attempt();
                    prompt::GO_ON.clone_into(&mut said);
                }
                other => return other,
            }
        }
    }

    /// Waits until the quota is renewed; that is no time at work.
    fn wait(&mut self, otherwise: Duration) -> Result<(), Ending> {
        self.journal.state(Status::Queued);
        let now = self.clock.now().as_second();
        let known = self.talk.resets_at.take().and_then(|at| u64::try_from(at - now).ok());
        let wait = known.map_or(otherwise, Duration::from_secs) + LATE;
        let rest = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        self.deadline = None;
        let until = Instant::now() + wait;
        while !matches!(self.next(Some(until))?, Step::Due) {}
        self.deadline = rest.map(|rest| Instant::now() + rest);
        self.journal.state(Status::Running);
        Ok(())
    }

    /// Runs the checks, one after the other.
    fn checks(&mut self, before: bool) -> Result<Vec<Check>, Ending> {
        let mut results = Vec::with_capacity(self.task.checks.len());
        for command in self.task.checks.clone() {
            let mut check = self.check(&command)?;
            check.failed_before = before.then_some(check.exit_code != Some(0));
            let exit_code = check.exit_code;
            self.journal.event(Kind::Check { command, exit_code });
            results.push(check);
        }
        Ok(results)
    }

    fn check(&mut self, command: &str) -> Result<Check, Ending> {
        let running = Running::start(command, &self.launch, self.sandbox.as_ref(), &self.inbox)
            .map_err(|error| Ending::of(Status::Failed, "check", error.to_string()))?;
        let until = running.began + LIMIT;
        let mut stopped = false;
        let exit_code = loop {
            match self.next(Some(until)) {
                Ok(Step::Checked(ended)) => break ended.ok().filter(|_| !stopped).map(super::check::code),
                Ok(Step::Due) => {
                    stopped = true;
                    running.kill();
                }
                Ok(Step::Look) => {}
                Err(ending) => {
                    running.kill();
                    return Err(ending);
                }
            }
        };
        Ok(Check {
            command: command.to_owned(),
            exit_code,
            ms: running.began.elapsed().as_millis() as u64,
            tail: running.tail(),
            failed_before: None,
        })
    }

    /// The files that were changed and must not be.
    fn outside(&mut self, only: &GlobSet) -> Vec<String> {
        if let Some(sandbox) = &self.sandbox {
            self.journal.record.notes.extend(sandbox.put_back());
        }
        let changed = self.place.changed().unwrap_or_default();
        let here = changed.iter().map(|path| self.place.relative(path));
        here.filter(|path| !only.is_match(path)).map(str::to_owned).collect()
    }
}

/// The globs of `--files`; nothing where all files may change.
pub fn globs(patterns: &[String]) -> Result<Option<GlobSet>> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let wrong = |error: globset::Error| Error::new(Exit::Usage, "--files is no glob").caused_by(error);
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(Glob::new(pattern.trim_start_matches("./")).map_err(wrong)?);
    }
    set.build().map(Some).map_err(wrong)
}
