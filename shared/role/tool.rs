//! One entry of a role's list of tools: `Read` gives the tool, `Bash(git diff:*)` gives it and allows that use of it.

use std::fmt;

use serde::Serialize;

/// The longest entry.
const LONGEST: usize = 200;

/// What a role without a list gets, and the most that a project can give to a role of its own.
pub const READ_ONLY: [&str; 3] = ["Read", "Grep", "Glob"];

/// A tool, or a use of one.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(into = "String")]
pub struct Tool {
    text: String,
    /// Where the name ends.
    name: usize,
}

impl Tool {
    /// Reads an entry; nothing where it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let name = text.find('(').unwrap_or(text.len());
        let (own, rest) = text.split_at(name);
        let first = own.starts_with(|letter: char| letter.is_ascii_uppercase()) || own.starts_with("mcp__");
        let named =
            first && own.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        let closed = rest.is_empty() || (rest.len() > 2 && rest.ends_with(')'));
        let fits = named && closed && text.len() <= LONGEST && !text.contains(char::is_control);
        fits.then(|| Self { text: text.to_owned(), name })
    }

    /// The tools that change nothing.
    pub fn read_only() -> Vec<Self> {
        READ_ONLY.iter().filter_map(|name| Self::parse(name)).collect()
    }

    /// The tool's name alone.
    pub fn name(&self) -> &str {
        self.text.get(..self.name).unwrap_or_default()
    }

    /// Whether it is a use that needs no question.
    pub fn is_use(&self) -> bool {
        self.name < self.text.len()
    }

    /// The entry as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<Tool> for String {
    fn from(tool: Tool) -> Self {
        tool.text
    }
}

/// What both lists give. A use is only allowed where both allow the same one: what it may do otherwise is for others
/// to answer.
pub fn intersection(wide: &[Tool], wished: &[Tool]) -> Vec<Tool> {
    let named = |list: &[Tool], name: &str| list.iter().any(|tool| tool.name() == name);
    let mut both: Vec<Tool> = Vec::new();
    for tool in wide.iter().filter(|tool| named(wished, tool.name())) {
        let bare = wished.iter().any(|wish| wish.name() == tool.name() && !wish.is_use());
        if !tool.is_use() || bare || wished.contains(tool) {
            both.push(tool.clone());
        } else if let Some(plain) = Tool::parse(tool.name()).filter(|plain| !both.contains(plain)) {
            both.push(plain);
        }
    }
    both
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(text: &str) -> Vec<Tool> {
        crate::front_matter::split(text).into_iter().map(|tool| Tool::parse(tool).unwrap()).collect()
    }

    #[test]
    fn entries_are_read_and_what_is_none_is_refused() {
        let tool = Tool::parse("Bash(git diff:*)").unwrap();
        assert_eq!((tool.name(), tool.is_use()), ("Bash", true));
        assert!(!Tool::parse("mcp__a__b-c").unwrap().is_use());
        for text in ["", "default", "*", "--tools", "Bash()", "Bash(x", "Bash x", "Bash(a\nb)", "(x)"] {
            assert_eq!(Tool::parse(text), None, "{text}");
        }
    }

    #[test]
    fn an_intersection_never_gives_what_one_of_both_did_not() {
        for (wide, wished, both) in [
            ("Read, Edit, Bash", "Read, Bash, WebFetch", "Read, Bash"),
            ("Read, Bash", "Bash(curl:*)", "Bash"),
            ("Bash(git diff:*), Bash(git log:*)", "Bash", "Bash(git diff:*), Bash(git log:*)"),
            ("Bash(git diff:*), Bash(git log:*)", "Bash(git log:*)", "Bash, Bash(git log:*)"),
            ("Bash(git diff:*)", "Bash(git diff x; rm:*)", "Bash"),
            ("Read", "Bash", ""),
        ] {
            assert_eq!(intersection(&tools(wide), &tools(wished)), tools(both), "{wide} and {wished}");
        }
    }
}
