//! The audit over days, sizes, restarts, kills and forgeries.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use jiff::Timestamp;
use shared::audit_files as files;
use shared::audit_line::AuditLine;

use super::journal::{Journal, Keeping};
use super::pack;
use super::query::{Query, each};
use super::verify::verify;

fn at(time: &str) -> Timestamp {
    time.parse().unwrap()
}

fn lines(time: &str, numbers: std::ops::Range<u32>) -> Vec<AuditLine> {
    let line = |number| AuditLine {
        v: 1,
        ts: time.to_owned(),
        request_id: format!("r-{number}"),
        provider: "zai".into(),
        ..AuditLine::default()
    };
    numbers.map(line).collect()
}

fn write(journal: &mut Journal, time: &str, numbers: std::ops::Range<u32>) {
    journal.append(&mut lines(time, numbers), at(time)).unwrap();
}

fn ids(directory: &Path) -> Vec<String> {
    let mut ids = Vec::new();
    each(directory, &Query::default(), |line| {
        ids.push(line.request_id);
        true
    });
    ids
}

/// Packs by hand what the background thread may not have packed yet.
fn packed(directory: &Path) {
    for file in files::list(directory) {
        if !file.packed && !file.path.ends_with(files::CURRENT) {
            let _ = pack::pack(&file.path);
        }
    }
}

#[test]
fn the_chain_goes_on_over_days_sizes_restarts_and_packing() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path();
    let keeping = Keeping { largest: 1_000, days: 90 };
    let mut journal = Journal::open(dir, keeping, at("2026-02-01T10:00:00Z")).unwrap();
    write(&mut journal, "2026-02-01T10:00:00Z", 0..4);
    write(&mut journal, "2026-02-01T11:00:00Z", 4..8);
    write(&mut journal, "2026-02-02T00:00:01Z", 8..9);
    let noted = journal.head().to_owned();
    drop(journal);
    packed(dir);
    let mut journal = Journal::open(dir, keeping, at("2026-02-02T01:00:00Z")).unwrap();
    write(&mut journal, "2026-02-02T01:00:00Z", 9..10);
    let finding = verify(dir, Some(&noted));
    assert_eq!(
        (finding.lines, finding.broken.clone(), finding.met, finding.torn),
        (10, None, true, false),
        "{finding:?}"
    );
    assert!(finding.files >= 3, "{finding:?}");
    assert_eq!(finding.head.as_deref(), Some(journal.head()));
    assert_eq!(ids(dir), (0..10).map(|number| format!("r-{number}")).collect::<Vec<_>>());
    for file in files::list(dir) {
        assert_eq!(fs::metadata(&file.path).unwrap().mode() & 0o777, 0o600, "{}", file.path.display());
    }
    // Only one writes.
    assert!(Journal::open(dir, keeping, at("2026-02-02T01:00:00Z")).is_err());
}

#[test]
fn a_torn_last_line_is_cut_off_and_the_chain_holds() {
    let home = tempfile::tempdir().unwrap();
    let now = "2026-02-01T10:00:00Z";
    let mut journal = Journal::open(home.path(), Keeping::default(), at(now)).unwrap();
    write(&mut journal, now, 0..3);
    drop(journal);
    let path = home.path().join(files::CURRENT);
    let whole = fs::read(&path).unwrap();
    let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for end in last..whole.len() {
        fs::write(&path, &whole[..end]).unwrap();
        let torn = verify(home.path(), None);
        assert_eq!((torn.lines, torn.broken.is_none(), torn.torn), (2, true, end > last), "cut at {end}");
        let mut journal = Journal::open(home.path(), Keeping::default(), at(now)).unwrap();
        write(&mut journal, now, 7..8);
        let finding = verify(home.path(), None);
        assert_eq!((finding.lines, finding.broken, finding.torn), (3, None, false), "cut at {end}");
    }
}

#[test]
fn what_was_changed_added_or_taken_out_breaks_the_chain() {
    let home = tempfile::tempdir().unwrap();
    let now = "2026-02-01T10:00:00Z";
    let mut journal = Journal::open(home.path(), Keeping::default(), at(now)).unwrap();
    write(&mut journal, now, 0..4);
    drop(journal);
    let path = home.path().join(files::CURRENT);
    let whole = fs::read_to_string(&path).unwrap();
    let split: Vec<&str> = whole.split_inclusive('\n').collect();
    let changed = whole.replace("r-2", "r-9");
    let without = [split[0], split[1], split[3]].concat();
    let swapped = [split[0], split[2], split[1], split[3]].concat();
    let doubled = [split[0], split[1], split[1], split[2], split[3]].concat();
    for (what, text, line) in
        [("changed", changed, 3), ("taken out", without, 3), ("swapped", swapped, 2), ("doubled", doubled, 3)]
    {
        fs::write(&path, text).unwrap();
        assert_eq!(verify(home.path(), None).broken.unwrap().line, line, "{what}");
    }
}

#[test]
fn old_files_go_when_their_time_is_over() {
    let home = tempfile::tempdir().unwrap();
    let keeping = Keeping { largest: 1 << 20, days: 30 };
    let mut journal = Journal::open(home.path(), keeping, at("2026-01-01T10:00:00Z")).unwrap();
    for (number, day) in (0..).zip(["2026-01-01", "2026-01-02", "2026-02-10", "2026-02-11"]) {
        write(&mut journal, &format!("{day}T10:00:00Z"), number..number + 1);
        packed(home.path());
    }
    // A file's time begins when the next one does: that of r-1 was closed on the 10th.
    assert_eq!(ids(home.path()), ["r-1", "r-2", "r-3"]);
    assert_eq!(verify(home.path(), None).broken, None);
}

#[test]
fn lines_that_were_lost_are_told_by_the_next_one() {
    let home = tempfile::tempdir().unwrap();
    let now = "2026-02-01T10:00:00Z";
    let mut journal = Journal::open(home.path(), Keeping::default(), at(now)).unwrap();
    journal.missed(5);
    write(&mut journal, now, 0..2);
    write(&mut journal, now, 2..3);
    assert_eq!((verify(home.path(), None).lost, journal.lost()), (5, 0));
}

#[test]
fn a_foreign_last_line_is_told_and_not_built_upon() {
    let home = tempfile::tempdir().unwrap();
    let now = "2026-02-01T10:00:00Z";
    let mut journal = Journal::open(home.path(), Keeping::default(), at(now)).unwrap();
    write(&mut journal, now, 0..2);
    drop(journal);
    let mut file = OpenOptions::new().append(true).open(home.path().join(files::CURRENT)).unwrap();
    file.write_all(b"{\"request_id\":\"forged\"}\n").unwrap();
    let mut journal = Journal::open(home.path(), Keeping::default(), at(now)).unwrap();
    write(&mut journal, now, 2..3);
    assert_eq!(verify(home.path(), None).broken.unwrap().line, 3);
    assert_eq!(ids(home.path()), ["r-0", "r-1", "r-2"]);
}
