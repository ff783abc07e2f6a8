//! Whose work it was: after `/clear` the server that the session once started goes on under a new session, and the
//! credit goes there.

use serde_json::{Value, json};
use support::{wait_for, wait_until};

use crate::ability;
use crate::dispatch_mcp::{open_session, say};
use crate::stage::Stage;

/// The record of this title, once it has ended.
#[track_caller]
fn ended(stage: &Stage, title: &str) -> Value {
    wait_for(&format!("the record of `{title}`"), || {
        let mut records = stage.records().into_iter();
        records.find(|record| record["title"] == title && record["status"] == "done")
    })
}

/// The numbers of the servers that run.
fn servers(stage: &Stage) -> Vec<u32> {
    let is_server = |line: &str| line.trim_end().ends_with("mo-dispatch");
    stage.world.processes().into_iter().filter(|(_, line)| is_server(line)).map(|(pid, _)| pid).collect()
}

#[test]
fn after_clear_the_credit_goes_to_the_session_that_the_call_was_made_in() {
    let stage = Stage::with_demo();
    let mut session = open_session(&stage, &[]);
    let dispatch = |title: &str| {
        let task = json!({"title": title, "prompt": "#usage 100 0 0 11\n#say done"});
        format!("#mcp dispatch_task {task}\n#say {title} is over")
    };
    say(&mut session, &dispatch("before"));
    session.wait_for_stdout("before is over");
    let server = servers(&stage);
    assert_eq!(server.len(), 1, "{:#?}", stage.world.processes());
    say(&mut session, "/clear");
    wait_until("it to be cleared", || session.stdout().matches("\"type\":\"result\"").count() == 2);
    say(&mut session, &dispatch("after"));
    session.wait_for_stdout("after is over");
    assert_eq!(servers(&stage), server, "the same server: it was told the old session");
    session.close_stdin();
    session.wait();

    let (before, after) = (ended(&stage, "before"), ended(&stage, "after"));
    let of = |record: &Value| record["manager_session"].as_str().expect("a session").to_owned();
    if !ability::can(of(&before) != of(&after), "`/clear` in a session of frames makes no new session") {
        return;
    }
    // The client's own word for it: each turn was asked for under its session.
    for (title, record) in [("before", &before), ("after", &after)] {
        let asked = stage.manager.asked();
        let turn = asked.iter().find(|request| request.prompt().0.contains(&format!("#say {title} is over")));
        assert_eq!(turn.and_then(|turn| turn.session.clone()), Some(of(record)), "{title}");
        let index = format!(
            ".claude-workers/.dispatch/by-session/{}/{}",
            of(record),
            record["id"].as_str().expect("an id")
        );
        assert!(std::fs::symlink_metadata(stage.world.path(&index)).is_ok(), "{index} is not there");
    }
    let kept = std::fs::read_dir(stage.world.path(".claude-workers/.dispatch/by-tool-use"));
    assert_eq!(kept.map(Iterator::count).unwrap_or_default(), 0, "each word of the hook is used up");

    let ledger = || stage.world.command(env!("CARGO_BIN_EXE_mo-ledger"));
    ledger().args(["rebuild", "--quiet"]).run().ok();
    let published: Value =
        serde_json::from_str(&stage.world.read(".claude-workers/.usage/ledger.json")).expect("JSON");
    for record in [&before, &after] {
        let credited = &published["sessions"][of(record)]["by_worker"]["demo"];
        assert_eq!(credited, &json!(111), "{published:#}");
    }
    stage.nothing_is_left();
}
