//! Messages that workers answered through the gateway: the audit names them, the ledger credits them, in whatever
//! order audit, transcripts and dispatch records are met.

use crate::audit::{Audit, line};
use crate::corpus::{Chance, home};
use crate::credit::Home;
use crate::home::{counted, published, updated, world};
use crate::reference::{File, Known, count_known};
use serde_json::{Value, json};
use shared::ledger::fact::{Fact, MAIN};
use shared::ledger::publish::Published;
use shared::ledger::{Budget, Ledger, rebuild, update};
use shared::name::Name;
use shared::world::World;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use support::golden::differences;

const WORKERS: [&str; 3] = ["glm", "kimi", "gone"];

/// The session and id of every message in these files.
pub fn ids(files: &[File]) -> BTreeSet<(String, String)> {
    let text = |row: &Value, name: &str| row[name].as_str().map(str::to_owned);
    let lines = files.iter().flat_map(|file| file.bytes.split(|byte| *byte == b'\n'));
    let rows = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    rows.filter_map(|row| {
        let session = text(&row, "requestSessionId").or_else(|| text(&row, "sessionId"))?;
        Some((session, row["message"]["id"].as_str()?.to_owned()))
    })
    .collect()
}

/// What is to happen, in an order to be chosen.
enum Step {
    Transcript(usize),
    Line(String),
    Record(String),
}

/// Everything that an audit and dispatch records say of these files, made up.
fn plan(chance: &mut Chance, files: &[File]) -> (Known, Vec<Step>) {
    let (mut known, mut steps) = (Known::default(), Vec::new());
    let ids: Vec<_> = ids(files).into_iter().chain([("nowhere".into(), "msg".into())]).collect();
    for (session, id) in ids {
        if chance.one_in(2) {
            let workers = if chance.one_in(6) { 2 } else { 1 };
            for worker in (0..workers).map(|_| *chance.pick(&WORKERS)) {
                known.served.entry((session.clone(), id.clone())).or_default().insert(worker.to_owned());
                steps.push(Step::Line(line(&session, &id, Some(worker))));
            }
        } else {
            steps.push(Step::Line(line(&session, &id, None)));
        }
        if chance.one_in(12) && !known.dispatched.contains_key(&session) {
            let manager = chance.pick(&["boss", &session]).to_string();
            let worker = (*chance.pick(&WORKERS)).to_owned();
            known.dispatched.insert(session.clone(), (worker, manager));
            steps.push(Step::Record(session));
        }
    }
    steps.extend((0..files.len()).map(Step::Transcript));
    for at in (1..steps.len()).rev() {
        steps.swap(at, chance.below(at + 1));
    }
    (known, steps)
}

fn record(at: &Path, session: &str, (worker, manager): &(String, String)) {
    let folder = at.join(".claude-workers/.dispatch/2026-11");
    fs::create_dir_all(&folder).unwrap();
    let record = json!({
        "version": 1, "id": format!("d-{session}"), "worker": worker, "manager_session": manager,
        "worker_sessions": [session], "started_at": "2026-11-10T00:00:00Z", "status": "done",
    });
    fs::write(folder.join(format!("d-{session}.json")), record.to_string()).unwrap();
}

/// Does all steps, in pieces, with updates and rotations between them.
fn perform(chance: &mut Chance, at: &Path, files: &[File], known: &Known, mut steps: Vec<Step>) {
    let (world, mut audit) = (world(at), Audit::at(at));
    let mut sizes = vec![0; files.len()];
    while let Some(step) = steps.pop() {
        match step {
            Step::Line(line) => audit.append(&line),
            Step::Record(session) => record(at, &session, &known.dispatched[&session]),
            Step::Transcript(place) => {
                let (file, from) = (&files[place], sizes[place]);
                let left = file.bytes.len() - from;
                let more = if chance.one_in(2) { left } else { chance.below(left + 1) };
                let path = at.join(&file.path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                let mut on_disk = OpenOptions::new().append(true).create(true).open(path).unwrap();
                on_disk.write_all(&file.bytes[from..from + more]).unwrap();
                sizes[place] += more;
                if more < left {
                    steps.insert(chance.below(steps.len() + 1), Step::Transcript(place));
                }
            }
        }
        match chance.below(24) {
            0..=2 => drop(updated(&world)),
            3 => audit.rotate(),
            4 => audit.pack(),
            5 => audit.tear(chance.below(80)),
            6 if chance.one_in(4) => drop(rebuild(&world, &|_, _| {}, &|_, _, _| None).unwrap()),
            _ => {}
        }
    }
    audit.mend();
}

/// The sessions that workers worked for, added up from the facts one by one.
fn managers(world: &World, known: &Known) -> Value {
    let ledger = Ledger::open(world).unwrap();
    let facts: Vec<Fact> = ledger.facts().map(Result::unwrap).filter(|fact| !fact.without_id).collect();
    let mut workers: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    let mut main: BTreeMap<String, u64> = BTreeMap::new();
    for (worker, manager) in known.dispatched.values() {
        workers.entry(manager.clone()).or_default().entry(worker.clone()).or_default();
    }
    for fact in &facts {
        let (session, fresh) = (fact.session.to_string(), fact.usage.fresh());
        let shared = fact.manager.as_ref() == Some(&fact.session) && !known.dispatched.contains_key(&session);
        *main.entry(session).or_default() += if shared { 0 } else { fresh };
        if let Some(manager) = &fact.manager {
            let workers = workers.entry(manager.to_string()).or_default();
            *workers.entry(fact.worker.to_string()).or_default() += fresh;
        }
    }
    let sessions = workers.into_iter().map(|(session, by_worker)| {
        let main = main.get(&session).copied().unwrap_or_default();
        let fresh = main + by_worker.values().sum::<u64>();
        (session, json!({"fresh": fresh, "main": main, "by_worker": by_worker}))
    });
    sessions.collect()
}

fn check(world: &World, expected: &Value, known: &Known, what: &str) -> Published {
    let wrong = differences("", expected, &counted(world));
    assert!(wrong.is_empty(), "{what}: {wrong:#?}");
    let shown = published(world);
    let sessions = managers(world, known);
    let wrong = differences("", &sessions, &json!(shown.sessions));
    assert!(wrong.is_empty(), "{what}: {wrong:#?}");
    assert_eq!(shown.sessions.len(), sessions.as_object().unwrap().len(), "{what}");
    let sum = |of: fn(&Value) -> u64| sessions.as_object().unwrap().values().map(of).sum::<u64>();
    let by_workers = |session: &Value| {
        session["by_worker"].as_object().unwrap().values().map(|fresh| fresh.as_u64().unwrap()).sum()
    };
    let all = shown.all_time;
    assert_eq!(all.fresh, sum(|session| session["fresh"].as_u64().unwrap()), "{what}");
    assert_eq!(all.worker_fresh, sum(by_workers), "{what}");
    assert_eq!(all.sessions, shown.sessions.len() as u64, "{what}");
    shown
}

#[test]
fn whatever_is_met_first_the_same_is_credited() {
    let mut served = 0;
    for seed in 0..40 {
        let mut chance = Chance::new(seed + 500);
        let files = home(&mut chance, 30);
        let (known, steps) = plan(&mut chance, &files);
        let expected = count_known(&files, &known);
        let dir = tempfile::tempdir().unwrap();
        perform(&mut chance, dir.path(), &files, &known, steps);
        let world = world(dir.path());
        updated(&world);
        let shown = check(&world, &expected, &known, &format!("seed {seed}"));
        assert!(!updated(&world).changed, "seed {seed}: nothing is new");
        rebuild(&world, &|_, _| {}, &|_, _, _| None).unwrap();
        let again = check(&world, &expected, &known, &format!("seed {seed}, rebuilt"));
        assert_eq!((&shown.sessions, shown.all_time), (&again.sessions, again.all_time), "seed {seed}");
        assert_eq!((&shown.by_worker, shown.totals), (&again.by_worker, again.totals), "seed {seed}");
        // The ledger keeps what only it knows.
        fs::remove_dir_all(dir.path().join(".claude-workers/.proxy")).unwrap();
        if chance.one_in(2) {
            for file in &files {
                fs::remove_file(dir.path().join(&file.path)).unwrap();
            }
        }
        rebuild(&world, &|_, _| {}, &|_, _, _| None).unwrap();
        check(&world, &expected, &known, &format!("seed {seed}, the audit is gone"));
        served += shown.all_time.worker_fresh;
    }
    assert!(served > 0);
}

/// The boss asked an agent, whose answer is the one at minute 1.
fn with_agent() -> (Home, Audit) {
    let home = Home::new();
    home.answer(".claude", "boss", 0, 100);
    home.answer(".claude", "boss", 1, 30);
    let audit = Audit::at(home.dir.path());
    (home, audit)
}

#[test]
fn what_an_agent_did_on_another_provider_is_its_workers_and_nothing_is_added() {
    let (home, mut audit) = with_agent();
    assert_eq!(home.sessions(), json!({}));
    audit.append(&line("boss", "msg_boss_0", None));
    audit.append(&line("boss", "msg_boss_9", Some("glm")));
    audit.append(&line("other", "msg_boss_0", Some("glm")));
    audit.append(&line("boss", "msg_boss_0", Some("glm")).replace("\"messages\"", "\"count_tokens\""));
    assert_eq!(home.sessions(), json!({}), "nothing of this is a worker's answer in a transcript");
    audit.append(&line("boss", "msg_boss_1", Some("glm")));
    let expected = json!({"boss": {"fresh": 130, "main": 100, "by_worker": {"glm": 30}}});
    assert_eq!(home.sessions(), expected);
    assert_eq!(counted(&home.world)["by_worker"], json!({"main": 100, "glm": 30}));
    assert_eq!(published(&home.world).totals.fresh, 130);
    // Another agent's answer, a dispatch, a later word of the manager's own.
    home.answer(".claude", "boss", 2, 8);
    audit.append(&line("boss", "msg_boss_2", Some("kimi")));
    home.answer(".claude-workers/glm", "w1", 3, 5);
    home.record("d-1", "glm", Some("boss"), &["w1"], 3);
    home.answer(".claude", "boss", 4, 1000);
    let expected = json!({"boss": {"fresh": 1143, "main": 1100, "by_worker": {"glm": 35, "kimi": 8}}});
    assert_eq!(home.sessions()["boss"]["by_worker"], json!({"glm": 35, "kimi": 8}));
    // What was read stays, also where both sources are gone.
    fs::remove_dir_all(home.dir.path().join(".claude-workers/.proxy")).unwrap();
    fs::remove_dir_all(home.dir.path().join(".claude")).unwrap();
    assert_eq!(home.sessions()["boss"]["by_worker"], expected["boss"]["by_worker"]);
}

#[test]
fn what_several_workers_are_named_for_stays_with_its_session() {
    let (home, mut audit) = with_agent();
    audit.append(&line("boss", "msg_boss_1", Some("glm")));
    assert_eq!(home.sessions()["boss"]["by_worker"], json!({"glm": 30}));
    // An index that was lost is made anew from the records.
    for entry in fs::read_dir(home.world.paths.usage().unwrap()).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with("index.") {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    audit.append(&line("boss", "msg_boss_1", Some("kimi")));
    assert_eq!(home.sessions(), json!({}), "nobody worked for it");
    audit.append(&line("boss", "msg_boss_1", Some("glm")));
    assert_eq!(home.sessions(), json!({}), "nor does a third word change that");
    assert_eq!(counted(&home.world)["by_worker"], json!({"main": 130}));
    assert_eq!(Ledger::open(&home.world).unwrap().book().contested, 1);
    home.record("d-1", "glm", Some("chief"), &["boss"], 0);
    assert_eq!(home.sessions()["chief"]["by_worker"], json!({"glm": 130}));
    assert_eq!(Ledger::open(&home.world).unwrap().book().contested, 0);
}

#[test]
fn a_dispatch_record_has_the_word_over_the_audit() {
    for audit_first in [false, true] {
        let home = Home::new();
        let mut audit = Audit::at(home.dir.path());
        home.answer(".claude-workers/glm", "w", 1, 10);
        home.answer(".claude-workers/glm", "w", 2, 7);
        let record = || home.record("d-1", "glm", Some("boss"), &["w"], 1);
        let mut answer = || audit.append(&line("w", "msg_w_2", Some("kimi")));
        if audit_first {
            answer();
        } else {
            record();
        }
        home.sessions();
        if audit_first {
            record();
        } else {
            answer();
        }
        let expected = json!({"boss": {"fresh": 17, "main": 0, "by_worker": {"glm": 17}}});
        assert_eq!(home.sessions(), expected, "audit first: {audit_first}");
    }
}

#[test]
fn a_store_of_version_1_is_taken_over_with_its_history() {
    let home = Home::new();
    // Made by mo-ledger as of 3f4e61d: of a boss (100, 30 by an agent, 7 and 5 with one constant id; each answer has
    // one input token) and its dispatch to glm (40). Its transcripts are gone.
    let usage = home.world.paths.usage().unwrap();
    fs::create_dir_all(&usage).unwrap();
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ledger/version-1");
    for name in ["state", "facts.0"] {
        fs::copy(old.join(name), usage.join(name)).unwrap();
    }
    let before = counted(&home.world);
    assert_eq!(before["by_worker"], json!({"main": 146, "glm": 41}));
    let mut audit = Audit::at(home.dir.path());
    audit.append(&line("boss", "msg_boss_1", Some("kimi")));
    audit.append(&line("boss", "constant", Some("kimi")));
    updated(&home.world);
    assert_eq!(counted(&home.world)["by_worker"], json!({"main": 101, "kimi": 45, "glm": 41}));
    let shown = json!({"boss": {"fresh": 187, "main": 101, "by_worker": {"glm": 41, "kimi": 45}}});
    assert_eq!(json!(published(&home.world).sessions), shown);
    assert_eq!(fs::read(usage.join("state")).unwrap()[8], 2);
    assert_eq!(home.sessions(), shown);
}

#[test]
fn whatever_stands_in_the_audit_no_token_is_added_or_lost() {
    for seed in 0..150 {
        let mut chance = Chance::new(seed + 900);
        let files = home(&mut chance, 8);
        let dir = tempfile::tempdir().unwrap();
        let mut text: Vec<u8> = ids(&files)
            .iter()
            .flat_map(|(session, id)| line(session, id, Some(*chance.pick(&WORKERS))).into_bytes())
            .collect();
        for _ in 0..=chance.below(6) {
            let (at, long) = (chance.below(text.len()), chance.below(300));
            match chance.below(5) {
                0 => text[at] ^= 1 << chance.below(8),
                1 => drop(text.drain(at..(at + long).min(text.len()))),
                2 => text.extend_from_within(at..(at + long).min(text.len())),
                3 => drop(text.splice(at..at, std::iter::repeat_n(b'x', long * 9000))),
                _ => drop(text.splice(at..at, *b"\"worker\":-1e999,\"message_id\":{}")),
            }
        }
        let audit = Audit::at(dir.path());
        fs::write(audit.growing(), &text).unwrap();
        for file in &files {
            let path = dir.path().join(&file.path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &file.bytes).unwrap();
        }
        let world = world(dir.path());
        updated(&world);
        let expected = count_known(&files, &Known::default());
        let found = counted(&world);
        for name in ["totals", "no_id", "by_session", "by_model"] {
            let wrong = differences(name, &expected[name], &found[name]);
            assert!(wrong.is_empty(), "seed {seed}: {wrong:#?}");
        }
        let shown = published(&world);
        assert!(shown.by_worker.keys().all(|name| name == MAIN || Name::parse(name).is_ok()));
        assert!(!updated(&world).changed, "seed {seed}");
        rebuild(&world, &|_, _| {}, &|_, _, _| None).unwrap();
        assert_eq!((shown.sessions, shown.by_worker), {
            let again = published(&world);
            (again.sessions, again.by_worker)
        });
    }
}

#[test]
fn a_budget_and_a_file_that_cannot_be_read_leave_the_rest_for_later_and_are_told() {
    let (home, mut audit) = with_agent();
    audit.append(&line("boss", "msg_boss_1", Some("glm")));
    let nothing = Budget { max_bytes: 1, ..Budget::HOOK };
    assert!(update(&home.world, &nothing).unwrap().bytes_left > 0);
    assert_eq!(home.sessions()["boss"]["by_worker"], json!({"glm": 30}));
    let folder = audit.growing().with_file_name("audit-2.jsonl");
    fs::create_dir_all(&folder).unwrap();
    assert!(updated(&home.world).changed);
    assert!(!updated(&home.world).changed);
    let ledger = Ledger::open(&home.world).unwrap();
    assert_eq!(ledger.book().unreadable, [folder.to_string_lossy()]);
}
