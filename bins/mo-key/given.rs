//! How a key is given: piped in, or typed at a prompt that does not show it. Never as an argument.

use std::io::{self, Read};

use shared::args::Matches;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::name::Name;
use shared::secret::{CAP, Secret};
use shared::world::World;
use zeroize::Zeroizing;

/// No name of a worker that people type is as long as this, and every key is longer.
const LONG_NAME: usize = 20;

/// The worker's name. What stands in its place may be a key, and is not repeated then; a second operand can only
/// be one.
pub fn name(world: &World, matches: &Matches) -> Result<Name> {
    if matches.operands().len() > 1 {
        return Err(on_the_command_line("a key must not stand on the command line"));
    }
    let Ok(name) = Name::parse(matches.operand(0)?) else {
        return Err(on_the_command_line(
            "this is no worker's name, and if it is a key, it must not stand here",
        ));
    };
    if name.as_str().len() >= LONG_NAME && !world.paths.worker(name.as_str())?.exists() {
        return Err(on_the_command_line(
            "there is no such worker, and if it is a key, it must not stand here",
        ));
    }
    Ok(name)
}

fn on_the_command_line(what: &str) -> Error {
    Error::new(Exit::Usage, format!("{what}: others can read it there, and your shell keeps it"))
        .hint("if that was a real key, make a new one at the provider; then pipe it in, or run mo-key with the name only")
}

/// What to say when both a command and no key at all are wanted.
pub fn both() -> Error {
    Error::new(Exit::Usage, "--remove and --from-command exclude each other")
}

/// Reads the key: a prompt on a terminal, else standard input to its end.
pub fn key(world: &World, name: &Name) -> Result<Secret> {
    if world.terminal.stdin {
        let prompt = format!("key for {name} (not shown): ");
        let typed = rpassword::prompt_password(prompt)
            .map(Zeroizing::new)
            .map_err(|error| Error::new(Exit::Io, "cannot read from the terminal").caused_by(error))?;
        return Secret::parse(typed.as_bytes());
    }
    // More than a key can hold is refused; white space around it may be longer.
    let mut bytes = Zeroizing::new(Vec::with_capacity(2 * CAP));
    io::stdin()
        .lock()
        .take(2 * CAP as u64)
        .read_to_end(&mut bytes)
        .map_err(|error| Error::new(Exit::Io, "cannot read standard input").caused_by(error))?;
    Secret::parse(&bytes)
}
