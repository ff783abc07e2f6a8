//! What Claude Code's own arguments ask for: a new session, an existing one, or no session at all.

use std::ffi::OsString;

/// What kind of run the arguments make.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Sitting {
    /// A new session, whose id we may choose.
    New,
    /// A session that the arguments decide on; its id where they name it.
    Decided(Option<String>),
    /// The newest session of this directory.
    Newest,
    /// No session: a sub-command, or only a word about itself.
    None,
}

/// What the arguments say, as far as it matters to us.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Asked {
    /// Which session.
    pub sitting: Sitting,
    /// Whether it prints its answer and ends.
    pub print: bool,
    /// Whether a model is named.
    pub models: Vec<String>,
    /// The model of the session itself, the last one named.
    pub model: Option<String>,
}

/// Claude Code's sub-commands. One that is missing here costs an argument that it ignores, and a record.
const SUBCOMMANDS: &[&str] = &[
    "agents",
    "attach",
    "auth",
    "auto-mode",
    "config",
    "doctor",
    "gateway",
    "import",
    "install",
    "kill",
    "logs",
    "mcp",
    "migrate-installer",
    "plugin",
    "plugins",
    "purge",
    "remote-control",
    "respawn",
    "rm",
    "sandbox",
    "setup-token",
    "stop",
    "ultrareview",
    "update",
    "upgrade",
];

/// Flags whose next word is their value, whatever it looks like.
const WITH_VALUE: &[&str] = &[
    "--agent",
    "--agents",
    "--append-system-prompt",
    "--append-system-prompt-file",
    "--debug-file",
    "--effort",
    "--environment",
    "--input-format",
    "--json-schema",
    "--max-budget-usd",
    "--max-turns",
    "--name",
    "-n",
    "--output-format",
    "--permission-mode",
    "--permission-prompt-tool",
    "--plugin-dir",
    "--plugin-url",
    "--setting-sources",
    "--settings",
    "--system-prompt",
    "--system-prompt-file",
];

impl Asked {
    /// Reads Claude Code's arguments.
    pub fn of(words: &[OsString]) -> Self {
        let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let mut asked = Self { sitting: Sitting::New, print: false, models: Vec::new(), model: None };
        if words.first().is_some_and(|word| SUBCOMMANDS.contains(&word.as_str())) {
            asked.sitting = Sitting::None;
            return asked;
        }
        let mut rest = words.iter().map(String::as_str).peekable();
        while let Some(word) = rest.next() {
            if word == "--" {
                break;
            }
            let (flag, inline) = match word.split_once('=') {
                Some((flag, value)) if flag.starts_with("--") => (flag, Some(value)),
                _ => (word, None),
            };
            match flag {
                "--model" | "--fallback-model" => {
                    if let Some(value) = inline.or_else(|| rest.next()) {
                        asked.models.extend(value.split(',').map(|one| one.trim().to_owned()));
                        if flag == "--model" {
                            asked.model = Some(value.to_owned());
                        }
                    }
                }
                "--session-id" => asked.decide(inline.or_else(|| rest.next())),
                // Its value may be left out, and then a list is shown.
                "--resume" | "-r" => {
                    let value = inline.or_else(|| rest.next_if(|next| !next.starts_with('-')));
                    asked.decide(value);
                }
                "--from-pr" | "--bg" | "--background" | "--teleport" | "--cloud" | "--desktop" => {
                    asked.decide(None);
                }
                "--fork-session" => asked.sitting = Sitting::Decided(None),
                "--continue" => asked.newest(),
                "--print" => asked.print = true,
                "--version" | "--help" => asked.sitting = Sitting::None,
                flag if WITH_VALUE.contains(&flag) && inline.is_none() => {
                    rest.next();
                }
                flag if is_short(flag) => asked.letters(flag),
                _ => {}
            }
        }
        asked
    }

    fn decide(&mut self, session: Option<&str>) {
        if matches!(self.sitting, Sitting::New | Sitting::Newest) {
            self.sitting = Sitting::Decided(session.map(str::to_owned));
        }
    }

    fn newest(&mut self) {
        if self.sitting == Sitting::New {
            self.sitting = Sitting::Newest;
        }
    }

    /// Letters can stand together, up to one that takes a value.
    fn letters(&mut self, flag: &str) {
        for letter in flag.chars().skip(1) {
            match letter {
                'p' => self.print = true,
                'c' => self.newest(),
                'v' | 'h' => self.sitting = Sitting::None,
                'r' => return self.decide(None),
                _ => return,
            }
        }
    }
}

fn is_short(flag: &str) -> bool {
    flag.strip_prefix('-')
        .is_some_and(|letters| letters.starts_with(|letter: char| letter.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Asked {
        Asked::of(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_plain_prompt_is_a_new_session() {
        for line in [
            "-p hi",
            "hi",
            "",
            "--print hi --model opus",
            "-p -- --version",
            "--append-system-prompt -c -p x",
        ] {
            assert_eq!(asked(line).sitting, Sitting::New, "{line}");
        }
        assert!(asked("-p hi").print);
        assert!(!asked("hi").print);
    }

    #[test]
    fn arguments_can_decide_the_session() {
        assert_eq!(asked("-p --resume abc hi").sitting, Sitting::Decided(Some("abc".into())));
        assert_eq!(asked("--resume=abc").sitting, Sitting::Decided(Some("abc".into())));
        assert_eq!(asked("--session-id abc").sitting, Sitting::Decided(Some("abc".into())));
        assert_eq!(asked("-r -p").sitting, Sitting::Decided(None));
        assert_eq!(asked("--resume abc --fork-session").sitting, Sitting::Decided(None));
        assert_eq!(asked("--bg hi").sitting, Sitting::Decided(None));
        for line in ["-c", "--continue -p x", "-cp x", "-pc x"] {
            assert_eq!(asked(line).sitting, Sitting::Newest, "{line}");
        }
    }

    #[test]
    fn subcommands_and_words_about_itself_are_no_session() {
        for line in
            ["mcp list", "plugin install x", "doctor", "--version", "-v", "--help", "-p --version", "-h"]
        {
            assert_eq!(asked(line).sitting, Sitting::None, "{line}");
        }
    }

    #[test]
    fn every_model_that_is_named_is_seen() {
        let asked = asked("-p x --model opus --fallback-model sonnet,claude-x --model=haiku");
        assert_eq!(asked.models, ["opus", "sonnet", "claude-x", "haiku"]);
        assert_eq!(asked.model.as_deref(), Some("haiku"));
    }
}
