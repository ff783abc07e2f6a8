//! Subagents that name a model of Anthropic's: their files' and `--agents`' word goes to the API as it is,
//! so another provider would be asked for a model it does not know.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use shared::worker::Worker;

/// Front matter stands at the head of a file.
const HEAD: u64 = 4096;

/// Whether a subagent that this run could start names a model of Anthropic's.
pub fn is_named(worker: &Worker, cwd: &Path, words: &[OsString]) -> bool {
    let inline = words.iter().zip(words.iter().skip(1)).any(|(flag, value)| {
        flag == "--agents" && names_anthropics(&value.to_string_lossy().replace('"', " "))
    });
    let own = worker.profile.config_dir.as_ref().unwrap_or(&worker.directory);
    inline
        || folder(&own.join("agents"))
        || projects(cwd).any(|project| folder(&project.join(".claude/agents")))
}

/// The directory and those above it, up to the repository's top.
fn projects(cwd: &Path) -> impl Iterator<Item = &Path> {
    let mut inside = true;
    cwd.ancestors().take_while(move |directory| {
        let take = inside;
        inside = inside && !directory.join(".git").exists();
        take
    })
}

fn folder(directory: &Path) -> bool {
    fs::read_dir(directory).into_iter().flatten().flatten().any(|entry| {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => folder(&path),
            _ => {
                path.extension().is_some_and(|end| end == "md")
                    && front_matter(&path).is_some_and(|head| names_anthropics(&head))
            }
        }
    })
}

/// The lines between the first two rulers.
fn front_matter(path: &Path) -> Option<String> {
    let mut head = Vec::new();
    File::open(path).ok()?.take(HEAD).read_to_end(&mut head).ok()?;
    let text = String::from_utf8_lossy(&head).into_owned();
    let body = text.trim_start().strip_prefix("---")?;
    body.split("\n---").next().map(str::to_owned)
}

/// `model: claude-…`, quoted or not.
fn names_anthropics(text: &str) -> bool {
    text.split("model").skip(1).any(|rest| {
        let value = rest.trim_start().strip_prefix(':').unwrap_or_default();
        value.trim_start_matches([' ', '\t', '\'', '"']).to_ascii_lowercase().starts_with("claude")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_of_anthropics_is_seen_and_a_tier_is_none() {
        for text in ["model: claude-opus-5-5", "name: x\nmodel: \"claude-x\"", " model :  claude-x , prompt"]
        {
            assert!(names_anthropics(text), "{text}");
        }
        for text in ["model: haiku", "model: glm-5.2", "model: inherit", "a claude model", "model:\nclaude"] {
            assert!(!names_anthropics(text), "{text}");
        }
    }

    #[test]
    fn files_count_up_to_the_repositorys_top_and_only_by_their_front_matter() {
        let home = tempfile::tempdir().unwrap();
        let inner = home.path().join("repo/a/b");
        fs::create_dir_all(&inner).unwrap();
        fs::create_dir_all(home.path().join("repo/.git")).unwrap();
        let agents = |at: &str| {
            let folder = home.path().join(at).join(".claude/agents");
            fs::create_dir_all(&folder).unwrap();
            folder.join("x.md")
        };
        let found = || projects(&inner).any(|project| folder(&project.join(".claude/agents")));
        fs::write(agents("."), "---\nmodel: claude-x\n---\n").unwrap();
        fs::write(agents("repo"), "---\nname: x\n---\nmodel: claude-x\n").unwrap();
        assert!(!found());
        fs::write(agents("repo"), "---\nname: x\nmodel: claude-x\n---\n").unwrap();
        assert!(found());
    }
}
