//! What an Ollama server says of itself: its version, and the models pulled into it.

use serde::{Deserialize, Serialize};
use shared::flatten::flatten;

/// The first version that speaks the Messages API.
const FIRST: [u64; 3] = [0, 14, 0];
/// More models than anyone reads; the rest is counted.
const SHOWN: usize = 50;

/// An Ollama server.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Ollama {
    /// Its version.
    pub version: String,
    /// The models pulled into it.
    pub models: Vec<String>,
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

#[derive(Deserialize)]
struct Tags {
    #[serde(default)]
    models: Vec<Tag>,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
}

/// The version in an answer of `/api/version`; nothing when it is not Ollama's.
pub fn version(body: &[u8]) -> Option<String> {
    let answer: Version = serde_json::from_slice(body).ok()?;
    Some(flatten(&answer.version, 40)).filter(|version| numbers(version).is_some())
}

/// The names in an answer of `/api/tags`.
pub fn models(body: &[u8]) -> Vec<String> {
    let tags = serde_json::from_slice(body).unwrap_or(Tags { models: Vec::new() });
    tags.models.iter().map(|tag| flatten(&tag.name, 120)).collect()
}

impl Ollama {
    /// Whether it is from before the Messages API.
    pub fn is_too_old(&self) -> bool {
        // 0.0.0 is what a build from source calls itself: its age is not known, so it is tried.
        numbers(&self.version).is_some_and(|numbers| numbers < FIRST && numbers != [0, 0, 0])
    }

    /// What to tell of it, a line each.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("it is Ollama {}", self.version)];
        if self.models.is_empty() {
            lines.push("no model is pulled yet: ollama pull qwen3-coder, for example".to_owned());
            return lines;
        }
        lines.push("pulled models, to map with --sonnet and the like:".to_owned());
        lines.extend(self.models.iter().take(SHOWN).map(|name| format!("  {name}")));
        let rest = self.models.len().saturating_sub(SHOWN);
        if rest > 0 {
            lines.push(format!("  … {rest} more"));
        }
        lines
    }
}

/// The numbers of a version like `0.14.0-rc1`.
fn numbers(version: &str) -> Option<[u64; 3]> {
    let plain = version.trim_start_matches('v').split(['-', '+']).next()?;
    let mut parts = plain.split('.').map(str::parse);
    let numbers = [parts.next()?.ok()?, parts.next()?.ok()?, parts.next().unwrap_or(Ok(0)).ok()?];
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ollama(version: &str) -> Ollama {
        Ollama { version: version.to_owned(), models: Vec::new() }
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        for old in ["0.13.5", "0.9.99", "v0.13.0", "0.13", "0.13.5-rc1"] {
            assert!(ollama(old).is_too_old(), "{old}");
        }
        for new in ["0.14.0", "0.14.0-rc0", "0.40.12", "1.0.0", "0.0.0"] {
            assert!(!ollama(new).is_too_old(), "{new}");
        }
    }

    #[test]
    fn only_ollamas_own_answer_counts() {
        assert_eq!(version(br#"{"version":"0.14.2"}"#).as_deref(), Some("0.14.2"));
        for other in [&b"{}"[..], b"<html>", br#"{"version":"beta"}"#, br#"{"version":3}"#, b""] {
            assert_eq!(version(other), None);
        }
        assert_eq!(
            models(br#"{"models":[{"name":"qwen3:8b","size":1},{"name":"a\u001b[m"}]}"#),
            ["qwen3:8b", "a [m"]
        );
        assert!(models(b"nonsense").is_empty());
    }

    #[test]
    fn long_lists_are_cut_and_counted() {
        let many = Ollama { version: "1.0.0".to_owned(), models: vec!["m".to_owned(); 53] };
        assert_eq!(many.lines().last().unwrap(), "  … 3 more");
        assert!(ollama("1.0.0").lines().last().unwrap().contains("ollama pull"));
    }
}
