//! Command lines as tables: a program lists its commands and flags once, and parsing, `-h`, `--help`
//! and the hint after a typing error all come from that list. Parsing only parses: no file is touched.

use std::ffi::OsString;
use std::fmt::Write as _;

use lexopt::Arg;

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::nearest::nearest;
use crate::redact::{ROTATE, typed};

/// A program's command line.
#[derive(Debug)]
pub struct Program {
    /// Its name, like `mo-key`.
    pub name: &'static str,
    /// What it is for, in one line.
    pub about: &'static str,
    /// Its commands. A program with one unnamed job lists one command whose name is empty.
    pub commands: &'static [Command],
    /// Flags that every command takes.
    pub flags: &'static [Flag],
    /// Whether a key is what it is for: nothing that was typed wrongly is repeated then, not even in part.
    pub takes_keys: bool,
    /// What `--help` adds below the lists: examples, files, exit codes.
    pub more: &'static str,
}

/// One command of a program.
#[derive(Debug)]
pub struct Command {
    /// Its name; empty for a program's only job.
    pub name: &'static str,
    /// Its operands as they are shown, like `OLD NEW`.
    pub operands: &'static str,
    /// The fewest and the most operands it takes.
    pub takes: (usize, usize),
    /// What it does, in one line.
    pub about: &'static str,
    /// The flags that only it takes.
    pub flags: &'static [Flag],
}

/// One flag.
#[derive(Debug)]
pub struct Flag {
    /// Its long name, without dashes.
    pub long: &'static str,
    /// Its value as it is shown, like `URL`; empty for a flag without a value, `[=URL]` for one that may be left out.
    pub value: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
}

/// What was typed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Matches {
    command: &'static str,
    flags: Vec<(&'static str, String)>,
    operands: Vec<OsString>,
}

/// What a command line asks for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Request {
    /// Do the work.
    Run(Matches),
    /// Print this text: help or version.
    Print(String),
}

impl Matches {
    /// The command's name; empty for a program's only job.
    pub fn command(&self) -> &'static str {
        self.command
    }

    /// Whether the flag was given.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|(name, _)| *name == flag)
    }

    /// The flag's value; the last one wins.
    pub fn value(&self, flag: &str) -> Option<&str> {
        self.flags.iter().rev().find(|(name, _)| *name == flag).map(|(_, value)| value.as_str())
    }

    /// All values of a flag that can be repeated.
    pub fn values<'a>(&'a self, flag: &'a str) -> impl Iterator<Item = &'a str> {
        self.flags.iter().filter(move |(name, _)| *name == flag).map(|(_, value)| value.as_str())
    }

    /// The operand at this place, as text.
    pub fn operand(&self, at: usize) -> Result<&str> {
        let operand =
            self.operands.get(at).ok_or_else(|| Error::new(Exit::Usage, "an operand is missing"))?;
        operand.to_str().ok_or_else(|| {
            Error::new(Exit::Usage, format!("`{}` is not valid UTF-8", typed(&operand.to_string_lossy())))
        })
    }

    /// All operands.
    pub fn operands(&self) -> &[OsString] {
        &self.operands
    }
}

impl Program {
    /// Reads a command line (without the program's own name).
    pub fn parse(&'static self, words: impl IntoIterator<Item = OsString>) -> Result<Request> {
        let mut parser = lexopt::Parser::from_args(words);
        let mut command = self.commands.iter().find(|command| command.name.is_empty());
        let mut matches = Matches::default();
        while let Some(word) = parser.next().map_err(|error| self.unreadable(&error))? {
            match word {
                Arg::Short('h') => return Ok(Request::Print(self.help(command, false))),
                Arg::Long("help") => return Ok(Request::Print(self.help(command, true))),
                Arg::Short('V') | Arg::Long("version") => {
                    return Ok(Request::Print(format!("{} {}\n", self.name, env!("CARGO_PKG_VERSION"))));
                }
                Arg::Long(name) => {
                    let Some(flag) = self.flag(command, name) else {
                        return Err(self.unknown_flag(command, &format!("--{name}")));
                    };
                    let value =
                        if flag.value.is_empty() { String::new() } else { self.value(flag, &mut parser)? };
                    matches.flags.push((flag.long, value));
                }
                Arg::Short(letter) => return Err(self.unknown_flag(command, &format!("-{letter}"))),
                Arg::Value(value) if command.is_none() => {
                    command = Some(self.command(&value.to_string_lossy())?);
                }
                Arg::Value(value) => matches.operands.push(value),
            }
        }
        let Some(command) = command else {
            return Err(Error::new(Exit::Usage, "say what to do").hint(self.commands_hint()));
        };
        matches.command = command.name;
        self.check_operands(command, &matches.operands)?;
        Ok(Request::Run(matches))
    }

    fn flag(&self, command: Option<&Command>, name: &str) -> Option<&'static Flag> {
        let own = command.map_or(&[][..], |command| command.flags);
        own.iter().chain(self.flags).find(|flag| flag.long == name)
    }

    fn value(&self, flag: &Flag, parser: &mut lexopt::Parser) -> Result<String> {
        if flag.value.starts_with('[') {
            return match parser.optional_value() {
                None => Ok(String::new()),
                Some(value) => value
                    .into_string()
                    .map_err(|_| self.wrong(format!("the value of --{} is not valid UTF-8", flag.long))),
            };
        }
        let missing = || self.wrong(format!("--{} needs a value: --{0} {}", flag.long, flag.value));
        let value = parser.value().map_err(|_| missing())?;
        value.into_string().map_err(|value| {
            self.wrong(format!("--{} `{}` is not valid UTF-8", flag.long, typed(&value.to_string_lossy())))
        })
    }

    fn command(&self, word: &str) -> Result<&'static Command> {
        self.commands.iter().find(|command| command.name == word).ok_or_else(|| {
            let names = self.commands.iter().map(|command| command.name);
            let hint = match nearest(word, names) {
                Some(name) => format!("did you mean `{} {name}`?", self.name),
                None => self.commands_hint(),
            };
            Error::new(Exit::Usage, format!("there is no command `{}`", typed(word))).hint(hint)
        })
    }

    fn unknown_flag(&self, command: Option<&'static Command>, word: &str) -> Error {
        let own = command.map_or(&[][..], |command| command.flags);
        let names = own.iter().chain(self.flags).map(|flag| flag.long);
        let meant =
            nearest(word.trim_start_matches('-'), names).map(|name| format!("did you mean --{name}?"));
        if self.takes_keys {
            return Error::new(Exit::Usage, "there is no flag of that name")
                .hint(meant.unwrap_or_else(|| ROTATE.to_owned()));
        }
        let called = command.map(|command| command.name).filter(|name| !name.is_empty());
        let whole = called.map_or_else(|| self.name.to_owned(), |name| format!("{} {name}", self.name));
        let hint = meant.unwrap_or_else(|| format!("`{whole} --help` lists the flags"));
        let dashes = if word.starts_with("--") { "--" } else { "-" };
        let bare = word.trim_start_matches('-');
        let others = || self.commands.iter().flat_map(|command| command.flags).any(|flag| flag.long == bare);
        let what = match called {
            // The list of all flags has it: it is another command's.
            Some(name) if others() => format!("`{name}` takes no --{bare}"),
            _ => format!("there is no flag {dashes}{}", typed(bare)),
        };
        Error::new(Exit::Usage, what).hint(hint)
    }

    fn check_operands(&self, command: &Command, operands: &[OsString]) -> Result<()> {
        let (fewest, most) = command.takes;
        let usage = format!("usage: {}", self.usage(command));
        if operands.len() < fewest {
            return Err(Error::new(Exit::Usage, format!("{} is missing", missing(command, operands.len())))
                .hint(usage));
        }
        match operands.get(most) {
            Some(extra) => {
                let what = format!("`{}` is one operand too many", typed(&extra.to_string_lossy()));
                Err(Error::new(Exit::Usage, what).hint(usage))
            }
            None => Ok(()),
        }
    }

    /// What the parser says, without the word it met: that may be a key.
    fn unreadable(&self, error: &lexopt::Error) -> Error {
        let what = match error {
            lexopt::Error::UnexpectedValue { option, .. } => format!("{} takes no value", typed_flag(option)),
            _ => "this command line cannot be understood".to_owned(),
        };
        if self.takes_keys { Error::new(Exit::Usage, what).hint(ROTATE) } else { self.wrong(what) }
    }

    fn wrong(&self, what: String) -> Error {
        Error::new(Exit::Usage, what).hint(format!("`{} --help` shows the usage", self.name))
    }

    fn commands_hint(&self) -> String {
        let names: Vec<_> = self.commands.iter().map(|command| command.name).collect();
        format!("the commands are {}; `{} --help` explains them", names.join(", "), self.name)
    }

    fn usage(&self, command: &Command) -> String {
        let mut usage = self.name.to_owned();
        // What follows `--` is another program's, its flags too.
        let flags = if command.flags.is_empty() { "" } else { "[flags]" };
        let (before, behind) = if command.operands.starts_with("-- ") { (flags, "") } else { ("", flags) };
        for word in [command.name, before, command.operands, behind] {
            if !word.is_empty() {
                usage.push(' ');
                usage.push_str(word);
            }
        }
        usage
    }

    /// One screen, or with `full` everything; of one command when one was named.
    fn help(&'static self, command: Option<&'static Command>, full: bool) -> String {
        let mut text = format!("{} - {}\n", self.name, command.map_or(self.about, |command| command.about));
        text.push_str("\nusage:\n");
        let shown = self.commands.iter().filter(|own| command.is_none_or(|command| command.name == own.name));
        for command in shown.clone() {
            let _ = writeln!(text, "  {}", self.usage(command));
        }
        if command.is_none() {
            text.push_str("\ncommands:\n");
            let width = self.commands.iter().map(|command| command.name.len()).max().unwrap_or(0);
            for command in self.commands {
                let _ = writeln!(text, "  {:width$}  {}", command.name, command.about);
            }
        }
        let mut flags: Vec<&Flag> = self.flags.iter().collect();
        if full || command.is_some() {
            flags.splice(0..0, shown.flat_map(|command| command.flags));
        }
        flags.dedup_by_key(|flag| flag.long);
        push_flags(&mut text, &flags);
        if full && !self.more.is_empty() {
            let _ = write!(text, "\n{}\n", self.more.trim_end());
        }
        text
    }
}

const STANDARD: [Flag; 2] = [
    Flag { long: "help", value: "", about: "print this (-h: one screen)" },
    Flag { long: "version", value: "", about: "print the version" },
];

fn push_flags(text: &mut String, flags: &[&Flag]) {
    let mut seen: Vec<&str> = Vec::new();
    let mut rows = Vec::new();
    for flag in flags.iter().copied().chain(&STANDARD) {
        if !seen.contains(&flag.long) {
            seen.push(flag.long);
            let joined = flag.value.is_empty() || flag.value.starts_with('[');
            let value = if joined { flag.value.to_owned() } else { format!(" {}", flag.value) };
            rows.push((format!("--{}{value}", flag.long), flag.about));
        }
    }
    let width = rows.iter().map(|(flag, _)| flag.len()).max().unwrap_or(0);
    text.push_str("\nflags:\n");
    for (flag, about) in rows {
        let _ = writeln!(text, "  {flag:width$}  {about}");
    }
}

/// The name of the operand that is missing after `given` ones.
fn missing(command: &Command, given: usize) -> String {
    let named =
        command.operands.split_whitespace().filter(|word| !word.starts_with('[') && *word != "--").nth(given);
    named.unwrap_or("an operand").trim_end_matches('…').to_owned()
}

/// A flag as it may be repeated.
fn typed_flag(flag: &str) -> String {
    format!("--{}", typed(flag.trim_start_matches('-')))
}

#[cfg(test)]
mod tests {
    use super::*;

    static PROGRAM: Program = Program {
        name: "mo-test",
        about: "a test",
        commands: &[
            Command { name: "list", operands: "", takes: (0, 0), about: "lists", flags: &[] },
            Command {
                name: "rename",
                operands: "OLD NEW",
                takes: (2, 2),
                about: "renames",
                flags: &[
                    Flag { long: "note", value: "N", about: "a note" },
                    Flag { long: "tree", value: "[=BASE]", about: "a tree" },
                ],
            },
            Command {
                name: "exec",
                operands: "-- claude [arguments…]",
                takes: (1, 9),
                about: "runs",
                flags: &[Flag { long: "keep", value: "", about: "keeps" }],
            },
        ],
        flags: &[Flag { long: "json", value: "", about: "as JSON" }],
        takes_keys: false,
        more: "more",
    };

    fn parse(words: &[&str]) -> Result<Request> {
        PROGRAM.parse(words.iter().map(OsString::from))
    }

    fn hint(words: &[&str]) -> String {
        parse(words).unwrap_err().what_next().unwrap().to_owned()
    }

    #[test]
    fn commands_flags_and_operands_are_told_apart() {
        let Request::Run(matches) = parse(&["rename", "a", "--note=x", "--json", "b"]).unwrap() else {
            panic!()
        };
        assert_eq!(matches.command(), "rename");
        assert_eq!((matches.operand(0).unwrap(), matches.operand(1).unwrap()), ("a", "b"));
        assert_eq!(matches.value("note"), Some("x"));
        assert!(matches.has("json"));
    }

    #[test]
    fn a_value_that_may_be_left_out_is_only_taken_behind_an_equals_sign() {
        for (words, value) in [(["rename", "--tree", "a", "b"], ""), (["rename", "--tree=x", "a", "b"], "x")]
        {
            let Request::Run(matches) = parse(&words).unwrap() else { panic!() };
            assert_eq!(matches.value("tree"), Some(value));
            assert_eq!(matches.operands().len(), 2);
        }
    }

    #[test]
    fn a_value_that_no_flag_takes_is_not_repeated() {
        let error = parse(&["list", "--json=sk-secret"]).unwrap_err();
        assert_eq!((error.exit(), error.to_string().as_str()), (Exit::Usage, "--json takes no value"));
    }

    #[test]
    fn typing_errors_get_a_hint() {
        assert_eq!(hint(&["lits"]), "did you mean `mo-test list`?");
        assert_eq!(hint(&["list", "--jsno"]), "did you mean --json?");
        assert_eq!(hint(&["rename", "a"]), "usage: mo-test rename OLD NEW [flags]");
        assert_eq!(parse(&["rename", "a"]).unwrap_err().to_string(), "NEW is missing");
        assert_eq!(parse(&["list", "--note", "x"]).unwrap_err().to_string(), "`list` takes no --note");
        assert_eq!(hint(&["list", "--note", "x"]), "`mo-test list --help` lists the flags");
        assert_eq!(hint(&["exec"]), "usage: mo-test exec [flags] -- claude [arguments…]");
        assert_eq!(parse(&["exec"]).unwrap_err().to_string(), "claude is missing");
        assert_eq!(parse(&[]).unwrap_err().exit(), Exit::Usage);
    }

    #[test]
    fn help_lists_everything_once() {
        let Request::Print(help) = parse(&["--help"]).unwrap() else { panic!() };
        for part in ["mo-test rename OLD NEW [flags]", "--note N", "--json", "--version", "more"] {
            assert_eq!(help.matches(part).count(), 1, "{part} in {help}");
        }
    }
}
