//! Savings in a real session: the notice, the start line and the command, held against what the scripted providers
//! say that they served.

use serde_json::Value;
use shared::savings::{human, share};
use support::Output;
use support::provider::Usage;

use crate::ability::{self, HOOK_EVENTS};
use crate::stage::{Stage, hook_responses};

/// Every event that a session prints, those of hooks included.
const ALL_EVENTS: [&str; 4] = ["--output-format", "stream-json", "--verbose", HOOK_EVENTS];

/// What hooks showed the user, with the event at which they did.
fn notices(output: &Output) -> Vec<(String, String)> {
    let answers = hook_responses(output).into_iter().filter(|(_, _, stdout)| !stdout.is_empty());
    let said = answers.filter_map(|(event, _, stdout)| {
        let answer: Value = serde_json::from_str(&stdout).expect("an answer is JSON");
        Some((event, answer["systemMessage"].as_str()?.to_owned()))
    });
    said.collect()
}

fn fresh(served: &[support::provider::Served]) -> u64 {
    served.iter().map(|message| message.usage).sum::<Usage>().fresh()
}

/// The notice for a session of which these figures are true.
fn notice(worker: u64, manager: u64) -> String {
    format!(
        "model-orchestration: workers handled {} of this session's tokens (demo {} vs Claude {})",
        share(worker, worker + manager).expect("a share"),
        human(worker),
        human(manager)
    )
}

#[test]
fn a_dispatch_is_followed_by_a_notice_and_the_next_session_begins_with_a_line() {
    let stage = Stage::with_demo();
    if !ability::has_flag(&stage, &[], HOOK_EVENTS) {
        return;
    }
    let dispatch = "#usage 200 300 40000 70\n#bash <<DONE\nmo-spawn demo -p <<'SPEC'\n#usage 100 50 9000 31\n#say hi\nSPEC\nDONE\n#report";
    let output = stage.session(dispatch).args(ALL_EVENTS).run().ok();
    let (worker, manager) = (fresh(&stage.workers.served()), stage.manager.served());
    assert_eq!(worker, 181);
    // When the dispatch had ended, the manager had answered once.
    let expected = notice(worker, fresh(&manager[..1]));
    assert_eq!(notices(&output), [("PostToolUse".to_owned(), expected)], "{}", output.whole());

    let ledger = || stage.world.command(env!("CARGO_BIN_EXE_mo-ledger"));
    let savings: Value = ledger().args(["savings", "--json"]).run().ok().json();
    let all = fresh(&manager);
    assert_eq!((savings["worker_fresh"].as_u64(), savings["main_fresh"].as_u64()), (Some(worker), Some(all)));
    let shown = ledger().arg("savings").run().ok().text();

    let output = stage.session("/model-orchestration:savings").args(ALL_EVENTS).run().ok();
    let share = share(worker, worker + all).expect("a share");
    let line = format!(
        "model-orchestration: workers have handled {} tokens ({share} of the total across 1 session)",
        human(worker)
    );
    assert_eq!(notices(&output), [("SessionStart".to_owned(), line)], "{}", output.whole());
    let read = stage.manager_read();
    for line in shown.lines() {
        assert!(read.contains(line.trim_end()), "the command does not show {line:?}:\n{read}");
    }
    stage.nothing_is_left();
}

#[test]
fn a_dispatch_in_the_background_is_told_when_it_ends_and_not_at_its_launch() {
    let stage = Stage::with_demo();
    if !ability::has_flag(&stage, &[], HOOK_EVENTS) {
        return;
    }
    let dispatch = "#bash-bg <<DONE\nmo-spawn demo -p <<'SPEC'\n#slow 1500\n#say hi\nSPEC\nDONE\n#say waiting\n#bash echo on\n#say done";
    let output = stage.session(dispatch).args(ALL_EVENTS).run().ok();
    let said = notices(&output);
    assert_eq!(said.len(), 1, "{}", output.whole());
    let launched = hook_responses(&output).into_iter().find(|(event, _, _)| event == "PostToolUse");
    assert_eq!(launched.expect("the launch is a tool use").2, "", "nothing is said at the launch");
    let worker = human(fresh(&stage.workers.served()));
    assert!(said[0].1.contains(&format!("(demo {worker} vs Claude ")), "{said:?}");
    stage.nothing_is_left();
}

#[test]
fn switched_off_nothing_is_shown() {
    let stage = Stage::with_demo();
    let dispatch = "#bash mo-spawn demo -p '#say hi'\n#report";
    let session = stage.session(dispatch).var("MODEL_ORCHESTRATION_SAVINGS", "off");
    let tells = ability::has_flag(&stage, &[], HOOK_EVENTS);
    let output = if tells { session.args(ALL_EVENTS) } else { session }.run().ok();
    assert!(notices(&output).is_empty(), "{}", output.whole());
    assert_eq!(stage.records().len(), 1, "the work was done all the same");
}
