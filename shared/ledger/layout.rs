//! How the fields of a record stand in its 128 bytes: one after the other, little-endian, then the version it
//! supersedes, then a check. What the fields mean is left to `record`.

use super::hash;
use super::usage::{Total, Usage};

/// A record's place in the store; links hold the place plus one, so that zero is "none".
pub(super) type Place = u32;

/// The size of every record.
pub(super) const SIZE: usize = 128;
/// Where the check stands, over all bytes before it.
pub(super) const CHECK_AT: usize = SIZE - 4;
/// Where the link to the superseded version stands.
pub(super) const PREVIOUS_AT: usize = SIZE - 8;

/// The bytes of a record.
pub(super) type Bytes = [u8; SIZE];

/// Writes fields one after the other.
pub(super) struct Writer {
    bytes: Bytes,
    at: usize,
}

impl Writer {
    pub(super) fn new(kind: u8) -> Self {
        let mut writer = Self { bytes: [0; SIZE], at: 0 };
        writer.put(&[kind]);
        writer
    }

    pub(super) fn put(&mut self, from: &[u8]) {
        self.bytes.iter_mut().skip(self.at).zip(from).for_each(|(to, from)| *to = *from);
        self.at += from.len();
    }

    pub(super) fn number(&mut self, number: u64, width: usize) {
        self.put(number.to_le_bytes().get(..width).unwrap_or_default());
    }

    pub(super) fn usage(&mut self, usage: &Usage, width: usize) {
        for count in
            [usage.input, usage.output, usage.cache_creation, usage.cache_creation_1h, usage.cache_read]
        {
            self.number(count, width);
        }
    }

    pub(super) fn total(&mut self, total: &Total) {
        self.number(total.messages, 8);
        self.usage(&total.usage, 8);
    }

    pub(super) fn done(mut self, previous: u32) -> Bytes {
        debug_assert!(self.at <= PREVIOUS_AT, "a record overflows");
        self.at = PREVIOUS_AT;
        self.number(u64::from(previous), 4);
        let check = check(&self.bytes);
        self.number(u64::from(check), 4);
        self.bytes
    }
}

/// Reads fields one after the other.
pub(super) struct Fields<'a> {
    pub(super) bytes: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn take(&mut self, length: usize) -> &'a [u8] {
        let (head, rest) = self.bytes.split_at_checked(length).unwrap_or((self.bytes, &[]));
        self.bytes = rest;
        head
    }

    pub(super) fn number(&mut self, width: usize) -> u64 {
        self.take(width).iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    pub(super) fn small(&mut self) -> u32 {
        self.number(4) as u32
    }

    pub(super) fn array<const N: usize>(&mut self) -> [u8; N] {
        self.take(N).try_into().unwrap_or([0; N])
    }

    pub(super) fn usage(&mut self, width: usize) -> Usage {
        Usage {
            input: self.number(width),
            output: self.number(width),
            cache_creation: self.number(width),
            cache_creation_1h: self.number(width),
            cache_read: self.number(width),
        }
    }

    pub(super) fn total(&mut self) -> Total {
        let messages = self.number(8);
        Total { messages, usage: self.usage(8) }
    }
}

/// The same bytes with a check that holds: lets a fuzzer past it.
pub(super) fn sealed(mut bytes: Bytes) -> Bytes {
    let check = check(&bytes);
    bytes.iter_mut().skip(CHECK_AT).zip(check.to_le_bytes()).for_each(|(to, from)| *to = from);
    bytes
}

/// The check of a record.
pub(super) fn check(bytes: &Bytes) -> u32 {
    hash::of_bytes(b'c', bytes.get(..CHECK_AT).unwrap_or_default()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_read_back_in_their_order() {
        let usage =
            Usage { input: 1, output: 2, cache_creation: 3, cache_creation_1h: 4, cache_read: 1 << 39 };
        let mut writer = Writer::new(7);
        writer.number(300, 2);
        writer.usage(&usage, 5);
        writer.total(&Total { messages: 9, usage });
        let bytes = writer.done(0);
        let mut fields = Fields { bytes: &bytes };
        assert_eq!((fields.number(1), fields.number(2), fields.usage(5)), (7, 300, usage));
        assert_eq!(fields.total(), Total { messages: 9, usage });
    }
}
