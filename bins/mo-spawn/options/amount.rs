//! Amounts as people type them: `20m`, `1h30m`, `200k`, `10MB`, `0.50`.

use std::time::Duration;

use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::money::Money;

/// The longest time that is taken: a month.
const LONGEST: u64 = 31 * 24 * 3600;
/// Picodollars of a millionth of a dollar, the smallest step of a budget.
const MICRO: i128 = 1_000_000;

/// A time: numbers with `s`, `m`, `h` or `d`; a bare number is seconds.
pub fn time(flag: &str, typed: &str) -> Result<Duration> {
    let wrong = || wrong(flag, typed, "a time like 90s, 20m or 1h30m");
    let mut seconds = 0_u64;
    let mut rest = typed.trim();
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        let (digits, behind) = rest.split_at(end);
        let number: u64 = digits.parse().map_err(|_| wrong())?;
        let unit = match behind.chars().next() {
            None | Some('s') => 1,
            Some('m') => 60,
            Some('h') => 3600,
            Some('d') => 24 * 3600,
            Some(_) => return Err(wrong()),
        };
        seconds = number.checked_mul(unit).and_then(|more| seconds.checked_add(more)).ok_or_else(wrong)?;
        rest = behind.get(1..).unwrap_or_default();
    }
    if seconds == 0 || seconds > LONGEST {
        return Err(wrong());
    }
    Ok(Duration::from_secs(seconds))
}

/// A number of tokens or bytes: `k`, `M` and `G` stand for thousands, with or without a `B`.
pub fn count(flag: &str, typed: &str) -> Result<u64> {
    let wrong = || wrong(flag, typed, "a number above zero, like 5000, 200k or 10M");
    let text = typed.trim().trim_end_matches(['B', 'b']);
    let (digits, factor) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (text.get(..at), 1_000),
        Some((at, 'm' | 'M')) => (text.get(..at), 1_000_000),
        Some((at, 'g' | 'G')) => (text.get(..at), 1_000_000_000),
        _ => (Some(text), 1),
    };
    let number: u64 = digits.unwrap_or_default().parse().map_err(|_| wrong())?;
    number.checked_mul(factor).filter(|number| *number > 0).ok_or_else(wrong)
}

/// An amount of dollars.
pub fn dollars(flag: &str, typed: &str) -> Result<Money> {
    let wrong = || wrong(flag, typed, "an amount of dollars like 5 or 0.50");
    let amount: f64 = typed.trim().trim_start_matches('$').parse().map_err(|_| wrong())?;
    if !amount.is_finite() || amount <= 0.0 || amount > 1e6 {
        return Err(wrong());
    }
    Ok(Money::picodollars((amount * 1e6).round() as i128 * MICRO))
}

/// A small number.
pub fn number(flag: &str, typed: &str, most: u32) -> Result<u32> {
    let wrong = || wrong(flag, typed, &format!("a number from 1 to {most}"));
    typed.parse().ok().filter(|number| (1..=most).contains(number)).ok_or_else(wrong)
}

fn wrong(flag: &str, typed: &str, what: &str) -> Error {
    Error::new(Exit::Usage, format!("--{flag} `{}` is not {what}", shared::redact::typed(typed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (typed, seconds) in [("90", 90), ("90s", 90), ("20m", 1200), ("1h30m", 5400), ("2d", 172_800)] {
            assert_eq!(time("timeout", typed).unwrap().as_secs(), seconds, "{typed}");
        }
        for typed in ["", "0", "m", "1w", "-1", "1.5h", "99999999999999999999", "40d"] {
            assert_eq!(time("timeout", typed).unwrap_err().exit(), Exit::Usage, "{typed}");
        }
    }

    #[test]
    fn counts_and_dollars_are_above_zero() {
        assert_eq!(count("budget-tokens", "200k").unwrap(), 200_000);
        assert_eq!(count("max-output-bytes", "10MB").unwrap(), 10_000_000);
        assert_eq!(dollars("budget-usd", "0.50").unwrap().to_string(), "$0.50");
        for typed in ["0", "k", "-1", "1e3", ""] {
            assert!(count("budget-tokens", typed).is_err(), "{typed}");
        }
        for typed in ["0", "-1", "nan", "inf", "a"] {
            assert!(dollars("budget-usd", typed).is_err(), "{typed}");
        }
    }
}
