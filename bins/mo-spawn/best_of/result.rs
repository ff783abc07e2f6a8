//! The result of a contest: the winner's own document, with all that took part beside it.

use serde::Serialize;
use serde_json::Value;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::flatten::paragraphs;
use shared::world::World;

use super::runner::Runner;

/// How one run came out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Place {
    Won,
    Passed,
    Stopped,
    Failed,
}

#[derive(Serialize)]
struct Contest<'a> {
    judge: Option<&'a str>,
    winner: Option<usize>,
    candidates: Vec<Candidate<'a>>,
}

#[derive(Serialize)]
struct Candidate<'a> {
    number: usize,
    worker: &'a str,
    id: &'a str,
    outcome: &'a str,
    score: Option<f64>,
    /// The commit of a branch that was taken away, for who wants it back.
    removed: Option<&'a str>,
    result: Option<Value>,
}

/// All that is told.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// Those that took part.
    pub runners: &'a [Runner],
    /// The number of the best.
    pub winner: Option<usize>,
    /// The judge's command.
    pub judge: Option<&'a str>,
    /// Whether somebody stopped it all.
    pub cancelled: bool,
    /// The branches that were taken away: number and last commit.
    pub removed: &'a [(usize, String)],
}

impl Outcome<'_> {
    /// Tells it, and what that means for our caller.
    pub fn tell(&self, world: &World, json: bool, silent: bool) -> Result<Exit> {
        let best = self.winner.and_then(|winner| self.runners.iter().find(|runner| runner.number == winner));
        let document = best.and_then(|best| best.ended.as_ref()).and_then(|ended| ended.document.as_ref());
        if json {
            let text = serde_json::to_string_pretty(&self.document(document)?)
                .map_err(|error| Error::new(Exit::Bug, "cannot write the result").caused_by(error))?;
            world.say.line(&text)?;
        } else if let Some(summary) = document.and_then(|document| document["summary"].as_str()) {
            world.say.line(&paragraphs(summary, usize::MAX))?;
        }
        if !silent {
            self.aside(world, document);
        }
        Ok(self.exit())
    }

    fn aside(&self, world: &World, document: Option<&Value>) {
        for runner in self.runners {
            let score = runner.score.map(|score| format!(", score {score}")).unwrap_or_default();
            let outcome = self.word(runner);
            world.say.note(&format!("{} {}: {outcome}{score} ({})", runner.number, runner.worker, runner.id));
        }
        match document.and_then(|document| document["merge"].as_str()) {
            Some(merge) => world.say.hint(&format!("take: {merge}")),
            None if self.winner.is_none() => {
                world.say.hint("nobody won, so nothing was taken away: `mo-spawn worktrees` lists the work");
            }
            None => {}
        }
    }

    /// The winner's document, or one that says there is none.
    fn document(&self, best: Option<&Value>) -> Result<Value> {
        let candidates = self.runners.iter().map(|runner| Candidate {
            number: runner.number,
            worker: runner.worker.as_str(),
            id: runner.id.as_str(),
            outcome: self.word(runner),
            score: runner.score,
            removed: self.removed(runner),
            result: self.result(runner),
        });
        let contest = Contest { judge: self.judge, winner: self.winner, candidates: candidates.collect() };
        let contest = serde_json::to_value(contest)
            .map_err(|error| Error::new(Exit::Bug, "cannot write the result").caused_by(error))?;
        let mut document = best.cloned().unwrap_or_else(|| {
            let status =
                if self.cancelled { "cancelled" } else { self.common_status().unwrap_or("check-failed") };
            serde_json::json!({"version": 1, "id": null, "status": status, "summary": null})
        });
        if let Some(fields) = document.as_object_mut() {
            fields.insert("best_of".to_owned(), contest);
        }
        Ok(document)
    }

    /// The last commit of its branch, where that was taken away.
    fn removed(&self, runner: &Runner) -> Option<&str> {
        let removed = self.removed.iter().find(|(number, _)| *number == runner.number);
        removed.map(|(_, tip)| tip.as_str())
    }

    /// Its document, without what is gone.
    fn result(&self, runner: &Runner) -> Option<Value> {
        let mut document = runner.ended.as_ref()?.document.clone()?;
        if self.removed(runner).is_some()
            && let Some(members) = document.as_object_mut()
        {
            for gone in ["branch", "merge", "worktree", "resume"] {
                members.insert(gone.to_owned(), Value::Null);
            }
        }
        Some(document)
    }

    fn word<'r>(&self, runner: &'r Runner) -> &'r str {
        match self.place(runner) {
            Place::Won => "won",
            Place::Passed => "passed",
            Place::Stopped => "stopped",
            Place::Failed => status(runner).unwrap_or("failed"),
        }
    }

    fn place(&self, runner: &Runner) -> Place {
        if self.winner == Some(runner.number) {
            Place::Won
        } else if runner.has_passed() {
            Place::Passed
        } else if status(runner) == Some("cancelled") || runner.is_running() {
            Place::Stopped
        } else {
            Place::Failed
        }
    }

    /// The status that all have in common.
    fn common_status(&self) -> Option<&str> {
        let mut all = self.runners.iter().map(status);
        let first = all.next()?;
        all.all(|other| other == first).then_some(first)?
    }

    fn exit(&self) -> Exit {
        if self.winner.is_some() {
            return Exit::Done;
        }
        if self.cancelled {
            return Exit::Cancelled;
        }
        let mut codes =
            self.runners.iter().filter_map(|runner| runner.ended.as_ref()).map(|ended| ended.code);
        match codes.next() {
            Some(first) if first != 0 && codes.all(|code| code == first) => Exit::Child(first),
            _ => Exit::CouldNot,
        }
    }
}

fn status(runner: &Runner) -> Option<&str> {
    runner.ended.as_ref()?.document.as_ref()?["status"].as_str()
}
