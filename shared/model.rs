//! A provider's model: its name, its limits, and how a user writes a number of tokens.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::flatten::flatten;
use crate::redact;

/// The longest name of a model; real ones are shorter than 100 bytes.
const LONGEST: usize = 256;
/// The most tokens a window can be said to have: ten times what any model has today.
const MOST_TOKENS: u64 = 10_000_000;

/// What is known of a model. What is not known is left out, never guessed.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// Tokens of input and output together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Tokens of one answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// Why a figure is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unverified: Option<String>,
}

/// Refuses what can be no model's name: it goes into a variable, a request and a table.
pub fn check_name(name: &str) -> Result<()> {
    let fits = !name.is_empty()
        && name.len() <= LONGEST
        && !name.starts_with('-')
        && name.chars().all(|character| !character.is_whitespace() && !character.is_control());
    if fits && flatten(name, LONGEST) == name {
        return Ok(());
    }
    let shown = redact::typed(name);
    Err(Error::new(Exit::Usage, format!("`{shown}` cannot be a model's name"))
        .hint("write it exactly as the provider's documentation does, like glm-5.2"))
}

/// A number of tokens as a user writes it: `200000`, `200_000`, `200k` or `1M`.
pub fn tokens(typed: &str) -> Result<u64> {
    let digits: String = typed.chars().filter(|character| *character != '_').collect();
    let (digits, unit) = match digits.strip_suffix(['k', 'K']) {
        Some(thousands) => (thousands, 1_000),
        None => {
            digits.strip_suffix(['m', 'M']).map_or((digits.as_str(), 1), |millions| (millions, 1_000_000))
        }
    };
    digits
        .parse::<u64>()
        .ok()
        .filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|number| number.checked_mul(unit))
        .filter(|number| (1..=MOST_TOKENS).contains(number))
        .ok_or_else(|| {
            Error::new(Exit::Usage, format!("`{}` is no number of tokens", redact::typed(typed)))
                .hint("write it like 200000, 200k or 1M; at most 10M")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_as_people_write_them() {
        for (typed, number) in [
            ("200000", 200_000),
            ("200_000", 200_000),
            ("200k", 200_000),
            ("1M", 1_000_000),
            ("10m", 10_000_000),
        ] {
            assert_eq!(tokens(typed).unwrap(), number, "{typed}");
        }
        for typed in ["", "0", "k", "-1", "+1", "1.5M", "11M", "1kk", "99999999999999999999", "1 000"] {
            assert_eq!(tokens(typed).unwrap_err().exit(), Exit::Usage, "{typed}");
        }
    }

    #[test]
    fn names_that_could_hide_something_are_refused() {
        for name in ["glm-5.2", "z-ai/glm-5.2", "kimi-k3[1m]", "qwen3-coder:30b", "openai/gpt-oss-20b"] {
            check_name(name).unwrap();
        }
        for name in ["", " ", "a b", "a\nb", "-x", "a\u{202e}b", "a\u{0}", &"a".repeat(257)] {
            let refused = check_name(name).unwrap_err();
            assert_eq!(refused.exit(), Exit::Usage);
            assert!(!refused.to_string().contains(char::is_control), "{refused}");
        }
    }
}
