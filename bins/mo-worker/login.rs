//! Logs an account in: Claude Code's own login, in the account's own directory. We see nothing of it.

use std::process::Command;

use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::name::Name;
use shared::worker::Worker;
use shared::world::World;
use shared::{accounts, login, sibling};

/// Runs the login and tells how it stands afterwards.
pub fn run(world: &World, name: &Name) -> Result<Exit> {
    let worker = Worker::load(&world.paths, name)?;
    if !worker.is_account() {
        return Err(Error::new(
            Exit::Usage,
            format!("worker `{name}` is no account: it has a key, not a login"),
        )
        .hint(format!("`mo-key {name}` stores its key")));
    }
    accounts::refuse(&world.paths, &worker)?;
    let spawn = sibling::find("mo-spawn").ok_or_else(|| {
        Error::new(Exit::Config, "mo-spawn is not beside mo-worker")
            .hint("install the programs again, all into one folder")
    })?;
    let status = Command::new(&spawn)
        .args([name.as_str(), "auth", "login"])
        .status()
        .map_err(|error| Error::io("cannot run", &spawn, &error))?;
    let login = login::ask(world, &worker)?;
    world.say.note(&format!("worker `{name}`: {}", login.text()));
    if login.is_in {
        world.say.hint(&format!("`mo-worker check {name}` proves it with one real answer"));
        return Ok(Exit::Done);
    }
    let why = if status.success() { "" } else { ": Claude Code's login failed" };
    Err(Error::new(Exit::Key, format!("worker `{name}` is not logged in{why}"))
        .hint(format!("try `mo-worker login {name}` again")))
}

/// How the account's login stands, where it is known; refuses one that is logged out.
pub fn refuse_out(world: &World, worker: &Worker) -> Result<()> {
    if !worker.is_account() || login::ask(world, worker)?.is_in {
        return Ok(());
    }
    Err(Error::new(Exit::Key, format!("worker `{}` is not logged in", worker.name))
        .hint(format!("`mo-worker login {}` logs it in", worker.name)))
}
