//! A fast hash that is the same on every machine and in every version, since the store keeps its values.

/// An odd number without structure (the golden ratio in 64 bits).
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// Multiplies to 128 bits and folds the halves together.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

/// The hash of some bytes; `kind` keeps the hashes of different nouns apart.
pub fn of_bytes(kind: u8, bytes: &[u8]) -> u64 {
    let mut hash = MIX ^ (u64::from(kind) << 56) ^ bytes.len() as u64;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        hash = fold(hash ^ u64::from_le_bytes(word.try_into().unwrap_or_default()), MIX);
    }
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(words.remainder()) {
        *to = *from;
    }
    fold(fold(hash ^ u64::from_le_bytes(last), MIX) ^ MIX, MIX.rotate_left(32))
}

/// The hash of numbers.
pub fn of_numbers(kind: u8, numbers: [u64; 2]) -> u64 {
    let mixed = fold(numbers[0] ^ MIX, MIX.rotate_left(17) ^ u64::from(kind));
    fold(mixed ^ numbers[1] ^ (u64::from(kind) << 56), MIX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn it_never_changes() {
        assert_eq!(of_bytes(1, b"msg_01"), 6_339_006_609_856_852_208);
        assert_eq!(of_numbers(4, [1, 2]), 8_974_482_261_773_372_227);
    }

    #[test]
    fn neighbours_lie_apart() {
        let mut seen = HashSet::new();
        for n in 0..20_000_u64 {
            assert!(seen.insert(of_bytes(1, format!("msg_{n}").as_bytes())));
            assert!(seen.insert(of_numbers(4, [n, 0])));
            assert!(seen.insert(of_numbers(4, [0, n + 1])));
        }
        let crowded =
            (0..1024).map(|n| of_bytes(1, format!("msg_{n}").as_bytes()) >> 54).collect::<HashSet<_>>();
        assert!(crowded.len() > 600, "{}", crowded.len());
    }
}
