//! What earlier programs left behind: half-made things of an interrupted one, the shell plugin's ledger.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use shared::clock;
use shared::error::Result;
use shared::ledger::publish;
use shared::paths;
use shared::roster;
use shared::world::World;

use super::line::{Line, Mark};
use super::mending::Mending;

const SUBJECT: &str = "leftovers";
/// How the names of half-made things begin: workers, removed ones, links, files.
const HALF_MADE: [&str; 4] = [".new-", ".trash-", ".bin-", ".mo-"];
/// Nothing of ours takes this long: what is older was interrupted. In seconds.
const OLD: i64 = 3600;

/// Looks for all of them.
pub fn look(world: &World) -> Vec<Line> {
    let found = half_made(world).and_then(|half_made| Ok((half_made, world.paths.usage()?)));
    let (half_made, usage) = match found {
        Ok(found) => found,
        Err(error) => return vec![Line::of_error(Mark::Bad, SUBJECT, &error)],
    };
    let mut lines = Vec::new();
    if !half_made.is_empty() {
        let names: Vec<_> = half_made.iter().map(|path| paths::shown(path, &world.paths)).collect();
        let what = format!("left half-made, maybe with a key inside: {}", names.join(", "));
        lines.push(Line::bad(SUBJECT, what).mend(Mending::Remove(half_made)));
    }
    let ledger = publish::path(&usage);
    if ledger.is_file() && publish::read(&usage).is_none() {
        let place = paths::shown(&ledger, &world.paths);
        let what =
            format!("{place} is not ours, like the earlier plugin's: it is set aside when the ledger counts");
        lines.push(Line::warn(SUBJECT, what).next("`mo-ledger update`"));
    }
    lines
}

/// In the root, in the workers' directories and beside the dispatch records.
fn half_made(world: &World) -> Result<Vec<PathBuf>> {
    let root = world.paths.root()?;
    let workers = roster::read(&world.paths)?.into_iter().map(|entry| root.join(entry.name));
    let directories = workers.filter(|path| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir()));
    let months =
        fs::read_dir(world.paths.dispatch()?).into_iter().flatten().flatten().map(|month| month.path());
    let limit = clock::before(world.clock.now(), OLD);
    let mut found: Vec<_> = std::iter::once(root.to_owned())
        .chain(directories)
        .chain(months)
        .flat_map(|directory| fs::read_dir(directory).into_iter().flatten().flatten())
        .filter(|entry| is_half_made(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .filter(|path| is_older(path, limit))
        .collect();
    found.sort();
    Ok(found)
}

fn is_half_made(name: &str) -> bool {
    HALF_MADE.iter().any(|start| name.starts_with(start))
}

fn is_older(path: &Path, limit: Timestamp) -> bool {
    let changed = fs::symlink_metadata(path).and_then(|meta| meta.modified());
    changed.is_ok_and(|changed| Timestamp::try_from(changed).is_ok_and(|changed| changed < limit))
}

#[cfg(test)]
mod tests {
    use super::is_half_made;

    #[test]
    fn only_our_own_half_made_names_are_taken() {
        for name in [".new-abc", ".trash-x", ".bin-1", ".mo-Zz09"] {
            assert!(is_half_made(name), "{name}");
        }
        for name in [".bin", ".lock", ".usage", "new-worker", ".newer", ".model"] {
            assert!(!is_half_made(name), "{name}");
        }
    }
}
