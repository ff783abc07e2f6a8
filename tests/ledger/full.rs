//! A disk without room: the update fails, tells it, and changes nothing that counts.

use crate::corpus::{Chance, home};
use crate::home::{counted, updated, world};
use crate::reference::count_all;
use shared::exit::Exit;
use shared::ledger::{Budget, update};
use std::fs;
use support::golden::differences;
use support::tmpfs::SmallDisk;

#[test]
fn a_full_disk_costs_nothing_but_the_update() {
    let disk = SmallDisk::new(4096);
    let world = world(disk.path());
    let files = home(&mut Chance::new(3), 60);
    let mut failed = 0;
    for (round, left) in (0..16).map(|round| (round, (15 - round) * 4096)) {
        for (at, file) in files.iter().enumerate() {
            let path = disk.path().join(&file.path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            // A little more of each in every round.
            let part = if round == 15 { file.bytes.len() } else { file.bytes.len() * (round + at % 3) / 18 };
            fs::write(path, &file.bytes[..part]).unwrap();
        }
        disk.fill_but(left);
        match update(&world, &Budget::WHOLE) {
            Ok(_) => {}
            Err(error) => {
                failed += 1;
                assert_eq!(error.exit(), Exit::Io, "{error}");
                assert!(error.what_next().is_some_and(|hint| hint.contains("full")), "{error}");
            }
        }
        disk.empty();
        if round % 4 == 3 {
            updated(&world);
        }
    }
    assert!(failed >= 3, "the disk was full only {failed} times");
    updated(&world);
    let wrong = differences("", &count_all(&files), &counted(&world));
    assert!(wrong.is_empty(), "{wrong:#?}");
}
