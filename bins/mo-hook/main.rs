//! mo-hook: what Claude Code's hooks run, one subcommand an event. It never delays or breaks a session:
//! whatever goes wrong on our side is silence, exit code 0 and one line in a bounded log.

mod answer;
mod call;
mod ended;
mod event;
mod failsafe;
mod help;
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

fn main() -> ExitCode {
    failsafe::arm();
    let word = program::arguments().next().unwrap_or_default();
    let word = word.to_string_lossy();
    match &*word {
        "" | "help" | "-h" | "--help" => return print(help::HELP),
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
        "pre-tool-use" => call::note(world),
        "post-tool-use" | "user-prompt-submit" | "stop" => savings::tell(world),
        _ => Ok(()),
    }
}

fn print(text: &str) -> ExitCode {
    let say = shared::say::Say::new(NAME);
    program::end(say, say.out(text).map(|()| Exit::Done))
}
