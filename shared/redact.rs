//! What may be a key, in text that is shown: words that a user typed in the wrong place, words of a provider.

use crate::flatten::flatten;

/// No key is shorter, and few other words are as long and mix letters with digits.
const SHORTEST_KEY: usize = 16;
/// So much of what may be a key is shown, for the user to know which word is meant.
const SHOWN: usize = 6;
/// Stands in a key's place.
const HIDDEN: &str = "[hidden]";

/// What to say to somebody who put a key where others can read it.
pub const ROTATE: &str = "a key must not stand on a command line: others can read it there, and your shell keeps it; \
                          if that was a real key, make a new one at the provider, then give it to mo-key alone";

/// A word that a user typed, as it may be repeated: whole, unless it may be a key.
pub fn typed(word: &str) -> String {
    if runs(word).any(is_key_like) {
        let start: String = word.trim_start_matches('-').chars().take(SHOWN).collect();
        return format!("{}…", flatten(&start, SHOWN));
    }
    flatten(word, 64)
}

/// Text of a provider's without what may be a key; `key` goes in any case, and the words in `known` stay.
pub fn redact(text: &str, key: Option<&str>, known: &[&str]) -> String {
    let text = match key.filter(|key| !key.is_empty()) {
        Some(key) => text.replace(key, HIDDEN),
        None => text.to_owned(),
    };
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    for run in runs(&text).filter(|run| is_key_like(run) && !known.iter().any(|word| word.contains(run))) {
        // A run is a part of the text that begins after the one before it.
        let Some(found) = text.get(at..).and_then(|rest| rest.find(run)) else { continue };
        shown.push_str(text.get(at..at + found).unwrap_or_default());
        shown.push_str(HIDDEN);
        at += found + run.len();
    }
    shown.push_str(text.get(at..).unwrap_or_default());
    shown
}

/// The longest pieces of the text that hold only what keys hold.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    let pieces = text.split(|letter: char| !letter.is_ascii_alphanumeric() && !"._-~+".contains(letter));
    pieces.map(|piece| piece.trim_matches(|letter: char| !letter.is_ascii_alphanumeric()))
}

fn is_key_like(run: &str) -> bool {
    run.len() >= SHORTEST_KEY
        && (run.starts_with("sk-")
            || (run.bytes().any(|byte| byte.is_ascii_digit())
                && run.bytes().any(|byte| byte.is_ascii_alphabetic())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_user_typed_is_repeated_unless_it_may_be_a_key() {
        for word in ["glm", "--frobnicate", "a/b", "a-rather-long-name-of-a-worker"] {
            assert_eq!(typed(word), word);
        }
        assert_eq!(typed("sk-ant-api03-AbC.SECRET"), "sk-ant…");
        assert_eq!(typed("--sk-ant-api03-AbC.SECRET"), "sk-ant…");
        assert_eq!(typed("glm=0123456789abcdef"), "glm=01…");
        assert_eq!(typed("\u{1b}x"), "x");
    }

    #[test]
    fn a_provider_that_repeats_the_key_is_not_repeated() {
        let known = ["a-model-20251201", "http://127.0.0.1:80/v1"];
        let said = "Key: 0123456789abcdef.half, model a-model-20251201 at 127.0.0.1, 0123456789abcdef0!";
        assert_eq!(
            redact(said, None, &known),
            "Key: [hidden], model a-model-20251201 at 127.0.0.1, [hidden]!"
        );
        assert_eq!(redact("bad key short-key.", Some("short-key"), &[]), "bad key [hidden].");
        assert_eq!(redact("nothing", Some(""), &[]), "nothing");
    }
}
