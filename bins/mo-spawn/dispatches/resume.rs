//! `mo-spawn resume`: goes on with a dispatch that has ended: the same worker session, the same flags, a new attempt.

use std::ffi::OsString;

use shared::args::{Flag, Matches};
use shared::dispatches;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::world::World;

use crate::managed;
use crate::options::{Request, Source, Task};

/// Its flags.
pub const FLAGS: &[Flag] = &[
    Flag { long: "json", value: "", about: "the result as one JSON document" },
    Flag { long: "detach", value: "", about: "print the id and go on in the background" },
];

/// What the worker is told when nobody says anything.
const GO_ON: &str = "You were interrupted. Go on where you stopped, and finish the task.";

/// Goes on with it.
pub fn run(world: &World, matches: &Matches) -> Result<Exit> {
    let (_, record) = dispatches::find(&world.paths, matches.operand(0)?)?;
    let mut words: Vec<OsString> = record.asked.iter().map(OsString::from).collect();
    words.extend(["--task", "-", "--continue-from", &record.id].map(OsString::from));
    words.extend(
        FLAGS.iter().filter(|flag| matches.has(flag.long)).map(|flag| format!("--{}", flag.long).into()),
    );
    if let Some(title) = &record.title {
        words.extend(["--title", title].map(OsString::from));
    }
    let Request::Manage(mut task) = Task::parse(words, Some(OsString::from(&record.worker)))? else {
        return Err(Error::new(Exit::Data, "its record does not say how it was asked for"));
    };
    let text = if matches.operands().len() > 1 { matches.operand(1)? } else { GO_ON };
    if text != "-" {
        task.source = Source::Text(text.to_owned());
    }
    managed::run(world, *task)
}
