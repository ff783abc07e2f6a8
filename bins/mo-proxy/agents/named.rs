//! An agent as its file describes it: which model it names, and how its prompt begins. By that beginning a request of
//! its is known, since the client tells no agent's name.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shared::file;
use shared::tier::Tier;

use crate::config::names::is_anthropics;
use crate::route::same_model::same;

/// So much of a prompt is kept, in bytes.
pub const START: usize = 1 << 10;
/// A larger file is no agent's.
const CAP: u64 = 1 << 20;
/// The most files that are read in one folder.
const MOST: usize = 300;
/// How deep a folder of agents is looked into.
const DEEPEST: usize = 4;
/// Words for a model that the client chooses.
const CLIENTS_CHOICE: [&str; 5] = ["", "inherit", "default", "best", "opusplan"];

/// At most so many bytes of a text, without half a letter.
pub fn beginning(text: &str, most: usize) -> &str {
    let ends = (0..=most.min(text.len())).rev();
    ends.into_iter().find_map(|end| text.get(..end)).unwrap_or_default()
}

/// An agent.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Named {
    /// Where it is described: a file's path, or `role NAME`.
    pub place: String,
    /// Its name.
    pub name: String,
    /// The model it names, if any.
    pub model: Option<String>,
    /// The beginning of its prompt.
    pub start: String,
}

impl Named {
    /// An agent with this prompt.
    pub fn new(place: String, name: &str, model: Option<&str>, prompt: &str) -> Self {
        let prompt = prompt.trim();
        let start = beginning(prompt, START).to_owned();
        Self { place, name: name.to_owned(), model: model.map(str::to_owned), start }
    }

    /// What this file says. Read as the client does: lines of the head that mean nothing here may be anything.
    pub fn of_file(path: &Path) -> Option<Self> {
        let bytes = file::read_if_there(path, CAP).ok()??;
        let text = String::from_utf8(bytes).ok()?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let inner = text.strip_prefix("---")?.split_once('\n')?.1;
        let mut rest = inner;
        let (mut name, mut model) = (None, None);
        loop {
            let (line, after) = rest.split_once('\n')?;
            rest = after;
            if line.trim_end() == "---" {
                break;
            }
            let value = |key: &str| Some(line.strip_prefix(key)?.trim().trim_matches(['"', '\'']).to_owned());
            name = name.or_else(|| value("name:"));
            model = model.or_else(|| value("model:"));
        }
        let name = name.or_else(|| Some(path.file_stem()?.to_str()?.to_owned()))?;
        Some(Self::new(path.display().to_string(), &name, model.as_deref(), rest))
    }

    /// How much of this prompt is its own; nothing where the prompt is another's.
    pub fn fits(&self, prompt: &str) -> Option<usize> {
        let rest = prompt.trim_start().strip_prefix(&self.start)?;
        // A short prompt is whole: what the client adds begins on a line of its own.
        let is_whole = self.start.len() + 4 < START;
        (!self.start.is_empty()
            && (!is_whole || rest.trim_start_matches('\r').is_empty() || starts_line(rest)))
        .then_some(self.start.len())
    }

    /// Whether a request for this model does what the agent says.
    pub fn allows(&self, asked: &str) -> bool {
        let Some(model) = self.model.as_deref() else { return true };
        if CLIENTS_CHOICE.contains(&model.to_ascii_lowercase().as_str()) {
            return true;
        }
        let Some(tier) = Tier::named(model) else { return same(model, asked) };
        // A tier may be mapped to anything; only another of Anthropic's own is another.
        let asked = asked.to_ascii_lowercase();
        let is_of = |tier: Tier| asked.contains(tier.name());
        !is_anthropics(&asked) || is_of(tier) || !Tier::ALL.into_iter().any(is_of)
    }
}

fn starts_line(rest: &str) -> bool {
    rest.starts_with(['\n', '\r'])
}

/// The agents that a session in this directory knows: the user's own and the project's.
pub fn all(config: &Path, directory: &Path) -> Vec<Named> {
    let mut folders = vec![config.join("agents")];
    for folder in directory.ancestors() {
        folders.push(folder.join(".claude/agents"));
        if folder.join(".git").exists() {
            break;
        }
    }
    folders.sort();
    folders.dedup();
    folders.iter().flat_map(|folder| files(folder)).filter_map(|path| Named::of_file(&path)).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![(folder.to_owned(), 0)]);
    while let Some((folder, depth)) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && depth < DEEPEST {
                open.push((path, depth + 1));
            } else if !is_folder && path.extension() == Some(OsStr::new("md")) && found.len() < MOST {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_the_client_reads_it() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("p/.claude/agents/deep");
        fs::create_dir_all(&folder).unwrap();
        let head = "---\nname: \"finder\"\ndescription: >\n  many\n  lines: here\nmodel: mo-explorer\n---\n";
        fs::write(folder.join("a.md"), format!("{head}\nYou find.\nA second line.\n")).unwrap();
        fs::write(folder.join("b.md"), "no agent").unwrap();
        fs::write(folder.join("c.md"), "---\ndescription: x\n---\nBody").unwrap();
        fs::create_dir_all(home.path().join("p/.git")).unwrap();
        fs::create_dir_all(home.path().join("p/src")).unwrap();
        let agents = all(&home.path().join(".claude"), &home.path().join("p/src"));
        assert_eq!(agents.len(), 2, "{agents:?}");
        let finder = &agents[0];
        assert_eq!((finder.name.as_str(), finder.model.as_deref()), ("finder", Some("mo-explorer")));
        assert_eq!(finder.start, "You find.\nA second line.");
        assert_eq!((agents[1].name.as_str(), agents[1].model.as_deref()), ("c", None));
    }

    #[test]
    fn an_agent_is_known_by_how_its_prompt_begins() {
        let agent = |prompt: &str| Named::new("p".into(), "n", None, prompt);
        assert!(agent("You find.").fits("\nYou find.\n\nNotes").is_some());
        assert!(agent("You find.").fits("You find.").is_some());
        assert!(agent("You find").fits("You find things.").is_none());
        assert!(agent("").fits("anything").is_none());
        let long = "word ".repeat(1_000);
        assert!(agent(&long).fits(&long).is_some());
        assert!(agent(&long).fits("word word").is_none());
        // A cut in the middle of a letter.
        let wide = "家".repeat(1_000);
        assert_eq!(agent(&wide).fits(&wide), Some(1023));
    }

    #[test]
    fn what_an_agent_says_of_its_model_is_held_against_what_is_asked_for() {
        let agent = |model| Named::new("p".into(), "n", model, "x");
        for (model, asked) in [
            (None, "claude-x"),
            (Some("inherit"), "claude-x"),
            (Some("sonnet"), "claude-sonnet-5"),
            (Some("Sonnet"), "glm-5.2"),
            (Some("haiku"), "claude-next"),
            (Some("mo-explorer"), "mo-explorer"),
            (Some("claude-opus-4-8[1m]"), "claude-opus-4-8"),
        ] {
            assert!(agent(model).allows(asked), "{model:?} {asked}");
        }
        for (model, asked) in
            [("sonnet", "claude-opus-5-5"), ("mo-explorer", "claude-opus-5-5"), ("glm-5.2", "glm-4.7")]
        {
            assert!(!agent(Some(model)).allows(asked), "{model} {asked}");
        }
    }
}
