//! What must hold for any bytes at all: called by the fuzz targets and, with their corpus, by the tests.

use super::row::{Kind, Reader, read_long};
use super::state;
use super::{layout, record};

/// Any bytes as a line: no panic, and reading it at once or in a stream gives the same.
pub fn row(bytes: &[u8]) {
    for line in bytes.split(|byte| *byte == b'\n') {
        let mut reader = Reader::default();
        let whole = format!("{:?}", reader.read(line));
        if std::str::from_utf8(line).is_err() {
            continue;
        }
        let streamed = format!("{:?}", read_long(line));
        assert!(whole == streamed, "{whole} is not {streamed}");
        if let Kind::Message(row) = Reader::default().read(line) {
            let _ = row.usage.fresh();
        }
    }
}

/// Any bytes as the state and as records: what is read is what would be written.
pub fn store(bytes: &[u8]) {
    if let Some(read) = state::decode(bytes) {
        assert!(
            state::decode(&state::encode(&read)).as_ref() == Some(&read),
            "a state changed when it was written again"
        );
    }
    for chunk in bytes.as_chunks::<{ layout::SIZE }>().0 {
        let previous = record::previous(chunk);
        let sealed = layout::sealed(*chunk);
        for bytes in [chunk, &sealed] {
            let again = match record::read(bytes) {
                Some(record::Record::Message(message)) => message.bytes(previous),
                Some(record::Record::Session(session)) => session.bytes(previous),
                Some(record::Record::Grant(grant)) => grant.bytes(previous),
                Some(record::Record::Served(served)) => served.bytes(previous),
                _ => continue,
            };
            assert!(
                record::read(&again) == record::read(bytes),
                "a record changed when it was written again"
            );
        }
    }
}
