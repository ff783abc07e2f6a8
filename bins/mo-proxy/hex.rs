//! Bytes as hexadecimal digits.

/// Two small digits a byte.
pub fn text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}

fn digit(half: u8) -> char {
    char::from(if half < 10 { b'0' + half } else { b'a' + half - 10 })
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_byte_has_two_digits() {
        assert_eq!(super::text(&[0, 1, 0xa0, 0xff]), "0001a0ff");
    }
}
