//! A fuzz target's corpus, replayed and mutated: what a fuzzer would look for, in every run of the tests.

use std::fs;
use std::path::Path;

/// How often a mutated input is tried.
const MUTATIONS: usize = 10_000;

/// Tries the corpus of this target, and mutations of it made with these bytes among others.
pub fn replay(target: &str, spice: &[u8], check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let seeds: Vec<_> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(seeds.len() >= 4, "the corpus of {target} is lost");
    for seed in &seeds {
        check(seed);
    }
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % bound.max(1) as u64) as usize
    };
    for _ in 0..MUTATIONS {
        let mut bytes = seeds[below(seeds.len())].clone();
        for _ in 0..=below(3) {
            let at = below(bytes.len());
            match below(5) {
                0 if !bytes.is_empty() => bytes[at] ^= 1 << below(8),
                1 => bytes.truncate(at),
                2 => bytes.insert(at, below(256) as u8),
                3 => bytes.insert(at, spice[below(spice.len())]),
                _ => bytes.extend_from_within(at..(at + below(60)).min(bytes.len())),
            }
        }
        check(&bytes);
    }
}
