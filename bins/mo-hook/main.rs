//! mo-hook: what Claude Code's hooks run, one subcommand an event. It never delays or breaks a session:
//! whatever goes wrong on our side is silence, exit code 0 and one line in a bounded log.

mod answer;
mod ended;
mod event;
mod failsafe;
mod inventory;
mod log;
mod rules;
mod savings;
mod session_start;

use std::process::ExitCode;

use shared::error::Result;
use shared::exit::Exit;
use shared::program;
use shared::world::World;

const NAME: &str = "mo-hook";

const HELP: &str = "\
mo-hook - what Claude Code's hooks run; reads the event on standard input

usage:
  mo-hook session-start       delegation rules, the inventory of workers, what they have done so far
  mo-hook post-tool-use       what the workers did of this session's work, when a dispatch has ended
  mo-hook user-prompt-submit  the same, for dispatches that ran in the background
  mo-hook stop                the same

An event it does not know is nobody's business: nothing is printed, exit code 0.
Off: MODEL_ORCHESTRATION_DELEGATION=off (rules), MODEL_ORCHESTRATION_SAVINGS=off (savings).
Trouble of its own goes to $CLAUDE_WORKERS_ROOT/.log/hook.log.
";

fn main() -> ExitCode {
    failsafe::arm();
    let word = program::arguments().next().unwrap_or_default();
    let word = word.to_string_lossy();
    match &*word {
        "" | "help" | "-h" | "--help" => return print(HELP),
        "-V" | "--version" => return print(concat!("mo-hook ", env!("CARGO_PKG_VERSION"), "\n")),
        _ => {}
    }
    if let Ok(world) = World::of_process(NAME)
        && let Err(error) = run(&world, &word)
    {
        log::note(&world, &word, &error);
    }
    Exit::Done.into()
}

fn run(world: &World, subcommand: &str) -> Result<()> {
    match subcommand {
        "session-start" => session_start::run(world),
        "post-tool-use" | "user-prompt-submit" | "stop" => savings::tell(world),
        _ => Ok(()),
    }
}

fn print(text: &str) -> ExitCode {
    let say = shared::say::Say::new(NAME);
    program::end(say, say.out(text).map(|()| Exit::Done))
}
