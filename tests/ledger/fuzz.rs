//! The fuzz targets' corpus, replayed and mutated: what a fuzzer would look for, in every run.

use crate::corpus::Chance;
use shared::ledger::fuzz::{row, store};
use std::fs;
use std::path::Path;

/// How often each target is tried with mutated inputs.
const MUTATIONS: u64 = 10_000;

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut paths: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let seeds: Vec<_> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(seeds.len() >= 4, "the corpus of {target} is lost");
    seeds
}

fn replay(target: &str, check: fn(&[u8])) {
    let seeds = seeds(target);
    for seed in &seeds {
        check(seed);
    }
    for seed in 0..MUTATIONS {
        let mut chance = Chance::new(seed + 3);
        let mut bytes = chance.pick(&seeds).clone();
        for _ in 0..=chance.below(4) {
            let at = chance.below(bytes.len());
            match chance.below(4) {
                0 if !bytes.is_empty() => bytes[at] ^= 1 << chance.below(8),
                1 => bytes.truncate(at),
                2 => bytes.insert(at, chance.next() as u8),
                _ => bytes.extend_from_within(at..(at + chance.below(50)).min(bytes.len())),
            }
        }
        check(&bytes);
    }
}

#[test]
fn any_line_is_read_without_a_panic_and_both_ways_alike() {
    replay("row", row);
}

#[test]
fn any_store_is_read_without_a_panic() {
    replay("store", store);
}
