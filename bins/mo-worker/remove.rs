//! Removes a worker with its key and its history, after saying what will be lost.

use std::fs;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use shared::args::{Flag, Matches};
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::file;
use shared::lock::{self, Lock};
use shared::name::Name;
use shared::worker::Worker;
use shared::world::World;
use shared::{paths, sibling, usage};

use crate::{account, running, trash};

/// The flags of `remove`.
pub const FLAGS: &[Flag] = &[
    Flag { long: "yes", value: "", about: "do not ask" },
    Flag {
        long: "with-login",
        value: "",
        about: "an account's directory too, with its login and history, where `create` made it",
    },
];

const NOT_OURS: &str =
    "a symlink or another user's directory is not ours to empty: remove it yourself, with `rm`";

/// Removes the worker.
pub fn run(world: &World, name: &Name, matches: &Matches) -> Result<Exit> {
    let yes = matches.has("yes");
    let place = world.paths.worker(name.as_str())?;
    let login = if matches.has("with-login") { Some(login(world, name)?) } else { None };
    let projects = match Worker::load(&world.paths, name) {
        Err(_) if fs::symlink_metadata(&place).is_ok_and(|meta| meta.is_symlink()) => place.join("projects"),
        Ok(worker) => worker.projects(),
        // A broken worker can be removed too, as long as it is a directory of ours.
        Err(error) if fs::symlink_metadata(&place).is_ok_and(|meta| meta.is_dir()) => {
            world.say.error(&error);
            place.join("projects")
        }
        Err(error) => return Err(error),
    };
    file::refuse_foreign(&place).map_err(|error| error.hint(NOT_OURS))?;
    running::refuse(world, name, &projects)?;
    if !yes && !world.terminal.stdin {
        return Err(Error::new(Exit::Usage, format!("removing worker `{name}` needs a yes"))
            .hint("say --yes: there is no terminal to ask on"));
    }
    let (count, bytes) = transcripts(&projects);
    // An account's transcripts lie elsewhere, and stay unless its directory goes too.
    let lost = (login.is_some() || projects.starts_with(&place)) && count > 0;
    let counted = lost && count_tokens(world);
    let gone: Vec<&Path> = std::iter::once(place.as_path()).chain(login.as_deref()).collect();
    if !yes && !confirmed(world, &gone, lost.then_some((count, bytes, counted)))? {
        world.say.note("nothing was removed");
        return Ok(Exit::CouldNot);
    }
    let _lock = Lock::acquire(&world.paths.workers_lock()?, lock::PATIENCE)?;
    running::refuse(world, name, &projects)?;
    trash::discard(world, &place)?;
    usage::forget(&world.paths, name)?;
    if let Some(login) = &login {
        trash::discard(world, login)?;
    }
    world.say.note(&format!("removed worker `{name}`"));
    Ok(Exit::Done)
}

/// The account's directory, where it is ours to remove: only one that we made.
fn login(world: &World, name: &Name) -> Result<PathBuf> {
    let worker = Worker::load(&world.paths, name)?;
    let refused = |why: &str| {
        let what = format!("the directory of worker `{name}` {why}");
        Err(Error::new(Exit::Usage, what)
            .hint("leave --with-login out: the worker goes, its directory stays"))
    };
    let Some(directory) = worker.profile.config_dir.clone().filter(|_| worker.is_account()) else {
        return refused("holds no login: it is no account");
    };
    if !worker.profile.made_config_dir || worker.config_dir(&world.paths).is_none() {
        return refused("was not made by us, and is not ours to remove");
    }
    file::refuse_foreign(&directory).map_err(|error| error.hint(NOT_OURS))?;
    if account::owners(world, &directory)? > 1 {
        return refused("is another worker's too");
    }
    Ok(directory)
}

fn confirmed(world: &World, gone: &[&Path], lost: Option<(usize, u64, bool)>) -> Result<bool> {
    let gone: Vec<String> = gone.iter().map(|place| paths::shown(place, &world.paths)).collect();
    let mut question = format!("This removes {} with its key and settings", gone.join(" and "));
    if let Some((count, bytes, counted)) = lost {
        let ledger =
            if counted { "their tokens stay in the ledger" } else { "the ledger has NOT counted them" };
        question
            .push_str(&format!(",\nand {count} transcripts ({} MB; {ledger})", bytes.div_ceil(1_000_000)));
    }
    world.say.aside(&format!("{question}.\nRemove it? [y/N] "));
    let mut answer = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|error| Error::new(Exit::Io, "cannot read the answer").because(&error))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes" | "Yes" | "YES"))
}

/// Lets the ledger count what is about to go; tells whether it did.
fn count_tokens(world: &World) -> bool {
    let Some(ledger) = sibling::find("mo-ledger") else { return false };
    let run = Command::new(ledger)
        .arg("update")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    run.is_ok_and(|status| status.success()) && world.paths.usage().is_ok_and(|usage| usage.is_dir())
}

fn transcripts(projects: &Path) -> (usize, u64) {
    let (mut count, mut bytes) = (0, 0);
    let mut folders = vec![projects.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() && entry.path().extension().is_some_and(|it| it == "jsonl") => {
                    count += 1;
                    bytes += entry.metadata().map_or(0, |meta| meta.len());
                }
                _ => {}
            }
        }
    }
    (count, bytes)
}
