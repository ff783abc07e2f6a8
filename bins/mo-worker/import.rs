//! Finds accounts that are logged in already, in `~/.claude-*`, and makes a worker of each.

use std::fs;
use std::path::{Path, PathBuf};

use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::file;
use shared::lock::{self, Lock};
use shared::name::Name;
use shared::world::World;
use shared::{accounts, paths};

use crate::account::{self, Account};
use crate::create;

/// How the names of other accounts' directories begin.
const PREFIX: &str = ".claude-";
/// The default place of the workers, which is ours and never an account.
const OURS: &str = ".claude-workers";

/// Imports what there is.
pub fn run(world: &World) -> Result<Exit> {
    let home = world.paths.home()?;
    file::create_private_dir(world.paths.root()?)?;
    let _lock = Lock::acquire(&world.paths.workers_lock()?, lock::PATIENCE)?;
    let mut made = 0;
    let mut failed = None;
    for directory in candidates(world, home)? {
        let shown = paths::shown(&directory, &world.paths);
        if let Some(owner) = account::owner(world, &directory)? {
            world.say.line(&format!("{shown}: is worker `{owner}` already"))?;
        } else if !account::holds_login(world, &directory) {
            world.say.line(&format!("{shown}: holds no login, left out"))?;
        } else {
            let name = free_name(world, &directory)?;
            let account = Account { directory, tier: None, base_url: None, max_parallel: None };
            match account.make(world, &name) {
                Ok(_) => {
                    made += 1;
                    world.say.line(&format!("{shown}: is worker `{name}` now"))?;
                }
                Err(error) => failed = Some(error),
            }
        }
    }
    if let Some(error) = failed {
        return Err(error);
    }
    if made == 0 {
        world.say.note("found no account to import");
        world.say.hint("`mo-worker create NAME --account` makes one, `mo-worker login NAME` logs it in");
        return Ok(Exit::Done);
    }
    create::link(world)?;
    if !accounts::several(&world.paths)? {
        world.say.note("several accounts are off");
        world.say.hint("`mo-worker accounts on` turns them on, and says what to consider before");
    }
    Ok(Exit::Done)
}

/// Real directories of ours whose names begin as an account's, by name.
fn candidates(world: &World, home: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(home).map_err(|error| Error::io("cannot read", home, &error))?;
    let root = world.paths.root()?;
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX))
        .filter(|entry| entry.file_name() != OURS && entry.path() != root)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .filter(|path| file::refuse_foreign(path).is_ok())
        .collect();
    found.sort();
    Ok(found)
}

/// A legal name that nobody has yet, as near to the directory's as can be.
fn free_name(world: &World, directory: &Path) -> Result<Name> {
    let stem = directory.file_name().unwrap_or_default().to_string_lossy();
    let stem = legal(stem.strip_prefix(PREFIX).unwrap_or_default());
    let names = std::iter::once(stem.clone())
        .chain(std::iter::once(format!("{stem}-account")))
        .chain((2..100).map(|number| format!("{stem}-{number}")));
    for name in names.filter_map(|name| Name::parse(&name).ok()) {
        if fs::symlink_metadata(world.paths.worker(name.as_str())?).is_err() {
            return Ok(name);
        }
    }
    Err(Error::new(Exit::CouldNot, "no name is free for").at(directory).hint(format!(
        "`mo-worker create NAME --account --config-dir {}` takes the name you choose",
        directory.display()
    )))
}

/// The letters that a name may have; what has none is an account.
fn legal(stem: &str) -> String {
    let mut name = String::new();
    for letter in stem.to_lowercase().chars() {
        match letter {
            'a'..='z' | '0'..='9' => name.push(letter),
            _ if name.is_empty() || name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    name.truncate(48);
    let name = name.trim_end_matches('-');
    if name.is_empty() { "account".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::legal;

    #[test]
    fn a_directorys_name_becomes_a_legal_one() {
        for (stem, name) in
            [("Work", "work"), ("my.Team_2", "my-team-2"), ("--x--", "x"), ("ä", "account"), ("", "account")]
        {
            assert_eq!(legal(stem), name, "{stem}");
        }
        assert_eq!(legal(&"a".repeat(200)).len(), 48);
    }
}
