//! How many tokens a request has, for providers that do not count: an estimate from its bytes, made at once.

/// Tokens of a picture, as Anthropic counts one of the usual size.
const PICTURE: u64 = 1_600;
/// A text in base64 is at least this long before it is taken for a picture or a document.
const BLOB: usize = 1_024;
/// Letters of a token in text and JSON.
const LETTERS: u64 = 4;

/// An estimate for this body.
pub fn tokens(body: &[u8]) -> u64 {
    let (mut letters, mut wide, mut pictures) = (0_u64, 0_u64, 0_u64);
    let mut rest = body;
    while !rest.is_empty() {
        let end = memchr::memmem::find(rest, b"\"data\"").map_or(rest.len(), |at| at + 6);
        let (text, after) = rest.split_at(end);
        letters += text.len() as u64;
        // Tokens of numbers are half as long as those of words.
        letters += text.iter().filter(|byte| byte.is_ascii_digit()).count() as u64;
        // Of a letter of several bytes all but the first continue it.
        wide += text.iter().filter(|byte| **byte & 0xc0 == 0x80).count() as u64;
        let value = after.iter().take_while(|byte| matches!(byte, b':' | b'"' | b' ')).count();
        let blob = after.get(value..).unwrap_or_default();
        let length =
            blob.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte)).count();
        let skipped = if length >= BLOB {
            pictures += 1;
            value + length
        } else {
            0
        };
        rest = after.get(skipped..).unwrap_or_default();
    }
    // Wide letters are mostly a token each, and their bytes were counted as letters.
    let narrow = letters.saturating_sub(wide);
    (narrow / LETTERS + wide / 3 + pictures * PICTURE).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_counts_by_its_letters_and_a_picture_by_the_piece() {
        let text =
            |content: &str| format!("{{\"messages\":[{{\"role\":\"user\",\"content\":\"{content}\"}}]}}");
        let frame = tokens(text("").as_bytes());
        assert_eq!(tokens(text(&"word".repeat(1000)).as_bytes()) - frame, 1000);
        assert_eq!(tokens(text(&"12345678".repeat(1000)).as_bytes()) - frame, 4000);
        let picture = format!("{{\"type\":\"base64\",\"data\":\"{}\"}}", "A".repeat(1 << 20));
        assert!((PICTURE..PICTURE + 100).contains(&tokens(picture.as_bytes())));
        assert!(tokens(text(&"家".repeat(900)).as_bytes()) - frame >= 600);
        assert_eq!(tokens(b""), 1);
    }
}
