//! mo-spawn: one task on one worker: launch Claude Code as that worker, pass everything through, leave a record.

mod best_of;
mod dispatches;
mod explain;
mod foreign;
mod journal;
mod keeper;
mod launch;
mod managed;
mod model;
mod options;
mod policy;
mod redirect;
mod roles;
mod sandbox;
mod sitting;
mod slot;
mod supervise;
mod usage;
mod verdict;
mod worktree;

use std::process::ExitCode;

use shared::error::Result;
use shared::exit::Exit;
use shared::program;
use shared::say::Say;
use shared::world::World;

use crate::options::Request;

fn main() -> ExitCode {
    let say = Say::new(options::NAME);
    keeper::entered(say).or_else(|| sandbox::entered(say)).unwrap_or_else(|| program::end(say, run(say)))
}

fn run(say: Say) -> Result<Exit> {
    let words: Vec<_> = program::arguments().collect();
    if dispatches::takes(words.first()) {
        return dispatches::run(say, words);
    }
    if roles::takes(words.first()) {
        return roles::run(say, words);
    }
    if usage::takes(&words) {
        return usage::run(say, words);
    }
    match Request::parse(words)? {
        Request::Print(text) => say.out(&text).map(|()| Exit::Done),
        Request::Explain(options) => launch::then(&options, explain::print),
        Request::Run(options) => launch::then(&options, supervise::run),
        Request::Manage(task) => managed::run(&World::of_process(options::NAME)?, *task),
    }
}
