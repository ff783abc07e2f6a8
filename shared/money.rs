//! Money as whole picodollars, so that sums are exact in any order. What tokens cost is left to `prices`.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use crate::digits::grouped;

/// Picodollars of a dollar.
const DOLLAR: i128 = 1_000_000_000_000;
/// Picodollars of a cent.
const CENT: i128 = DOLLAR / 100;

/// An amount of US dollars.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Money(i128);

impl Money {
    /// So many picodollars: micro-dollars a million tokens, times tokens.
    pub const fn picodollars(count: i128) -> Self {
        Self(count)
    }

    /// The amount as JSON has it, rounded once.
    pub fn dollars(self) -> f64 {
        self.0 as f64 / DOLLAR as f64
    }
}

impl Add for Money {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Money {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl fmt::Display for Money {
    /// `$1,234.57`; a small amount keeps four digits, so that a cheap model does not show as free.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (amount, sign) = (self.0.unsigned_abs(), if self.0 < 0 { "-" } else { "" });
        let cent = CENT.unsigned_abs();
        let (step, digits) = if amount == 0 || amount >= 10 * cent { (cent, 2) } else { (cent / 100, 4) };
        let steps = (amount + step / 2) / step;
        if amount > 0 && steps == 0 {
            return write!(f, "{sign}<$0.0001");
        }
        let whole = 10_u128.pow(digits);
        let (dollars, rest) = (grouped(steps / whole), steps % whole);
        write!(f, "{sign}${dollars}.{rest:0width$}", width = digits as usize)
    }
}

/// What a sum of messages cost, as far as prices are known.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Cost {
    sum: Money,
    priced: bool,
    unpriced: bool,
}

impl Cost {
    /// Adds a part; nothing where its price is unknown.
    pub fn add(&mut self, part: Option<Money>) {
        match part {
            Some(money) => {
                self.sum += money;
                self.priced = true;
            }
            None => self.unpriced = true,
        }
    }

    /// The known part; nothing where no part is known. A sum of nothing costs nothing.
    pub fn known(&self) -> Option<Money> {
        (self.priced || !self.unpriced).then_some(self.sum)
    }

    /// Some parts are known and some are not: the sum is less than the whole.
    pub fn is_partial(&self) -> bool {
        self.priced && self.unpriced
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.sum += other.sum;
        self.priced |= other.priced;
        self.unpriced |= other.unpriced;
    }
}

impl fmt::Display for Cost {
    /// `$1.23`, `$1.23+` where a part is unknown, `?` where all is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.known() {
            Some(money) => write!(f, "{money}{}", if self.is_partial() { "+" } else { "" }),
            None => f.write_str("?"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micro(count: i128) -> Money {
        Money::picodollars(count * 1_000_000)
    }

    #[test]
    fn an_amount_is_rounded_where_it_is_shown_and_nowhere_else() {
        for (money, text) in [
            (micro(0), "$0.00"),
            (micro(1_234_567_891), "$1,234.57"),
            (micro(1_000_000_000_000), "$1,000,000.00"),
            (micro(99_994), "$0.1000"),
            (micro(12_340), "$0.0123"),
            (micro(100), "$0.0001"),
            (micro(1), "<$0.0001"),
            (micro(-1_500_000), "-$1.50"),
        ] {
            assert_eq!(money.to_string(), text);
        }
        let tenth = micro(100_000);
        let sum = (0..10).fold(Money::default(), |sum, _| sum + tenth);
        assert!((sum.dollars() - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn a_sum_knows_what_it_lacks() {
        let mut cost = Cost::default();
        assert_eq!((cost.known(), cost.to_string().as_str()), (Some(Money::default()), "$0.00"));
        cost.add(None);
        assert_eq!((cost.known(), cost.is_partial(), cost.to_string().as_str()), (None, false, "?"));
        cost.add(Some(micro(500_000)));
        assert_eq!((cost.is_partial(), cost.to_string().as_str()), (true, "$0.50+"));
    }
}
