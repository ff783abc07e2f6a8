//! The shapes of a transcript row, decoded leniently: a field of an unexpected type counts as absent and
//! of a field named twice the last one counts, as in every JSON reader that keeps a map. What a row means
//! is left to `row`.

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// No response uses a trillion tokens; a row that says so is broken.
const MOST_TOKENS: u64 = (1 << 40) - 1;

/// A string; anything else counts as absent.
#[derive(Debug, Default, Clone)]
pub(super) struct Text<'a>(pub(super) Option<Cow<'a, str>>);

/// A number of tokens: absent and null are none, anything but a whole number in range breaks the row.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Count(pub(super) Option<u64>);

/// True only where the row says `true`.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Flag(pub(super) bool);

/// Whether there is anything but null.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Present(pub(super) bool);

/// What the model of each kind used, summed over all models of a `cost-state` row.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct CostSum(pub(super) Option<Cost>);

/// Visits every kind of value; each shape overrides what it understands.
macro_rules! scalar {
    ($name:ident $(<$lt:lifetime>)?, $($method:ident($value:ident: $kind:ty) => $result:expr),+ $(,)?) => {
        impl<'de $(: $lt, $lt)?> Deserialize<'de> for $name $(<$lt>)? {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Any $(<$lt>(PhantomData<&$lt ()>))?;
                impl<'de $(: $lt, $lt)?> Visitor<'de> for Any $(<$lt>)? {
                    type Value = $name $(<$lt>)?;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(stringify!($name))
                    }
                    $(fn $method<E: Error>(self, $value: $kind) -> Result<Self::Value, E> { $result })+
                    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> { Ok($name::default()) }
                    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                        while seq.next_element::<IgnoredAny>()?.is_some() {}
                        $name::compound()
                    }
                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                        $name::compound()
                    }
                }
                deserializer.deserialize_any(Any $(::<$lt>(PhantomData))?)
            }
        }
    };
}

impl Text<'_> {
    #[expect(clippy::unnecessary_wraps, reason = "one shape of answer for all scalars")]
    fn compound<E: Error>() -> Result<Self, E> {
        Ok(Self(None))
    }
}

impl Count {
    fn compound<E: Error>() -> Result<Self, E> {
        Err(E::custom("a count is no number"))
    }

    fn of<E: Error>(count: u64) -> Result<Self, E> {
        if count <= MOST_TOKENS { Ok(Self(Some(count))) } else { Err(E::custom("a count is out of range")) }
    }
}

impl Flag {
    #[expect(clippy::unnecessary_wraps, reason = "one shape of answer for all scalars")]
    fn compound<E: Error>() -> Result<Self, E> {
        Ok(Self(false))
    }
}

impl Present {
    #[expect(clippy::unnecessary_wraps, reason = "one shape of answer for all scalars")]
    fn compound<E: Error>() -> Result<Self, E> {
        Ok(Self(true))
    }
}

scalar!(Text<'a>,
    visit_borrowed_str(text: &'de str) => Ok(Text(Some(Cow::Borrowed(text)))),
    visit_str(text: &str) => Ok(Text(Some(Cow::Owned(text.to_owned())))),
    visit_bool(_value: bool) => Ok(Text(None)),
    visit_i64(_value: i64) => Ok(Text(None)),
    visit_u64(_value: u64) => Ok(Text(None)),
    visit_f64(_value: f64) => Ok(Text(None)),
);

scalar!(Count,
    visit_str(_value: &str) => Count::compound(),
    visit_bool(_value: bool) => Count::compound(),
    visit_i64(value: i64) => Count::of(u64::try_from(value).map_err(|_| E::custom("a count is negative"))?),
    visit_u64(value: u64) => Count::of(value),
    visit_f64(value: f64) => if value >= 0.0 && value <= MOST_TOKENS as f64 && value.fract() == 0.0 {
        Count::of(value as u64)
    } else {
        Count::compound()
    },
);

scalar!(Flag,
    visit_str(_value: &str) => Ok(Flag(false)),
    visit_bool(value: bool) => Ok(Flag(value)),
    visit_i64(_value: i64) => Ok(Flag(false)),
    visit_u64(_value: u64) => Ok(Flag(false)),
    visit_f64(_value: f64) => Ok(Flag(false)),
);

scalar!(Present,
    visit_str(_value: &str) => Ok(Present(true)),
    visit_bool(_value: bool) => Ok(Present(true)),
    visit_i64(_value: i64) => Ok(Present(true)),
    visit_u64(_value: u64) => Ok(Present(true)),
    visit_f64(_value: f64) => Ok(Present(true)),
);

/// The name of a field: compared and dropped, so that it is never copied.
struct Key<const N: usize>(usize);

/// Finds a field's place in the list of names that a shape reads.
struct KeyOf<const N: usize>(&'static [&'static str; N]);

impl<'de, const N: usize> serde::de::DeserializeSeed<'de> for KeyOf<N> {
    type Value = Key<N>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key<N>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<const N: usize> Visitor<'_> for KeyOf<N> {
    type Value = Key<N>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field name")
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Key<N>, E> {
        Ok(Key(self.0.iter().position(|name| *name == text).unwrap_or(N)))
    }
}

/// An object of which only the named fields are read; anything that is no object gives the default.
macro_rules! object {
    ($(#[$doc:meta])* $name:ident $(<$lt:lifetime>)? [$n:literal] {
        $($key:literal => $field:ident: $kind:ty),+ $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Debug, Default, Clone)]
        pub(super) struct $name $(<$lt>)? {
            $(pub(super) $field: $kind,)+
        }
        impl<'de $(: $lt, $lt)?> Deserialize<'de> for $name $(<$lt>)? {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Any $(<$lt>(PhantomData<&$lt ()>))?;
                impl<'de $(: $lt, $lt)?> Visitor<'de> for Any $(<$lt>)? {
                    type Value = $name $(<$lt>)?;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(stringify!($name))
                    }
                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                        const KEYS: [&str; $n] = [$($key),+];
                        let mut row = $name::default();
                        while let Some(Key::<$n>(at)) = map.next_key_seed(KeyOf(&KEYS))? {
                            match KEYS.get(at).copied() {
                                $(Some($key) => row.$field = map.next_value()?,)+
                                _ => { map.next_value::<IgnoredAny>()?; }
                            }
                        }
                        Ok(row)
                    }
                    fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> { Ok($name::default()) }
                    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> { Ok($name::default()) }
                    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> { Ok($name::default()) }
                    fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> { Ok($name::default()) }
                    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> { Ok($name::default()) }
                    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> { Ok($name::default()) }
                    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                        while seq.next_element::<IgnoredAny>()?.is_some() {}
                        Ok($name::default())
                    }
                }
                deserializer.deserialize_any(Any $(::<$lt>(PhantomData))?)
            }
        }
    };
}

object!(
    /// One line of a transcript.
    Line<'a> [10] {
        "type" => kind: Text<'a>,
        "message" => message: Message<'a>,
        "uuid" => uuid: Text<'a>,
        "timestamp" => timestamp: Text<'a>,
        "sessionId" => session: Text<'a>,
        "requestSessionId" => request_session: Text<'a>,
        "requestRef" => request_ref: Text<'a>,
        "isSidechain" => sidechain: Flag,
        "cwd" => cwd: Text<'a>,
        "modelUsage" => model_usage: CostSum,
    }
);

object!(
    /// `message` of an assistant row.
    Message<'a> [4] {
        "id" => id: Text<'a>,
        "model" => model: Text<'a>,
        "stop_reason" => stop_reason: Present,
        "usage" => usage: Tokens,
    }
);

object!(
    /// `message.usage`.
    Tokens [5] {
        "input_tokens" => input: Count,
        "output_tokens" => output: Count,
        "cache_creation_input_tokens" => cache_creation: Count,
        "cache_read_input_tokens" => cache_read: Count,
        "cache_creation" => breakdown: Breakdown,
    }
);

object!(
    /// How long cache writes are kept.
    Breakdown [1] { "ephemeral_1h_input_tokens" => one_hour: Count }
);

object!(
    /// What one model used, in a `cost-state` row.
    Cost [4] {
        "inputTokens" => input: Count,
        "outputTokens" => output: Count,
        "cacheReadInputTokens" => cache_read: Count,
        "cacheCreationInputTokens" => cache_creation: Count,
    }
);

impl Copy for Breakdown {}
impl Copy for Cost {}

impl<'de> Deserialize<'de> for CostSum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let models = deserializer.deserialize_any(Models)?;
        Ok(Self(models))
    }
}

/// Sums over the models, whatever their names.
struct Models;

impl<'de> Visitor<'de> for Models {
    type Value = Option<Cost>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("usage by model")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let add = |sum: &mut Count, more: Count| {
            sum.0 = Some(sum.0.unwrap_or(0).saturating_add(more.0.unwrap_or(0)).min(MOST_TOKENS));
        };
        let mut sum = Cost::default();
        while let Some((_, cost)) = map.next_entry::<IgnoredAny, Cost>()? {
            add(&mut sum.input, cost.input);
            add(&mut sum.output, cost.output);
            add(&mut sum.cache_read, cost.cache_read);
            add(&mut sum.cache_creation, cost.cache_creation);
        }
        Ok(Some(sum))
    }
    fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}
