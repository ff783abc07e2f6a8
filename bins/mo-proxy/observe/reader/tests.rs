//! Answers in every packing and chunking, cut, wrong and hostile.

use std::io::Write;

use proptest::prelude::*;

use shared::ledger::usage::Usage;

use super::*;

/// A recorded stream: comments, pings, both line ends, data in two lines, text that looks like more than it is.
const STREAM: &str = concat!(
    ": hello\r\n\r\n",
    "event: message_start\r\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"model\":\"claude-opus-5-5\",",
    "\"usage\":{\"input_tokens\":12,\"cache_creation_input_tokens\":5,\"cache_creation\":{\"ephemeral_1h_input_tokens\":3},",
    "\"cache_read_input_tokens\":7,\"output_tokens\":1}}}\r\n\r\n",
    "event: ping\ndata: {\"type\":\"ping\"}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"\\\"usage\\\": message_delta äöü 🙂\"}}\n\n",
    "data:{\"type\":\"message_delta\",\ndata: \"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":42}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

fn expected() -> Seen {
    Seen {
        message_id: Some("msg_1".into()),
        model: Some("claude-opus-5-5".into()),
        usage: Usage { input: 12, output: 42, cache_creation: 5, cache_creation_1h: 3, cache_read: 7 },
        has_usage: true,
        finished: true,
        failure: None,
        unread: false,
        signatures: Vec::new(),
    }
}

fn read(content_type: &str, encoding: &str, pieces: &[&[u8]]) -> Seen {
    let mut reader = Reader::new(content_type, encoding);
    for piece in pieces {
        reader.feed(piece);
    }
    reader.end();
    reader.seen().clone()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// One uncompressed br meta-block: enough to see that the decoder is wired right.
fn brotli(bytes: &[u8]) -> Vec<u8> {
    // WBITS 16, then MLEN-1 in 16 bits with ISLAST 0 and ISUNCOMPRESSED 1, then the bytes, then an empty last block.
    let length = (bytes.len() - 1) as u32;
    let header = length << 4 | 1 << 20;
    let mut packed = header.to_le_bytes()[..3].to_vec();
    packed.extend_from_slice(bytes);
    packed.push(3);
    packed
}

/// Cuts the bytes at these places.
fn cut<'a>(bytes: &'a [u8], places: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = places.iter().map(|place| place % (bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

#[test]
fn a_stream_tells_its_tokens_and_its_end() {
    assert_eq!(read("text/event-stream; charset=utf-8", "", &[STREAM.as_bytes()]), expected());
}

#[test]
fn packed_streams_are_understood_byte_by_byte_and_whole() {
    let plain = STREAM.as_bytes();
    let packed =
        [("gzip", gzip(plain)), ("deflate", deflate(plain)), ("zstd", zstd(plain)), ("br", brotli(plain))];
    for (encoding, packed) in packed {
        assert_eq!(read("text/event-stream", encoding, &[&packed]), expected(), "{encoding}");
        let bytes: Vec<&[u8]> = packed.chunks(1).collect();
        assert_eq!(read("text/event-stream", encoding, &bytes), expected(), "{encoding} byte by byte");
    }
}

#[test]
fn a_cut_stream_is_not_finished_and_keeps_what_it_said() {
    let cut = STREAM.find("event: message_stop").unwrap();
    let seen = read("text/event-stream", "", &[&STREAM.as_bytes()[..cut]]);
    assert!(!seen.finished);
    assert_eq!(seen.usage.output, 42);
}

#[test]
fn an_error_inside_a_stream_is_seen() {
    let stream = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let seen = read("text/event-stream", "", &[stream.as_bytes()]);
    assert_eq!(seen.failure.unwrap().kind, "overloaded_error");
    // Some providers leave the type out, or send a bare text.
    let seen = read("text/event-stream", "", &[b"data: {\"error\":\"busy\"}\r\r"]);
    assert_eq!(seen.failure.unwrap().message, "busy");
}

#[test]
fn a_document_is_read_at_its_end() {
    let document = br#"{"id":"msg_2","type":"message","model":"glm","content":[{"type":"text","text":"x"}],"usage":{"input_tokens":3,"output_tokens":null}}"#;
    let seen = read("application/json", "", &cut(document, &[10, 50]));
    assert_eq!((seen.usage.input, seen.finished, seen.model.as_deref()), (3, true, Some("glm")));
    // Its tokens stand last, however long it is.
    let long = format!("{{\"content\":\"{}\",\"usage\":{{\"input_tokens\":3}}}}", "x".repeat(3 << 20));
    let pieces: Vec<&[u8]> = long.as_bytes().chunks(16 << 10).collect();
    assert_eq!(read("application/json", "", &pieces).usage.input, 3);
    let seen = read("application/json", "gzip", &[&gzip(document)]);
    assert_eq!(seen.message_id.as_deref(), Some("msg_2"));
    assert!(read("application/json", "", &[b"<html>"]).unread);
    let error = br#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#;
    assert_eq!(read("application/json", "", &[error]).failure.unwrap().kind, "rate_limit_error");
}

#[test]
fn a_bomb_and_an_unknown_packing_are_left_alone() {
    let bomb = gzip(&vec![b'x'; 64 << 20]);
    let mut reader = Reader::new("text/event-stream", "gzip");
    for _ in 0..10 {
        reader.feed(&bomb);
    }
    assert!(reader.seen().unread);
    assert!(read("text/event-stream", "snappy", &[b"x"]).unread);
    assert!(read("text/event-stream", "gzip", &[b"this is not gzip at all"]).unread);
    assert_eq!(read("text/html", "", &[b"<html>"]), Seen::default());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn ten_thousand_chunkings_give_the_same(places in prop::collection::vec(any::<usize>(), 0..40)) {
        let pieces = cut(STREAM.as_bytes(), &places);
        prop_assert_eq!(read("text/event-stream", "", &pieces), expected());
    }

    #[test]
    fn no_bytes_make_it_fail(bytes in prop::collection::vec(any::<u8>(), 0..400), places in prop::collection::vec(any::<usize>(), 0..8), kind in 0..5_usize) {
        let encoding = ["", "gzip", "br", "zstd", "deflate"][kind];
        for content_type in ["text/event-stream", "application/json"] {
            read(content_type, encoding, &cut(&bytes, &places));
        }
    }
}
