//! Bytes as hexadecimal digits.

/// Two small digits a byte.
pub fn text(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_byte_has_two_digits() {
        assert_eq!(super::text(&[0, 1, 0xa0, 0xff]), "0001a0ff");
    }
}
