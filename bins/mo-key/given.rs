//! How a key is given: piped in, or typed at a prompt that does not show it. Never as an argument.

use std::fs;
use std::io::{self, Read};

use shared::args::Matches;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::name::Name;
use shared::redact::ROTATE;
use shared::secret::{CAP, Secret};
use shared::world::World;
use zeroize::Zeroizing;

use crate::prompt;

/// The worker's name. What stands in its place may be a key, and is not repeated unless a worker has that name; a
/// second operand can only be one.
pub fn name(world: &World, matches: &Matches) -> Result<Name> {
    let refused = |what: &str| Err(Error::new(Exit::Usage, what).hint(ROTATE));
    if matches.operands().len() > 1 {
        return refused("a key must not stand on the command line");
    }
    let Ok(name) = Name::parse(matches.operand(0)?) else {
        return refused("this is no worker's name, and if it is a key, it must not stand here");
    };
    if fs::symlink_metadata(world.paths.worker(name.as_str())?).is_err() {
        return refused(
            "there is no such worker (`mo-worker list` shows them), and if it is a key, it must not stand here",
        );
    }
    Ok(name)
}

/// What to say when both a command and no key at all are wanted.
pub fn both() -> Error {
    Error::new(Exit::Usage, "--remove and --from-command exclude each other")
}

/// Reads the key: a prompt on a terminal, else standard input to its end.
pub fn key(world: &World, name: &Name) -> Result<Secret> {
    if world.terminal.stdin {
        return prompt::key(&format!("key for {name} (not shown): "));
    }
    // More than a key can hold is refused; white space around it may be longer.
    let mut bytes = Zeroizing::new(Vec::with_capacity(2 * CAP));
    io::stdin()
        .lock()
        .take(2 * CAP as u64)
        .read_to_end(&mut bytes)
        .map_err(|error| Error::new(Exit::Io, "cannot read standard input").because(&error))?;
    Secret::parse(&bytes)
}
