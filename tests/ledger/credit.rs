//! Who is credited: a worker's session belongs to the manager session in its dispatch record, exactly.

use crate::home::{counted, published, updated, world};
use serde_json::{Value, json};
use shared::ledger::{Budget, rebuild, update};
use shared::world::World;
use std::fs;

/// A home whose answers and records are written by hand.
pub struct Home {
    pub dir: tempfile::TempDir,
    pub world: World,
}

impl Home {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let world = world(dir.path());
        Self { dir, world }
    }

    /// Adds an answer of so many tokens at a minute of an hour.
    pub fn answer(&self, home: &str, session: &str, minute: u64, output: u64) {
        let path = self.dir.path().join(home).join("projects/-p").join(format!("{session}.jsonl"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let row = json!({
            "type": "assistant", "sessionId": session, "uuid": format!("{session}-{minute}"),
            "timestamp": format!("2026-11-03T10:{minute:02}:00.000Z"),
            "message": {"id": format!("msg_{session}_{minute}"), "model": "m", "usage": {"output_tokens": output}},
        });
        let old = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, format!("{old}{row}\n")).unwrap();
    }

    pub fn record(&self, id: &str, worker: &str, manager: Option<&str>, sessions: &[&str], minute: u64) {
        let dir = self.dir.path().join(".claude-workers/.dispatch/2026-11");
        fs::create_dir_all(&dir).unwrap();
        let record = json!({
            "version": 1, "id": id, "worker": worker, "manager_session": manager, "worker_sessions": sessions,
            "status": "running", "started_at": format!("2026-11-03T10:{minute:02}:00Z"),
        });
        fs::write(dir.join("new"), record.to_string()).unwrap();
        fs::rename(dir.join("new"), dir.join(format!("{id}.json"))).unwrap();
    }

    /// What is published, checked against a ledger that is made anew.
    pub fn sessions(&self) -> Value {
        updated(&self.world);
        counted(&self.world);
        let shown = published(&self.world);
        rebuild(&self.world, &|_, _| {}, &|_, _, _| None).unwrap();
        let again = published(&self.world);
        assert_eq!((&shown.sessions, &shown.all_time), (&again.sessions, &again.all_time), "after a rebuild");
        assert_eq!((&shown.by_worker, &shown.totals), (&again.by_worker, &again.totals), "after a rebuild");
        let all = shown.sessions.values().fold(0, |sum, session| sum + session.fresh);
        assert_eq!((shown.all_time.fresh, shown.all_time.sessions), (all, shown.sessions.len() as u64));
        json!(shown.sessions)
    }
}

const GLM: &str = ".claude-workers/glm";

#[test]
fn a_session_is_credited_whether_its_record_or_its_rows_come_first() {
    let home = Home::new();
    home.answer(".claude", "boss", 0, 100);
    home.answer(GLM, "w1", 1, 30);
    assert_eq!(home.sessions(), json!({}), "nothing was dispatched");
    home.record("d-1", "glm", Some("boss"), &["w1"], 1);
    assert_eq!(home.sessions(), json!({"boss": {"fresh": 130, "main": 100, "by_worker": {"glm": 30}}}));
    home.record("d-2", "glm", Some("boss"), &["w2"], 2);
    home.answer(GLM, "w2", 3, 5);
    home.answer(".claude", "boss", 4, 1);
    assert_eq!(home.sessions(), json!({"boss": {"fresh": 136, "main": 101, "by_worker": {"glm": 35}}}));
    home.answer(GLM, "by-hand", 5, 1000);
    assert_eq!(home.sessions()["boss"]["fresh"], 136);
    assert_eq!(counted(&home.world)["by_worker"]["glm"], 1035);
    assert_eq!(counted(&home.world)["by_manager"]["boss"], 35);
}

#[test]
fn a_record_that_changes_its_manager_takes_its_tokens_along() {
    let home = Home::new();
    home.answer(GLM, "w1", 1, 30);
    home.answer(GLM, "w2", 1, 7);
    home.record("d-1", "glm", Some("old"), &["w1"], 1);
    home.record("d-2", "glm", Some("old"), &["w2"], 1);
    assert_eq!(home.sessions(), json!({"old": {"fresh": 37, "main": 0, "by_worker": {"glm": 37}}}));
    home.record("d-1", "glm", Some("after-clear"), &["w1"], 1);
    let both = home.sessions();
    assert_eq!(both["old"], json!({"fresh": 7, "main": 0, "by_worker": {"glm": 7}}));
    assert_eq!(both["after-clear"], json!({"fresh": 30, "main": 0, "by_worker": {"glm": 30}}));
    home.record("d-2", "glm", Some("after-clear"), &["w2"], 1);
    assert_eq!(home.sessions(), json!({"after-clear": {"fresh": 37, "main": 0, "by_worker": {"glm": 37}}}));
}

#[test]
fn a_session_that_two_managers_used_is_divided_by_time() {
    let home = Home::new();
    home.record("d-1", "glm", Some("a"), &["w"], 1);
    home.answer(GLM, "w", 2, 10);
    home.sessions();
    home.record("d-2", "glm", Some("b"), &["w"], 10);
    home.answer(GLM, "w", 11, 200);
    let expected = json!({
        "a": {"fresh": 10, "main": 0, "by_worker": {"glm": 10}},
        "b": {"fresh": 200, "main": 0, "by_worker": {"glm": 200}},
    });
    assert_eq!(home.sessions(), expected);
    home.answer(GLM, "w", 12, 1);
    home.answer(GLM, "w", 13, 2);
    home.sessions();
    // Told too late: what is counted is divided again.
    home.record("d-3", "glm", Some("c"), &["w"], 13);
    assert_eq!(home.sessions()["b"]["fresh"], 201);
    assert_eq!(home.sessions()["c"]["fresh"], 2);
}

#[test]
fn the_record_has_the_word_over_the_home() {
    let home = Home::new();
    home.answer(".claude-work", "w", 1, 10);
    fs::create_dir_all(home.dir.path().join(".claude-workers/work")).unwrap();
    let account =
        json!({"version": 1, "kind": "account", "config_dir": home.dir.path().join(".claude-work")});
    fs::write(home.dir.path().join(".claude-workers/work/worker.json"), account.to_string()).unwrap();
    home.sessions();
    assert_eq!(counted(&home.world)["by_worker"], json!({"work": 10}));
    home.record("d-1", "renamed", Some("a"), &["w"], 1);
    home.sessions();
    assert_eq!(counted(&home.world)["by_worker"], json!({"renamed": 10}));
    assert_eq!(published(&home.world).by_worker["renamed"].fresh, 10);
    assert_eq!(published(&home.world).by_worker.len(), 1);
}

#[test]
fn credit_outlives_record_and_transcript() {
    let home = Home::new();
    home.record("d-1", "glm", Some("a"), &["w"], 1);
    home.answer(GLM, "w", 2, 10);
    let before = home.sessions();
    fs::remove_dir_all(home.dir.path().join(".claude-workers/.dispatch")).unwrap();
    fs::remove_dir_all(home.dir.path().join(GLM)).unwrap();
    assert_eq!(home.sessions(), before);
}

#[test]
fn only_the_last_manager_sessions_are_published_and_an_old_one_comes_back() {
    let home = Home::new();
    for n in 0..70_u64 {
        home.record(&format!("d-{n}"), "glm", Some(&format!("m{n}")), &[&format!("w{n}")], n % 60);
        home.answer(GLM, &format!("w{n}"), n % 60, 1 + n);
    }
    updated(&home.world);
    let shown = published(&home.world);
    assert_eq!((shown.sessions.len(), shown.all_time.sessions), (64, 70));
    assert_eq!(shown.all_time.worker_fresh, (1..=70).sum::<u64>());
    let gone = (0..70).find(|n| !shown.sessions.contains_key(&format!("m{n}"))).unwrap();
    home.answer(".claude", &format!("m{gone}"), 59, 5);
    updated(&home.world);
    let back = &published(&home.world).sessions[&format!("m{gone}")];
    assert_eq!((back.main, back.by_worker["glm"]), (5, 1 + gone));
}

#[test]
fn a_record_that_is_read_before_any_row_of_its_manager_counts_the_same() {
    let home = Home::new();
    home.answer(".claude", "boss", 0, 100);
    home.answer(GLM, "w1", 1, 30);
    home.record("d-1", "glm", Some("boss"), &["w1"], 1);
    // A hook that can afford no transcript still takes in the record.
    let nothing = Budget { max_bytes: 0, ..Budget::WHOLE };
    assert!(update(&home.world, &nothing).unwrap().bytes_left > 0);
    assert_eq!(home.sessions(), json!({"boss": {"fresh": 130, "main": 100, "by_worker": {"glm": 30}}}));
}
