//! A shell command taken apart into its simple commands, as bash and zsh would, or not at all: what is not plainly
//! a row of simple commands (substitutions, groups, here-documents, comments) cannot be judged, and is said to be so.

use std::iter::Peekable;
use std::str::Chars;

/// Why a command cannot be judged.
pub type Unclear = &'static str;

/// A word of a command, its quotes taken off.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Word {
    /// Its text.
    pub text: String,
    /// Whether the shell makes something else of it: a variable, a wildcard, braces.
    pub changes: bool,
}

/// A simple command.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Simple {
    /// Its words.
    pub words: Vec<Word>,
    /// The files that it reads by redirection.
    pub reads: Vec<Word>,
    /// The files that it writes by redirection.
    pub writes: Vec<Word>,
}

impl Simple {
    fn is_empty(&self) -> bool {
        self.words.is_empty() && self.reads.is_empty() && self.writes.is_empty()
    }

    /// Its words as a line.
    pub fn text(&self) -> String {
        self.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
    }
}

/// What the next word is for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Role {
    #[default]
    Word,
    Read,
    Write,
    /// A descriptor to copy, or a file to write.
    Copy,
}

#[derive(Default)]
struct Parser {
    done: Vec<Simple>,
    simple: Simple,
    word: Option<Word>,
    /// Whether a part of the word was quoted: then `2` is no descriptor.
    quoted: bool,
    role: Role,
}

/// Takes a command apart.
pub fn parse(text: &str) -> Result<Vec<Simple>, Unclear> {
    let mut parser = Parser::default();
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        parser.take(letter, &mut rest)?;
    }
    parser.end_simple()?;
    Ok(parser.done)
}

impl Parser {
    fn take(&mut self, letter: char, rest: &mut Peekable<Chars>) -> Result<(), Unclear> {
        match letter {
            ' ' | '\t' => self.end_word()?,
            '\n' | ';' => self.end_simple()?,
            '|' => {
                rest.next_if(|next| matches!(next, '|' | '&'));
                self.end_simple()?;
            }
            '&' if rest.peek() == Some(&'>') => {
                rest.next();
                rest.next_if_eq(&'>');
                self.begin_redirection(Role::Write)?;
            }
            '&' => {
                rest.next_if_eq(&'&');
                self.end_simple()?;
            }
            '>' | '<' => self.redirect(letter, rest)?,
            '(' | ')' => return Err("brackets: a subshell, a function or a list"),
            '`' => return Err("a command inside backticks"),
            '#' if self.word.is_none() => return Err("a comment"),
            '\'' => {
                self.quoted = true;
                let word = self.word.get_or_insert_default();
                loop {
                    match rest.next().ok_or("a quote that is not closed")? {
                        '\'' => break,
                        inner => word.text.push(plain(inner)?),
                    }
                }
            }
            '"' => self.double_quoted(rest)?,
            '\\' => match rest.next().ok_or("a backslash at the end")? {
                '\n' => {}
                next => {
                    self.quoted = true;
                    self.word.get_or_insert_default().text.push(plain(next)?);
                }
            },
            '$' => self.expansion(rest, false)?,
            _ => {
                let starts = self.word.is_none();
                let word = self.word.get_or_insert_default();
                let letter = plain(letter)?;
                word.changes |= matches!(letter, '*' | '?' | '[' | '{' | '}' | '^')
                    || (starts && matches!(letter, '~' | '=' | '!'));
                word.text.push(letter);
            }
        }
        Ok(())
    }

    fn double_quoted(&mut self, rest: &mut Peekable<Chars>) -> Result<(), Unclear> {
        self.quoted = true;
        self.word.get_or_insert_default();
        loop {
            match rest.next().ok_or("a quote that is not closed")? {
                '"' => return Ok(()),
                '`' => return Err("a command inside backticks"),
                '$' => self.expansion(rest, true)?,
                '\\' => {
                    let next = rest.next().ok_or("a quote that is not closed")?;
                    let word = self.word.get_or_insert_default();
                    match next {
                        '\n' => {}
                        '$' | '`' | '"' | '\\' => word.text.push(next),
                        next => word.text.extend(['\\', plain(next)?]),
                    }
                }
                inner => self.word.get_or_insert_default().text.push(plain(inner)?),
            }
        }
    }

    /// Behind a `$`: only a plain variable is let through, by its name.
    fn expansion(&mut self, rest: &mut Peekable<Chars>, quoted: bool) -> Result<(), Unclear> {
        let word = self.word.get_or_insert_default();
        word.text.push('$');
        match rest.peek() {
            Some('(') => return Err("a command or a calculation inside $( )"),
            Some('[') => return Err("a calculation inside $[ ]"),
            Some('\'' | '"') if !quoted => return Err("a quote after $"),
            Some('{') => {
                word.changes = true;
                for letter in rest.by_ref() {
                    match letter {
                        '}' => {
                            word.text.push('}');
                            return Ok(());
                        }
                        '{' if word.text.ends_with('$') => word.text.push('{'),
                        letter if letter.is_ascii_alphanumeric() || letter == '_' => word.text.push(letter),
                        _ => return Err("an expansion inside ${ }"),
                    }
                }
                return Err("an expansion that is not closed");
            }
            _ => word.changes = true,
        }
        Ok(())
    }

    fn redirect(&mut self, letter: char, rest: &mut Peekable<Chars>) -> Result<(), Unclear> {
        // A number right before it names the descriptor.
        let names =
            |word: &Word| !word.text.is_empty() && word.text.bytes().all(|byte| byte.is_ascii_digit());
        if !self.quoted && self.role == Role::Word && self.word.as_ref().is_some_and(names) {
            self.word = None;
        }
        let role = match (letter, rest.peek()) {
            (_, Some('(')) => return Err("a command inside <( ) or >( )"),
            ('<', Some('<')) => return Err("a here-document"),
            (_, Some('&')) => Role::Copy,
            ('<', Some('>')) | ('>', Some('>' | '|')) => Role::Write,
            ('<', _) => {
                return self.begin_redirection(Role::Read);
            }
            _ => {
                return self.begin_redirection(Role::Write);
            }
        };
        rest.next();
        self.begin_redirection(role)
    }

    fn begin_redirection(&mut self, role: Role) -> Result<(), Unclear> {
        self.end_word()?;
        if self.role != Role::Word {
            return Err("a redirection without a file");
        }
        self.role = role;
        Ok(())
    }

    fn end_word(&mut self) -> Result<(), Unclear> {
        self.quoted = false;
        let Some(word) = self.word.take() else { return Ok(()) };
        match std::mem::take(&mut self.role) {
            Role::Word => self.simple.words.push(word),
            Role::Read => self.simple.reads.push(word),
            Role::Copy if is_descriptor(&word) => {}
            // zsh takes `>! file` for another way to write `file`.
            Role::Write | Role::Copy if word.text.starts_with(['!', '&', '|']) => {
                return Err("a redirection that shells read differently");
            }
            Role::Write | Role::Copy => self.simple.writes.push(word),
        }
        Ok(())
    }

    fn end_simple(&mut self) -> Result<(), Unclear> {
        self.end_word()?;
        if self.role != Role::Word {
            return Err("a redirection without a file");
        }
        let simple = std::mem::take(&mut self.simple);
        if !simple.is_empty() {
            self.done.push(simple);
        }
        Ok(())
    }
}

fn is_descriptor(word: &Word) -> bool {
    let digits = word.text.strip_suffix('-').unwrap_or(&word.text);
    !word.changes && !word.text.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Letters that no shell or terminal reads in a way of its own.
fn plain(letter: char) -> Result<char, Unclear> {
    if letter.is_control() && letter != '\n' && letter != '\t' {
        return Err("a control character");
    }
    Ok(letter)
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn commands(text: &str) -> Vec<String> {
        parse(text).unwrap().iter().map(super::Simple::text).collect()
    }

    #[test]
    fn every_simple_command_is_seen() {
        assert_eq!(commands("git diff"), ["git diff"]);
        for joined in ["a; b", "a && b", "a||b", "a | b", "a |& b", "a & b", "a\nb", "a;;b", "\n a \n;b&"] {
            assert_eq!(commands(joined), ["a", "b"], "{joined:?}");
        }
        assert_eq!(commands("a \\\n b"), ["a b"]);
        assert_eq!(commands(r#"'a;b' "c|d" e\;f g"h"'i'"#), ["a;b c|d e;f ghi"]);
        assert_eq!(commands(r#"a "\$x \" \q""#), [r#"a $x " \q"#]);
        assert_eq!(commands("a $x ${y}"), ["a $x ${y}"]);
    }

    #[test]
    fn redirections_are_seen_with_their_files() {
        let simple = &parse("a 2>&1 >b 3>>c <d &>e >|f 2>g >&h <>i 2>&- 1>&2-").unwrap()[0];
        let texts = |words: &[super::Word]| words.iter().map(|word| word.text.clone()).collect::<Vec<_>>();
        assert_eq!(texts(&simple.words), ["a"]);
        assert_eq!(texts(&simple.writes), ["b", "c", "e", "f", "g", "h", "i"]);
        assert_eq!(texts(&simple.reads), ["d"]);
        assert_eq!(texts(&parse("a '2'>b").unwrap()[0].words), ["a", "2"]);
        assert_eq!(texts(&parse("a x2>b").unwrap()[0].words), ["a", "x2"]);
    }

    #[test]
    fn what_cannot_be_judged_is_said_to_be_so() {
        for text in [
            "a $(b)",
            "a `b`",
            "a \"$(b)\"",
            "a \"`b`\"",
            "(a)",
            "a() { b; }",
            "a <(b)",
            "a >(b)",
            "a <<E\nE",
            "a <<< b",
            "a # b",
            "#",
            "a '",
            "a \"",
            "a \\",
            "a ${x@P}",
            "a ${x:-y}",
            "a ${x",
            "a $'b'",
            "a $\"b\"",
            "a $((1))",
            "a $[1]",
            "a >",
            "a > ; b",
            "a > > b",
            "a >! b",
            "a\rb",
            "a \u{0}",
            "a '\u{1b}'",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn words_that_the_shell_changes_are_known() {
        for text in ["$x", "${x}", "a*", "a?", "[a]", "{a,b}", "~", "=a", "\"$x\"", "a$x"] {
            assert!(parse(text).unwrap()[0].words[0].changes, "{text}");
        }
        for text in ["a", "'$x'", "'a*'", "\\*", "a~", "a=b", "\"a b\"", "--x=y"] {
            assert!(!parse(text).unwrap()[0].words[0].changes, "{text}");
        }
    }
}
