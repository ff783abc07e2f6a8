//! Base64 as `base64(1)` writes it: prompts travel in it through as many shells as need be.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes, with padding, on one line.
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    let mut text = String::new();
    for piece in bytes.as_ref().chunks(3) {
        let mut word = [0; 3];
        word[..piece.len()].copy_from_slice(piece);
        let bits = u32::from_be_bytes([0, word[0], word[1], word[2]]);
        for place in 0..4 {
            let sextet = (bits >> (18 - 6 * place)) & 63;
            text.push(if place > piece.len() { '=' } else { char::from(ALPHABET[sextet as usize]) });
        }
    }
    text
}

/// Decodes; white space and padding are passed over, anything else makes it nothing.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for symbol in text.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=') {
        let sextet = ALPHABET.iter().position(|known| *known == symbol)?;
        bits = (bits << 6) | sextet as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_texts_both_ways() {
        for (plain, coded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("#say 'ä'\n", "I3NheSAnw6QnCg==")]
        {
            assert_eq!(encode(plain), coded);
            assert_eq!(decode(coded).as_deref(), Some(plain.as_bytes()));
        }
        assert_eq!(decode("Zm9\n v"), Some(b"foo".to_vec()));
        assert_eq!(decode("Zm9*"), None);
    }
}
