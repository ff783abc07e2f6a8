//! The ledger counts what the slow counter counts: on any bytes, in any order, in any pieces.

use crate::corpus::{Chance, home};
use crate::home::{counted, updated, world};
use crate::reference::{File, count_all};
use serde_json::{Value, json};
use shared::ledger::count::Counter;
use shared::ledger::publish::Sum;
use shared::ledger::rebuild;
use shared::ledger::usage::Total;
use std::fs;
use std::io::Write;
use std::path::Path;
use support::golden::differences;

/// How many mutated inputs are tried.
const MUTATIONS: u64 = 10_000;

/// What the filter counts in one file.
fn filtered(file: &File) -> Value {
    let mut on_disk = tempfile::tempfile().unwrap();
    on_disk.write_all(&file.bytes).unwrap();
    let mut counter = Counter::default();
    counter.read(&on_disk, Path::new(&file.path)).unwrap();
    let (mut totals, mut no_id) = (Total::default(), Total::default());
    for fact in counter.facts() {
        if fact.without_id { no_id.add(fact.usage) } else { totals.add(fact.usage) }
    }
    json!({"totals": Sum::of(totals, None), "no_id": Sum::of(no_id, None)})
}

fn mutate(chance: &mut Chance, bytes: &mut Vec<u8>) {
    let at = chance.below(bytes.len());
    match chance.below(7) {
        0 | 1 => bytes[at] ^= 1 << chance.below(8),
        2 => bytes.truncate(at),
        3 => {
            let end = (at + chance.below(40)).min(bytes.len());
            bytes.drain(at..end);
        }
        4 => bytes.insert(at, *chance.pick(b"\"\\{}[]:,\n\r \x00\xff09-eu")),
        5 => {
            let end = (at + chance.below(600)).min(bytes.len());
            let copy = bytes[at..end].to_vec();
            let to = chance.below(bytes.len());
            bytes.splice(to..to, copy);
        }
        _ => {
            let end = (at + chance.below(8)).min(bytes.len());
            bytes[at..end].fill(b'9');
        }
    }
}

#[test]
fn mutated_transcripts_are_counted_as_the_slow_counter_counts_them() {
    let mut bases = Vec::new();
    for seed in 0..40 {
        bases.extend(home(&mut Chance::new(seed + 1), 3));
    }
    for seed in 0..MUTATIONS {
        let mut chance = Chance::new(seed + 1000);
        let mut file = chance.pick(&bases).clone();
        for _ in 0..=chance.below(3) {
            if !file.bytes.is_empty() {
                mutate(&mut chance, &mut file.bytes);
            }
        }
        // The filter reads a last line without its end, the ledger leaves it for later.
        file.bytes.push(b'\n');
        let expected = count_all(std::slice::from_ref(&file));
        let wrong = differences(
            "",
            &json!({"totals": expected["totals"], "no_id": expected["no_id"]}),
            &filtered(&file),
        );
        assert!(wrong.is_empty(), "seed {seed}: {wrong:?}\n{}", String::from_utf8_lossy(&file.bytes));
    }
}

/// Lays files down in pieces and in any order, updating now and then.
fn lay(chance: &mut Chance, at: &Path, files: &[File]) {
    let world = world(at);
    let mut left: Vec<(usize, usize)> = files.iter().enumerate().map(|(place, _)| (place, 0)).collect();
    while !left.is_empty() {
        let pick = chance.below(left.len());
        let (place, from) = left[pick];
        let file = &files[place];
        let path = at.join(&file.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let end = if chance.one_in(2) {
            file.bytes.len()
        } else {
            from + chance.below(file.bytes.len() - from + 1)
        };
        let mut on_disk = fs::OpenOptions::new().append(true).create(true).open(&path).unwrap();
        on_disk.write_all(&file.bytes[from..end]).unwrap();
        if end == file.bytes.len() {
            left.swap_remove(pick);
        } else {
            left[pick].1 = end;
        }
        if chance.one_in(6) {
            updated(&world);
        }
    }
}

#[test]
fn order_and_pieces_never_change_what_is_counted() {
    for seed in 0..40 {
        let mut chance = Chance::new(seed + 1);
        let files = home(&mut chance, 30);
        let expected = count_all(&files);
        let dir = tempfile::tempdir().unwrap();
        lay(&mut chance, dir.path(), &files);
        let world = world(dir.path());
        updated(&world);
        let wrong = differences("", &expected, &counted(&world));
        assert!(wrong.is_empty(), "seed {seed}: {wrong:#?}");
        if chance.one_in(3) {
            rebuild(&world, &|_, _| {}, &|_, _, _| None).unwrap();
            let wrong = differences("", &expected, &counted(&world));
            assert!(wrong.is_empty(), "seed {seed}, rebuilt: {wrong:#?}");
        }
        for file in &files {
            fs::remove_file(dir.path().join(&file.path)).unwrap();
        }
        rebuild(&world, &|_, _| {}, &|_, _, _| None).unwrap();
        let wrong = differences("", &expected, &counted(&world));
        assert!(wrong.is_empty(), "seed {seed}, all transcripts gone: {wrong:#?}");
    }
}
