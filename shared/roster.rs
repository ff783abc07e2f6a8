//! All workers under the root, each read on its own: a broken one is named and never hides the others.

use std::fs;
use std::io;

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::name::Name;
use crate::paths::Paths;
use crate::worker::{SETTINGS, Worker};

/// One directory under the root: a worker, or what is wrong with it.
#[derive(Debug)]
pub struct Entry {
    /// The directory's name.
    pub name: String,
    /// The worker in it.
    pub worker: Result<Worker>,
}

/// All workers, by name. A root that is not there has none.
pub fn read(paths: &Paths) -> Result<Vec<Entry>> {
    let root = paths.root()?;
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("cannot read", root, &error)),
    };
    let mut roster = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        // Our own directories begin with a dot; files are not workers.
        if name.starts_with('.') || is_file {
            continue;
        }
        let directory = entry.path();
        let worker = match Name::parse(&name) {
            Ok(name) => Worker::read(directory, &name),
            // Somebody's own directory, unless it looks like a worker's.
            Err(_) if !directory.join(SETTINGS).exists() => continue,
            Err(error) => Err(Error::new(Exit::Config, error.to_string()).at(&directory)),
        };
        roster.push(Entry { name, worker });
    }
    roster.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(roster)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::Env;

    #[test]
    fn a_broken_worker_never_hides_the_others() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join(".claude-workers");
        for (name, settings) in
            [("good", "{\"env\": {\"ANTHROPIC_BASE_URL\": \"https://h\"}}"), ("broken", "{"), ("empty", "")]
        {
            fs::create_dir_all(root.join(name)).unwrap();
            fs::write(root.join(name).join(SETTINGS), settings).unwrap();
        }
        fs::create_dir_all(root.join(".usage")).unwrap();
        fs::create_dir_all(root.join("My Notes")).unwrap();
        fs::write(root.join("presets.json"), "{}").unwrap();
        let paths = Paths::of(&[("HOME", home.path())].into_iter().collect::<Env>());
        let roster = read(&paths).unwrap();
        let names: Vec<_> = roster.iter().map(|entry| (entry.name.as_str(), entry.worker.is_ok())).collect();
        assert_eq!(names, [("broken", false), ("empty", false), ("good", true)]);
    }
}
