//! What must hold for any bytes as an answer: the fuzz target `events` and the tests ask it alike.

use super::{Reader, Seen};

/// What an answer is packed with, by the input's first byte.
const PACKINGS: [&str; 6] = ["", "gzip", "deflate", "br", "zstd", "nonsense"];
/// What kind of answer it is, by the same byte.
const KINDS: [&str; 3] = ["text/event-stream", "application/json", "text/html"];

/// Never a panic, nothing kept without end, and the same is seen however the bytes are cut. The first byte chooses kind
/// and packing, the second how the rest is cut.
pub fn check(bytes: &[u8]) {
    let [first, second, answer @ ..] = bytes else { return };
    let (kind, packing) =
        (KINDS[*first as usize % KINDS.len()], PACKINGS[*first as usize / 3 % PACKINGS.len()]);
    let whole = seen(kind, packing, &[answer]);
    let pieces: Vec<&[u8]> = answer.chunks(*second as usize % 7 + 1).collect();
    let (one, other) = answer.split_at(*second as usize % (answer.len() + 1));
    for cut in [seen(kind, packing, &pieces), seen(kind, packing, &[one, b"", other])] {
        assert_eq!(cut.unread, whole.unread, "{kind} {packing}");
        // What was packed wrongly is told as such; how much of it could be read is left to chance.
        assert!(cut == whole || (whole.unread && !packing.is_empty()), "{kind} {packing}: {cut:?} {whole:?}");
    }
    let kept = [&whole.message_id, &whole.model];
    assert!(kept.into_iter().flatten().all(|text| text.len() <= 1_200), "{whole:?}");
    assert!(whole.signatures.len() <= 256);
    if kind == KINDS[2] {
        assert_eq!(whole, Seen { unread: whole.unread, ..Seen::default() });
    }
}

fn seen(kind: &str, packing: &str, pieces: &[&[u8]]) -> Seen {
    let mut reader = Reader::new(kind, packing);
    for piece in pieces {
        reader.feed(piece);
    }
    reader.end();
    reader.seen().clone()
}

#[cfg(test)]
mod tests {
    #[test]
    fn ten_thousand_damaged_answers_are_seen_alike_however_they_are_cut() {
        crate::scan::replay::replay("events", b"\r\n: {}\",de\x1f\x8b", super::check);
    }
}
