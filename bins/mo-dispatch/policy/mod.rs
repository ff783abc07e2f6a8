//! `mo-dispatch policy`: shows our texts, and puts the manager's policy into a CLAUDE.md, on request and as a marked
//! block that comes out again without a trace.

mod block;
mod document;

use std::ffi::OsString;

use shared::args::{Command, Flag, Matches, Program, Request};
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::paths;
use shared::policy;
use shared::redact::typed;
use shared::say::Say;
use shared::world::World;

use crate::NAME;
use document::Document;

const FILE: Flag =
    Flag { long: "file", value: "FILE", about: "another file than CLAUDE.md of this directory" };

static PROGRAM: Program = Program {
    name: "mo-dispatch policy",
    about: "the policy of dispatching, for managers without the plugin's skill",
    commands: &[
        Command {
            name: "show",
            operands: "[manager|worker|calibration|frontier]",
            takes: (0, 1),
            about: "print a text: the manager's policy, what every worker is told, what a model is told besides",
            flags: &[],
        },
        Command {
            name: "install",
            operands: "",
            takes: (0, 0),
            about: "put the manager's policy into CLAUDE.md, or replace it there",
            flags: &[FILE],
        },
        Command {
            name: "remove",
            operands: "",
            takes: (0, 0),
            about: "take it out again; every other byte stays",
            flags: &[FILE],
        },
    ],
    flags: &[],
    takes_keys: false,
    more: "",
};

/// Whether the command line begins so.
pub fn takes(word: Option<&OsString>) -> bool {
    word.is_some_and(|word| word == "policy")
}

/// Does it.
pub fn run(say: Say, words: impl IntoIterator<Item = OsString>) -> Result<Exit> {
    let matches = match PROGRAM.parse(words.into_iter().skip(1))? {
        Request::Print(text) => return say.out(&text).map(|()| Exit::Done),
        Request::Run(matches) => matches,
    };
    let world = World::of_process(NAME)?;
    match matches.command() {
        "show" => show(&world, matches.operand(0).unwrap_or("manager")),
        "install" => install(&world, &matches),
        _ => remove(&world, &matches),
    }
}

fn show(world: &World, which: &str) -> Result<Exit> {
    let text = match which {
        "manager" => policy::manager(),
        "worker" => policy::WORKER,
        "calibration" => policy::calibration(false),
        "frontier" => policy::calibration(true),
        other => {
            return Err(Error::new(Exit::Usage, format!("there is no text `{}`", typed(other)))
                .hint("the texts are manager, worker, calibration and frontier"));
        }
    };
    world.say.out(text)?;
    Ok(Exit::Done)
}

fn install(world: &World, matches: &Matches) -> Result<Exit> {
    let (document, shown) = open(world, matches)?;
    let text = block::put(document.text(), policy::manager()).map_err(|why| document.broken(&why))?;
    if document.text() == Some(&text) {
        world.say.note(&format!("{shown} holds the policy already"));
    } else {
        document.write(&text)?;
        world
            .say
            .note(&format!("the policy stands in {shown} now; `mo-dispatch policy remove` takes it out"));
    }
    Ok(Exit::Done)
}

fn remove(world: &World, matches: &Matches) -> Result<Exit> {
    let (document, shown) = open(world, matches)?;
    let taken = block::take(document.text().unwrap_or_default()).map_err(|why| document.broken(&why))?;
    match taken {
        None => world.say.note(&format!("{shown} holds no policy of ours")),
        Some(taken) => {
            if taken.is_nothing {
                document.remove()?;
            } else {
                document.write(&taken.text)?;
            }
            world.say.note(&format!("took the policy out of {shown}"));
        }
    }
    Ok(Exit::Done)
}

/// The file, held for a change, and its name as it is shown.
fn open(world: &World, matches: &Matches) -> Result<(Document, String)> {
    let path = world.cwd().join(matches.value("file").unwrap_or("CLAUDE.md"));
    Ok((Document::open(world, &path)?, paths::shown(&path, &world.paths)))
}
