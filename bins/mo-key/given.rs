//! How a key is given: piped in, or typed at a prompt that does not show it. Never as an argument.

use std::io::{self, Read};

use shared::args::Matches;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::name::Name;
use shared::secret::{CAP, Secret};
use shared::world::World;
use zeroize::Zeroizing;

/// A second operand can only be a key.
pub fn refuse_arguments(matches: &Matches) -> Result<()> {
    if matches.operands().len() < 2 {
        return Ok(());
    }
    Err(Error::new(Exit::Usage, "a key must not stand on the command line: others can read it there, and your shell keeps it")
        .hint("if that was a real key, make a new one at the provider; then pipe it in, or run mo-key with the name only"))
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
