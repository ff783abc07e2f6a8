//! The agents that sessions were started with, in one file: the launcher writes it, the gateway reads it. So the
//! gateway knows, of a request that carries an agent's prompt, which model that agent names.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use shared::document;
use shared::error::Result;
use shared::file::Durability;
use shared::lock::{self, Lock};
use shared::paths::Paths;

use super::named::Named;

/// So many are kept, the newest.
const MOST: usize = 500;

#[derive(Debug, Default, Deserialize, Serialize)]
struct Kept {
    version: u32,
    agents: Vec<Named>,
}

/// Where it lies.
pub fn path(paths: &Paths) -> Result<PathBuf> {
    Ok(paths.proxy()?.join("agents.json"))
}

/// Adds these; what stood there of the same places is replaced.
pub fn add(paths: &Paths, new: Vec<Named>) -> Result<()> {
    let path = path(paths)?;
    let _lock = Lock::acquire(&path.with_extension("lock"), lock::PATIENCE)?;
    // One that cannot be read is made anew: nothing in it is worth a session.
    let mut kept = document::read::<Kept>(&path).ok().flatten().unwrap_or_default();
    if new.iter().all(|one| kept.agents.contains(one)) {
        return Ok(());
    }
    kept.version = 1;
    kept.agents.retain(|old| !new.iter().any(|one| one.place == old.place));
    kept.agents.extend(new);
    let surplus = kept.agents.len().saturating_sub(MOST);
    kept.agents.drain(..surplus);
    document::replace(&path, &kept, Durability::Lazy)
}

/// Whose request it is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Known {
    /// The agent's name.
    pub name: String,
    /// The model it names, where another was asked for.
    pub ignored: Option<String>,
}

/// The register as it is read: anew whenever the file has changed.
#[derive(Debug, Default)]
pub struct Register {
    path: PathBuf,
    stamp: Option<(SystemTime, u64, u64)>,
    agents: Vec<Named>,
}

impl Register {
    /// The register in this file.
    pub fn new(path: PathBuf) -> Self {
        Self { path, ..Self::default() }
    }

    /// Whose prompt this is, and whether the agent's model was asked for. Where several agents share a prompt, it is
    /// enough that one of them allows the model.
    pub fn look(&mut self, prompt: &str, asked: &str) -> Option<Known> {
        self.refresh();
        let longest = self.agents.iter().filter_map(|agent| agent.fits(prompt)).max()?;
        let mut meant = self.agents.iter().filter(|agent| agent.fits(prompt) == Some(longest));
        let first = meant.clone().next()?;
        let ignored = if meant.any(|agent| agent.allows(asked)) { None } else { first.model.clone() };
        Some(Known { name: first.name.clone(), ignored })
    }

    fn refresh(&mut self) {
        let meta = fs::metadata(&self.path).ok();
        let stamp = meta.and_then(|meta| Some((meta.modified().ok()?, meta.len(), meta.ino())));
        if stamp != self.stamp {
            self.stamp = stamp;
            let kept = document::read::<Kept>(&self.path).ok().flatten();
            self.agents = kept.unwrap_or_default().agents;
        }
    }
}

#[cfg(test)]
mod tests {
    use shared::env::Env;

    use super::*;

    fn agent(place: &str, model: Option<&str>, prompt: &str) -> Named {
        Named::new(place.into(), place, model, prompt)
    }

    #[test]
    fn what_the_launcher_adds_the_gateway_knows() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::of(&[("HOME", home.path())].into_iter().collect::<Env>());
        let mut register = Register::new(path(&paths).unwrap());
        assert_eq!(register.look("You find.", "claude-x"), None);
        add(&paths, vec![agent("a", Some("mo-explorer"), "You find."), agent("b", None, "You find.\nBugs.")])
            .unwrap();
        let ignored = |register: &mut Register, prompt: &str, asked: &str| {
            register.look(prompt, asked).map(|known| (known.name, known.ignored))
        };
        let named = Some("mo-explorer".to_owned());
        assert_eq!(ignored(&mut register, "You find.\n\nNotes", "claude-x"), Some(("a".into(), named)));
        assert_eq!(ignored(&mut register, "You find.\n", "mo-explorer"), Some(("a".into(), None)));
        // The longer prompt is the nearer one.
        assert_eq!(ignored(&mut register, "You find.\nBugs.", "claude-x"), Some(("b".into(), None)));
        assert_eq!(register.look("Somebody else", "claude-x"), None);
        // Another project's agent of the same words may name another model; the same file's new word replaces the old.
        add(&paths, vec![agent("c", Some("glm-5.2"), "You find.")]).unwrap();
        assert_eq!(ignored(&mut register, "You find.", "glm-5.2"), Some(("a".into(), None)));
        add(&paths, vec![agent("c", Some("glm-4.7"), "You find.")]).unwrap();
        assert!(ignored(&mut register, "You find.", "glm-5.2").unwrap().1.is_some());
    }

    #[test]
    fn it_does_not_grow_without_end_and_a_broken_one_is_made_anew() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::of(&[("HOME", home.path())].into_iter().collect::<Env>());
        let many = |from: usize| (from..from + 400).map(|at| agent(&at.to_string(), None, "x")).collect();
        add(&paths, many(0)).unwrap();
        add(&paths, many(400)).unwrap();
        let kept: Kept = document::read(&path(&paths).unwrap()).unwrap().unwrap();
        assert_eq!((kept.agents.len(), kept.agents[0].place.as_str()), (MOST, "300"));
        fs::write(path(&paths).unwrap(), "{").unwrap();
        add(&paths, many(0)).unwrap();
        assert!(document::read::<Kept>(&path(&paths).unwrap()).unwrap().is_some());
    }
}
