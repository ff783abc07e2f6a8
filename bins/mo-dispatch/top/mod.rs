//! `mo-dispatch top`: workers, what they have left, what is at work, and today's money, on a page that stays up to date.
//! It only looks: nothing is asked of an account, nobody is signalled, no record is changed.

mod page;
mod picture;
mod tasks;
mod workers;

use std::ffi::OsString;

use shared::args::{Command, Flag, Program, Request};
use shared::error::Result;
use shared::exit::Exit;
use shared::json_text;
use shared::say::Say;
use shared::screen::Screen;
use shared::world::World;

use crate::NAME;
use picture::Picture;

static PROGRAM: Program = Program {
    name: "mo-dispatch top",
    about: "workers, their plans, what is at work, today's money",
    commands: &[Command {
        name: "",
        operands: "",
        takes: (0, 0),
        about: "workers, their plans, what is at work, today's money",
        flags: &[],
    }],
    flags: &[
        Flag { long: "json", value: "", about: "once, as one JSON document" },
        Flag { long: "once", value: "", about: "print the page once" },
    ],
    takes_keys: false,
    more: "On a terminal the page stays up to date until q or Ctrl-C; into a pipe it is printed once.",
};

/// Whether the command line begins so.
pub fn takes(word: Option<&OsString>) -> bool {
    word.is_some_and(|word| word == "top")
}

/// Shows it.
pub fn run(say: Say, words: impl IntoIterator<Item = OsString>) -> Result<Exit> {
    let matches = match PROGRAM.parse(words.into_iter().skip(1))? {
        Request::Print(text) => return say.out(&text).map(|()| Exit::Done),
        Request::Run(matches) => matches,
    };
    let world = World::of_process(NAME)?;
    if matches.has("json") {
        world.say.line(&json_text::pretty(&Picture::take(&world)?)?)?;
    } else if matches.has("once") || !world.terminal.stdout || !world.terminal.stdin {
        let columns = shared::terminal::columns().unwrap_or(120);
        world.say.out(&page::of(&Picture::take(&world)?, columns, world.colour()))?;
    } else {
        watch(&world)?;
    }
    Ok(Exit::Done)
}

fn watch(world: &World) -> Result<()> {
    let screen = Screen::enter(world, "`mo-dispatch top --once` prints the page once")?;
    loop {
        // The size is asked for at every look: a terminal changes it while we watch.
        let (columns, _) = Screen::size();
        let picture = Picture::take(world)?;
        screen.draw(&format!("{}\nq ends\n", page::of(&picture, columns, false)))?;
        if screen.is_over() {
            return Ok(());
        }
    }
}
