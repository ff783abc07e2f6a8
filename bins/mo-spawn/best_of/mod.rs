//! Best of N: the same task by several runs side by side, each in a tree of its own and checked; the first that
//! passes wins, or with a judge the best of those that pass. The others are stopped, and their branches go.

mod field;
mod judge;
mod result;
mod runner;

use std::ffi::OsString;
use std::io::Write;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use shared::child_env::{self, ChildEnv};
use shared::dispatch_id::DispatchId;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::sibling;
use shared::worker::Worker;
use shared::world::World;

use crate::launch;
use crate::managed::{gate, inbox, prompt};
use crate::options::{Progress, Task};
use crate::worktree;

pub use field::Field;
use result::Outcome;
use runner::{Ended, Runner};

/// How long a run that was let go may take to end everything it started.
const LETTING_GO: Duration = Duration::from_secs(30);

/// Something that happened.
#[derive(Debug)]
pub enum Happened {
    /// A run ended.
    Ended(usize, Ended),
    /// Somebody wants us to end.
    Stop,
}

/// Runs the contest to its end.
pub fn run(world: &World, task: &Task, field: &Field) -> Result<Exit> {
    let program = sibling::find("mo-spawn")
        .ok_or_else(|| Error::new(Exit::Config, "cannot find mo-spawn beside itself"))?;
    // All of them must be there before the first one starts.
    let workers = field.workers().iter().map(|name| Worker::load(&world.paths, name));
    let workers = workers.collect::<Result<Vec<_>>>()?;
    let base = task.worktree.as_deref().filter(|base| !base.is_empty());
    worktree::can_be_made(world, &world.cwd(), base)?;
    let text = prompt::read(&task.source)?;
    let mut file = tempfile::Builder::new()
        .prefix("mo-task-")
        .tempfile()
        .map_err(|error| Error::new(Exit::Io, "cannot write a temporary file").because(&error))?;
    file.write_all(text.as_bytes()).map_err(|error| Error::io("cannot write", file.path(), &error))?;
    let mut words = task.shared_words();
    words.extend(["--task".into(), file.path().into()]);
    let (sender, happened) = mpsc::channel();
    listen(task, &sender)?;
    let silent = task.progress == Some(Progress::None);
    let shown = (!silent).then_some(world.say);
    let mut runners: Vec<Runner> = Vec::with_capacity(workers.len());
    for (number, worker) in (1..).zip(&workers) {
        let id = DispatchId::new(world.clock.now());
        let mut words = words.clone();
        words.extend(title(task, number, workers.len()));
        match Runner::start(&program, &words, number, &worker.name, id, shown, &sender) {
            Ok(runner) => runners.push(runner),
            Err(error) => {
                runners.iter_mut().for_each(Runner::stop);
                settle(&mut runners, &happened);
                return Err(error);
            }
        }
    }
    let (first, cancelled) = race(&mut runners, &happened, task.judge.is_some());
    runners.iter_mut().for_each(Runner::stop);
    settle(&mut runners, &happened);
    let winner = match (&task.judge, first) {
        (Some(judge), _) if !cancelled => judged(world, judge, &mut runners, &workers)?,
        (_, first) => first,
    };
    let removed = match winner {
        Some(winner) => clean(world, &runners, winner),
        None => Vec::new(),
    };
    let judge = task.judge.as_deref();
    let outcome = Outcome { runners: &runners, winner, judge, cancelled, removed: &removed };
    outcome.tell(world, task.json, silent)
}

fn title(task: &Task, number: usize, of: usize) -> [OsString; 2] {
    let title = task.title.as_deref().unwrap_or("best of");
    ["--title".into(), format!("{title} ({number} of {of})").into()]
}

/// Signals, and the end of whoever we are tied to.
fn listen(task: &Task, happened: &Sender<Happened>) -> Result<()> {
    let (sender, inputs) = inbox::open();
    inbox::watch_signals(&sender)?;
    if task.tied {
        gate::tie(&sender, task.source != crate::options::Source::Stdin)?;
    }
    let happened = happened.clone();
    thread::spawn(move || {
        // It lives as long as we do, so that nothing closes the inbox.
        let _open = sender;
        while inputs.recv().is_ok() && happened.send(Happened::Stop).is_ok() {}
    });
    Ok(())
}

/// Waits for the first that passes, or with a judge for all. Tells its number, and whether somebody stopped it.
fn race(runners: &mut [Runner], happened: &Receiver<Happened>, all: bool) -> (Option<usize>, bool) {
    while runners.iter().any(Runner::is_running) {
        match happened.recv() {
            Ok(Happened::Ended(number, ended)) => {
                let Some(runner) = runners.iter_mut().find(|runner| runner.number == number) else {
                    continue;
                };
                runner.ended = Some(ended);
                if runner.has_passed() && !all {
                    return (Some(number), false);
                }
            }
            Ok(Happened::Stop) => return (None, true),
            Err(_) => break,
        }
    }
    (None, false)
}

/// Waits until all that were let go have ended; reminds those that take long.
fn settle(runners: &mut [Runner], happened: &Receiver<Happened>) {
    let mut reminded = false;
    while runners.iter().any(Runner::is_running) {
        match happened.recv_timeout(LETTING_GO) {
            Ok(Happened::Ended(number, ended)) => {
                if let Some(runner) = runners.iter_mut().find(|runner| runner.number == number) {
                    runner.ended = Some(ended);
                }
            }
            // Whoever asks twice wants it now: the cord is cut already, each run ends as fast as it can.
            Ok(Happened::Stop) => {}
            Err(RecvTimeoutError::Timeout) if !reminded => {
                reminded = true;
                runners.iter().filter(|runner| runner.is_running()).for_each(Runner::terminate);
            }
            Err(_) => return,
        }
    }
}

/// Asks the judge about each that passed; the best one's number, of equals the first.
fn judged(world: &World, judge: &str, runners: &mut [Runner], workers: &[Worker]) -> Result<Option<usize>> {
    let mut best: Option<(usize, f64)> = None;
    for (runner, worker) in runners.iter_mut().zip(workers).filter(|(runner, _)| runner.has_passed()) {
        let Some(directory) = worktree::workdir(world, &runner.id)? else { continue };
        let env = ChildEnv::of(
            &world.env,
            worker,
            &world.paths,
            &child_env::Launch {
                key: None,
                foreign_keys: &launch::all_keys(world),
                model: None,
                dispatch: Some(&runner.id),
                retries: None,
                foreign_agents: false,
            },
        );
        runner.score = judge::score(judge, &directory, &env)?;
        let better = runner.score.filter(|score| best.is_none_or(|(_, best)| *score > best));
        best = better.map(|score| (runner.number, score)).or(best);
    }
    if best.is_none() && runners.iter().any(Runner::has_passed) {
        world.say.note("the judge gave no score: it must succeed and print a number");
    }
    Ok(best.map(|(number, _)| number))
}

/// Takes away the trees and branches of all but the winner.
fn clean(world: &World, runners: &[Runner], winner: usize) -> Vec<(usize, String)> {
    let mut removed = Vec::new();
    for runner in runners.iter().filter(|runner| runner.number != winner && !runner.is_running()) {
        match worktree::discard(world, &runner.id) {
            Ok(tip) => removed.extend(tip.map(|tip| (runner.number, tip))),
            Err(error) => world.say.error(&error),
        }
    }
    removed
}
