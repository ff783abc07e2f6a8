//! A point in time as it stands in our files: RFC 3339 in UTC. Also reads what others write in its place.

use std::fmt;

use jiff::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::clock::rfc3339;

/// A point in time.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Moment(pub Timestamp);

impl Moment {
    /// A time as another program wrote it: RFC 3339, or seconds since 1970. Nothing where it is neither.
    pub fn of_value(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => text.parse().ok().map(Self),
            Value::Number(number) => {
                let seconds = number.as_i64().or_else(|| number.as_f64().map(|seconds| seconds as i64))?;
                // Of milliseconds, which some programs count, seconds would lie in the far future.
                (0 < seconds && seconds < FAR).then_some(())?;
                Timestamp::from_second(seconds).ok().map(Self)
            }
            _ => None,
        }
    }

    /// Seconds from then until `now`; 0 when it lies ahead, as after a clock was set back.
    pub fn age(self, now: Timestamp) -> u64 {
        now.as_second().saturating_sub(self.0.as_second()).try_into().unwrap_or(0)
    }

    /// Seconds from `now` until then; 0 when it is past.
    pub fn ahead(self, now: Timestamp) -> u64 {
        self.0.as_second().saturating_sub(now.as_second()).try_into().unwrap_or(0)
    }
}

/// The year 2286 in seconds.
const FAR: i64 = 10_000_000_000;

impl From<Timestamp> for Moment {
    fn from(time: Timestamp) -> Self {
        Self(time)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&rfc3339(self.0))
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|_| D::Error::custom("not an RFC 3339 time"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn times_of_others_are_read_and_ours_come_back() {
        let time = |value: Value| Moment::of_value(&value).map(|moment| moment.to_string());
        assert_eq!(time(json!(1_800_000_000)).as_deref(), Some("2027-01-15T08:00:00.000Z"));
        assert_eq!(time(json!("2027-01-15T09:00:00.5+01:00")).as_deref(), Some("2027-01-15T08:00:00.500Z"));
        for nothing in [json!(null), json!("soon"), json!(-1), json!(1_800_000_000_000_i64), json!({})] {
            assert_eq!(time(nothing.clone()), None, "{nothing}");
        }
        let moment = Moment::of_value(&json!(1_800_000_000)).unwrap();
        let text = serde_json::to_string(&moment).unwrap();
        assert_eq!(serde_json::from_str::<Moment>(&text).unwrap(), moment);
    }
}
