//! What time it is: the system's clock, or the fixed one that a test hands over.

use jiff::Timestamp;

use crate::env::{self, Env};
use crate::error::{Error, Result};
use crate::exit::Exit;

/// Where "now" comes from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    fixed: Option<Timestamp>,
}

impl Clock {
    /// The system's clock, unless the environment fixes another.
    pub fn of(env: &Env) -> Result<Self> {
        let fixed = env
            .text(env::NOW)
            .map(|text| {
                text.parse().map_err(|_| {
                    Error::new(Exit::Usage, format!("{}={text}", env::NOW)).caused_by("not an RFC 3339 time")
                })
            })
            .transpose()?;
        Ok(Self { fixed })
    }

    /// Now, in UTC.
    pub fn now(self) -> Timestamp {
        self.fixed.unwrap_or_else(Timestamp::now)
    }
}

/// A time as it stands in our files: RFC 3339, UTC, milliseconds.
pub fn rfc3339(time: Timestamp) -> String {
    format!("{time:.3}")
}

/// The time `seconds` ago, for comparing with file times and records.
pub fn before(time: Timestamp, seconds: i64) -> Timestamp {
    Timestamp::from_second(time.as_second().saturating_sub(seconds)).unwrap_or(Timestamp::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_can_be_fixed() {
        let env: Env = [(env::NOW, "2026-02-03T04:05:06.789Z")].into_iter().collect();
        assert_eq!(rfc3339(Clock::of(&env).unwrap().now()), "2026-02-03T04:05:06.789Z");
        let env: Env = [(env::NOW, "yesterday")].into_iter().collect();
        assert_eq!(Clock::of(&env).unwrap_err().exit(), Exit::Usage);
    }
}
