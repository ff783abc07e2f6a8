//! What stands in front of a command without being it: assignments, the shell's own words, programs that run what
//! they are given. Only a rule that denies looks behind it.

use super::script::{Simple, Word, parse};

/// The shell's own words: a command follows at once.
const RESERVED: &[&str] = &["if", "then", "elif", "else", "while", "until", "do", "!", "{"];
/// What runs the command behind its options.
const RUNNERS: &[&str] = &[
    "builtin", "command", "coproc", "doas", "env", "eval", "exec", "ionice", "nice", "nohup", "setsid",
    "stdbuf", "sudo", "time", "timeout", "xargs",
];
/// What reads a text as a command.
const READERS: &[&str] = &["bash", "dash", "env", "eval", "ksh", "sh", "su", "trap", "watch", "zsh"];
/// Texts inside of texts; beyond, a command cannot be judged.
const DEEPEST: usize = 8;

/// Whether any command that may begin in this one is such a one; what is asked gets the words from there on. Every
/// word may be the name of a command, because programs that run others cannot all be known.
pub fn any(command: &Simple, is: &dyn Fn(&[Word]) -> bool) -> bool {
    within(command, is, 0)
}

fn within(command: &Simple, is: &dyn Fn(&[Word]) -> bool, depth: usize) -> bool {
    let mut place = Place::Start;
    let mut is_read = false;
    let mut rest = command.words.as_slice();
    while let Some((word, behind)) = rest.split_first() {
        // Behind a program that is not known, a word that the shell makes is most likely none of a command.
        if (place != Place::Inside || !word.changes) && is(rest) {
            return true;
        }
        if !is_read && READERS.contains(&name(word)) {
            is_read = true;
            if text_holds(behind, is, depth + 1) {
                return true;
            }
        }
        place = place.after(word);
        rest = behind;
    }
    false
}

/// Whether the words, read as a command once more, hold such a one.
fn text_holds(words: &[Word], is: &dyn Fn(&[Word]) -> bool, depth: usize) -> bool {
    let text = words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    match parse(&text) {
        Ok(commands) => depth > DEEPEST || commands.iter().any(|command| within(command, is, depth)),
        Err(_) => true,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// A command begins here.
    Start,
    /// One begins here, or the options of what runs it are not at their end.
    Options,
    /// Behind an option, which may take this word.
    Option,
    /// Among the words of a command.
    Inside,
}

impl Place {
    fn after(self, word: &Word) -> Self {
        if self == Self::Inside {
            return self;
        }
        let text = word.text.as_str();
        if RUNNERS.contains(&name(word)) {
            return Self::Options;
        }
        if self == Self::Start {
            return if RESERVED.contains(&text) || assigns(text) { Self::Start } else { Self::Inside };
        }
        if text.starts_with('-') {
            return Self::Option;
        }
        let is_value = text.starts_with(|letter: char| letter.is_ascii_digit());
        if self == Self::Option || is_value || word.changes || RESERVED.contains(&text) || assigns(text) {
            return Self::Options;
        }
        Self::Inside
    }
}

fn assigns(text: &str) -> bool {
    let letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        let name = name.split_once('[').map_or(name, |(name, _)| name);
        !name.is_empty() && name.chars().all(letter)
    })
}

/// `/bin/rm` is `rm`.
pub fn name(word: &Word) -> &str {
    word.text.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;
    use serde_json::json;

    use super::super::file::tests::policy;
    use super::super::{Decision, Policy};

    fn allows(policy: &Policy, command: &str) -> bool {
        policy.decide("Bash", &json!({"command": command}), Path::new("/w")) == Decision::Allow
    }

    #[test]
    fn what_was_let_through_once_is_denied() {
        let policy = policy(&["!Bash(rm:*)", "!Bash(git push:*)", "Bash"]);
        for denied in ["rm f", "/bin/rm f", "git push"] {
            for before in [
                "X=1",
                "X+=1 Y=$z",
                "if true; then",
                "while",
                "time -p",
                "coproc",
                "command",
                "builtin command",
                "exec -a x",
                "eval",
                "env -u X Y=1",
                "nohup",
                "! !",
                "{",
                "find . -exec",
                "sudo -u $x",
                "eval echo ';'",
            ] {
                assert!(!allows(&policy, &format!("{before} {denied}")), "{before} {denied}");
            }
            for text in
                ["eval '{}'", "bash -c 'ls; {}'", "trap '{}' EXIT", "eval eval \"'{}'\"", "sh -c 'env {}'"]
            {
                let command = text.replace("{}", denied);
                assert!(!allows(&policy, &command), "{command}");
            }
        }
        for hidden in ["time -- $x", "env -i X=1 $x", "eval '$(x)'", "timeout -s KILL 5 $x", "nice -n $y $x"]
        {
            assert!(!allows(&policy, hidden), "{hidden}");
        }
        for free in [
            "ls $x",
            "X=1 ls *.rs",
            "sudo ls *",
            "env X=1 make $x",
            "bash run.sh a",
            "git commit -m 'git push'",
        ] {
            assert!(allows(&policy, free), "{free}");
        }
        let deep = format!("{}x", "eval ".repeat(50_000));
        assert!(!allows(&policy, &deep), "it comes to an end");
    }

    #[test]
    fn no_row_of_prefixes_opens_a_denial_or_widens_a_leave() {
        let denying = policy(&["!Bash(node --test:*)", "Bash"]);
        let allowing = policy(&["Bash(node --test)"]);
        let before = prop::sample::select(vec![
            "X=1",
            "Y=$x",
            "A+=b",
            "if",
            "then",
            "elif",
            "else",
            "while",
            "until",
            "do",
            "time",
            "time -p",
            "!",
            "{",
            "coproc",
            "command",
            "command -p",
            "builtin",
            "exec",
            "exec -a n",
            "eval",
            "env",
            "env -i Z=1",
            "/usr/bin/env -u X",
            "nohup",
            "nice -n 5",
            "timeout 5",
            "timeout -k 1 2m",
            "xargs -n 1",
            "sudo -u root",
            "setsid",
            "stdbuf -oL",
            "doas",
            ">/dev/null",
            "ionice -c 3",
            "flock f",
            "find . -exec",
        ]);
        let rows = prop::collection::vec(before, 1..6);
        proptest!(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }, |(row in rows)| {
            let command = format!("{} node --test", row.join(" "));
            prop_assert!(!allows(&denying, &command), "{command}");
            let is_redirected = row.iter().all(|word| word.starts_with('>'));
            prop_assert!(is_redirected || !allows(&allowing, &command), "{command}");
        });
    }
}
