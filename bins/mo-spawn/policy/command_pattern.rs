//! The pattern of a rule for shell commands: `git diff:*` (these words and any more), `npm run * --fix`, or a whole
//! command as it stands.

use super::glob::Glob;
use super::prefix;
use super::script::{self, Simple, Word};

/// How strictly a command is compared.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Care {
    /// To allow: only what the pattern surely stands for.
    Sure,
    /// To deny: also what it may turn out to be.
    Possible,
}

/// A pattern.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CommandPattern {
    whole: String,
    words: Vec<Part>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Part {
    /// One word.
    One(Glob),
    /// Any number of words, also none.
    Any,
}

impl CommandPattern {
    /// Reads the text between a rule's brackets, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let whole = text.trim().to_owned();
        let (start, open) = match whole.strip_suffix(":*") {
            Some(start) => (start, true),
            None => (whole.as_str(), false),
        };
        let judged = script::parse(start);
        let words = match judged.as_deref() {
            Ok([one]) if one.reads.is_empty() && one.writes.is_empty() => &one.words,
            // A command that cannot be taken apart can still be allowed letter by letter.
            Ok(_) | Err(_) if !open && !whole.is_empty() && !whole.contains('*') => {
                return Ok(Self { whole, words: Vec::new() });
            }
            Ok(_) => return Err("a pattern stands for one simple command".to_owned()),
            Err(why) => return Err(format!("its pattern cannot be judged: {why}")),
        };
        let mut words: Vec<Part> = words.iter().map(part).collect();
        if open {
            words.push(Part::Any);
        }
        Ok(Self { whole, words })
    }

    /// Whether it is this very text, whatever it does.
    pub fn is(&self, text: &str) -> bool {
        self.whole == text.trim()
    }

    /// Whether it stands for this simple command.
    pub fn fits(&self, command: &Simple, care: Care) -> bool {
        let stands = |words: &[Word]| fits(&self.words, words, care, true);
        !self.words.is_empty()
            && match care {
                Care::Sure => stands(&command.words),
                Care::Possible => prefix::any(command, &stands),
            }
    }
}

fn part(word: &Word) -> Part {
    if word.text == "*" && word.changes { Part::Any } else { Part::One(Glob::new(&word.text)) }
}

fn fits(parts: &[Part], words: &[Word], care: Care, first: bool) -> bool {
    match (parts.split_first(), words.split_first()) {
        (None, rest) => rest.is_none(),
        (Some((Part::Any, [])), _) => true,
        (Some((Part::Any, rest)), _) => {
            // What becomes of a word that changes is not known: it may be several, so nothing sure follows it.
            let mut left = words;
            loop {
                if fits(rest, left, care, first) {
                    return true;
                }
                match left.split_first() {
                    Some((word, more)) if care == Care::Possible || !word.changes => left = more,
                    _ => return false,
                }
            }
        }
        (Some((Part::One(_), _)), None) => false,
        (Some((Part::One(pattern), parts)), Some((word, words))) => {
            is(pattern, word, care, first) && fits(parts, words, care, false)
        }
    }
}

fn is(pattern: &Glob, word: &Word, care: Care, first: bool) -> bool {
    if care == Care::Sure {
        return !word.changes && pattern.fits(&word.text);
    }
    word.changes || pattern.fits(&word.text) || (first && pattern.fits(prefix::name(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, command: &str, care: Care) -> bool {
        CommandPattern::parse(pattern).unwrap().fits(&script::parse(command).unwrap()[0], care)
    }

    #[test]
    fn a_pattern_stands_for_whole_words() {
        for (pattern, command) in [
            ("git diff:*", "git diff"),
            ("git diff:*", "git  'diff' --stat $x *.rs"),
            ("git diff", "git diff"),
            ("npm run *", "npm run test"),
            ("npm run * --fix", "npm run lint a --fix"),
            ("npm run test-*", "npm run test-all"),
            ("* --version", "cargo --version"),
        ] {
            assert!(fits(pattern, command, Care::Sure), "{pattern} {command}");
        }
        for (pattern, command) in [
            ("git diff:*", "git"),
            ("git diff:*", "git difftool"),
            ("git diff:*", "git 'diff x'"),
            ("git diff:*", "X=1 git diff"),
            ("git diff:*", "/tmp/git diff"),
            ("git diff:*", "git di$x"),
            ("git diff", "git diff x"),
            ("npm run * --fix", "npm run $x --fix"),
            ("npm run test-*", "npm run 'test-a b' c"),
        ] {
            assert!(!fits(pattern, command, Care::Sure), "{pattern} {command}");
        }
    }

    #[test]
    fn a_denial_holds_for_what_may_be_meant() {
        for command in ["rm x", "/bin/rm x", "$x y", "r? x", "{rm,x}", "'rm'", "find . -exec rm x"] {
            assert!(fits("rm:*", command, Care::Possible), "{command}");
        }
        for command in ["git status", "ls $x *.rs", "git commit -m 'rm x'", "X=1 make $x", "sudo ls *"] {
            assert!(!fits("rm:*", command, Care::Possible), "{command}");
        }
    }

    #[test]
    fn a_wrong_pattern_is_told() {
        for text in ["", "a; b:*", "$(a):*", "a > b *", ":*", "a | * "] {
            assert!(CommandPattern::parse(text).is_err(), "{text}");
        }
        assert!(CommandPattern::parse("a && b").unwrap().is(" a && b\n"));
    }
}
