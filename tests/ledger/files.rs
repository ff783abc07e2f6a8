//! What happens to transcripts: they shrink, are replaced, grow while they are read, vanish, hold endless
//! lines. And what a budget leaves for later.

use crate::home::{counted, published, updated, world};
use shared::ledger::{Budget, Ledger, update};
use std::fs;
use std::path::PathBuf;

struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        let path = self.dir.path().join(".claude/projects/-p").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn output(&self) -> u64 {
        let world = world(self.dir.path());
        updated(&world);
        counted(&world)["totals"]["output"].as_u64().unwrap()
    }
}

fn row(id: &str, output: u64) -> String {
    format!(
        "{{\"type\":\"assistant\",\"message\":{{\"id\":\"{id}\",\"model\":\"m\",\"usage\":{{\"output_tokens\":{output}}}}},\"uuid\":\"{id}\",\"sessionId\":\"s\"}}\n"
    )
}

#[test]
fn a_file_that_shrinks_or_is_replaced_is_read_again() {
    let home = Home::new();
    home.write("s.jsonl", &(row("a", 1) + &row("b", 10)));
    assert_eq!(home.output(), 11);
    home.write("s.jsonl", &row("c", 100));
    assert_eq!(home.output(), 111, "it shrank");
    home.write("s.jsonl", &row("d", 200));
    assert_eq!(home.output(), 311, "as long as before");
    home.write("s.jsonl", &(row("e", 400) + &row("f", 800)));
    assert_eq!(home.output(), 1511, "longer, but another beginning");
    fs::write(home.path("new"), row("g", 1000)).unwrap();
    fs::rename(home.path("new"), home.path("s.jsonl")).unwrap();
    assert_eq!(home.output(), 2511, "another file under its name");
}

#[test]
fn a_better_row_that_comes_later_takes_the_place_of_the_first() {
    let home = Home::new();
    home.write("s.jsonl", &row("a", 1));
    assert_eq!(home.output(), 1);
    home.write("s.jsonl", &(row("a", 1) + &row("a", 260)));
    assert_eq!(home.output(), 260);
    home.write("t.jsonl", &row("a", 7));
    assert_eq!(home.output(), 260);
}

#[test]
fn a_vanished_file_keeps_its_tokens_and_comes_back_without_counting_twice() {
    let home = Home::new();
    home.write("s.jsonl", &row("a", 5));
    assert_eq!(home.output(), 5);
    fs::remove_file(home.path("s.jsonl")).unwrap();
    assert_eq!(home.output(), 5);
    home.write("s.jsonl", &(row("a", 5) + &row("b", 6)));
    assert_eq!(home.output(), 11);
}

#[test]
fn endless_lines_and_rows_in_them_are_read() {
    let home = Home::new();
    let filler = "x".repeat(9 << 20);
    let long = row("b", 20).replace("\"model\":\"m\"", &format!("\"model\":\"m\",\"content\":\"{filler}\""));
    let user = format!("{{\"type\":\"user\",\"message\":\"{filler}\"}}\n");
    home.write("s.jsonl", &(row("a", 1) + &user + &long + &row("c", 300)));
    assert_eq!(home.output(), 321);
}

#[test]
fn a_budget_leaves_the_rest_for_later_and_says_so() {
    let home = Home::new();
    let filler = format!("{{\"type\":\"user\",\"message\":\"{}\"}}\n", "x".repeat(20_000));
    for file in 0..6_u64 {
        let rows: String = (0..20).map(|n| row(&format!("m{file}-{n}"), 1) + &filler).collect();
        home.write(&format!("s{file}.jsonl"), &rows);
    }
    let world = world(home.dir.path());
    let budget = Budget { max_bytes: 500_000, ..Budget::HOOK };
    let mut last = 0;
    for _ in 0..40 {
        let outcome = update(&world, &budget).unwrap();
        let messages = counted(&world)["totals"]["messages"].as_u64().unwrap();
        assert!(messages >= last);
        last = messages;
        assert_eq!(published(&world).catching_up, outcome.bytes_left > 0);
        if outcome.bytes_left == 0 {
            break;
        }
        assert!(outcome.bytes <= 1_000_000, "{} bytes", outcome.bytes);
    }
    assert_eq!(last, 120);
}

#[test]
fn what_no_row_shows_is_told_for_each_session() {
    let home = Home::new();
    let cost = "{\"type\":\"cost-state\",\"sessionId\":\"s\",\"modelUsage\":{\"m\":{\"inputTokens\":8,\"outputTokens\":642}}}\n";
    home.write("s.jsonl", &(row("a", 42) + cost));
    let world = world(home.dir.path());
    updated(&world);
    let unlogged = Ledger::open(&world).unwrap().unlogged();
    assert_eq!(unlogged.len(), 1);
    assert_eq!((&*unlogged[0].session, unlogged[0].usage.input, unlogged[0].usage.output), ("s", 8, 600));
}

#[test]
fn skipped_lines_are_counted_once_also_when_the_file_goes() {
    let home = Home::new();
    let junk = "{\"type\":\"assistant\",\"message\":{\"usage\":{\"out\n";
    home.write("s.jsonl", &(row("a", 1) + junk));
    let world = world(home.dir.path());
    updated(&world);
    updated(&world);
    assert_eq!(Ledger::open(&world).unwrap().skipped_lines(), 1);
    fs::remove_file(home.path("s.jsonl")).unwrap();
    updated(&world);
    assert_eq!(Ledger::open(&world).unwrap().skipped_lines(), 1);
}
