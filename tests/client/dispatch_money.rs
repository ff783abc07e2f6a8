//! Guards on money while a task runs: a model that is billed per use, and the day's cap, with the real Claude Code.

use serde_json::{Value, json};
use support::{Provider, wait_until};

use crate::accounts::known;
use crate::dispatch_moves::{Server, accounts_of};
use crate::stage::{MODEL, Stage, WORKER_KEY};

#[test]
fn a_run_that_begins_to_use_a_model_billed_per_use_is_stopped() {
    let stage = Stage::new();
    let provider = accounts_of(&stage, &["one", "two"]);
    known(&stage, "one", 10.0, "off");
    known(&stage, "two", 10.0, "off");
    let mut server = Server::start(&stage);
    // Its own model is none of those; that of the subagent it starts is.
    let agent = json!({"description": "d", "prompt": "#bash true\n#hang", "subagent_type": "general-purpose", "model": "fable"});
    let prompt = format!("#write half.txt x\n#tool Agent {agent}\n#say billed");
    let task =
        json!({"title": "t", "prompt": prompt, "tier": "sonnet", "permission_mode": "bypassPermissions"});
    let said = server.call(1, "dispatch_task", &task);
    assert_eq!(
        (&said["status"], &said["error"]["kind"]),
        (&json!("denied"), &json!("money-guard")),
        "{said:#}"
    );
    let why = said["error"]["text"].as_str().expect("a reason");
    assert!(why.contains("fable") && why.contains("billed per use") && why.contains("`frontier`"), "{why}");
    assert!(stage.world.path("half.txt").exists(), "what was done is kept");
    assert_eq!(
        (&said["worker"], &said["attempts"]),
        (&json!("one"), &Value::Null),
        "nobody else does it either: {said:#}"
    );
    // The worker did nothing wrong: it gets the next task.
    let next =
        server.call(2, "dispatch_task", &json!({"title": "t", "prompt": "#say fine", "tier": "sonnet"}));
    assert_eq!((&next["status"], &next["worker"]), (&json!("done"), &json!("one")), "{next:#}");
    let asked = provider
        .asked()
        .into_iter()
        .filter(|request| request.model.as_deref().is_some_and(|model| model.contains("fable")));
    assert!((1..=2).contains(&asked.count()), "it was stopped at once");
    server.leave();
    stage.nothing_is_left();
}

#[test]
fn when_the_days_cap_is_crossed_at_work_all_that_cost_money_stop() {
    let stage = Stage::with_demo();
    let other = Provider::setup().keys([WORKER_KEY]).models([MODEL]).start();
    stage.worker("kimi", &other, WORKER_KEY);
    let price = json!({"version": 1, "models": {MODEL: {"input": 1000, "output": 1000, "cache_read": 0, "cache_write_5m": 0}}});
    stage.world.write(".claude-workers/prices.json", price.to_string());
    stage.world.write(".claude-workers/.dispatch/config.json", "{\"version\": 1, \"daily_usd\": 1.0}");
    let mut server = Server::start(&stage);
    // Each alone stays below the cap, both together do not.
    let task = |worker: &str| {
        let prompt = format!("#usage 600 0 0 1\n#write {worker}.txt x\n#hang");
        json!({"title": worker, "prompt": prompt, "worker": worker})
    };
    server.begin(1, "dispatch_task", &task("demo"));
    let mut asked = 100;
    wait_until("its money to be seen", || {
        asked += 1;
        let cost = server.call(asked, "list_workers", &json!({}))["today_usd"].as_f64();
        cost.is_some_and(|usd| usd >= 0.6)
    });
    let second = server.call(2, "dispatch_task", &task("kimi"));
    let first = server.answer(1);
    for said in [&first, &second] {
        assert_eq!(
            (&said["status"], &said["error"]["kind"]),
            (&json!("over-budget"), &json!("budget")),
            "{said:#}"
        );
        let why = said["error"]["text"].as_str().expect("a reason");
        assert!(
            why.contains("`daily_usd`") && why.contains("config.json") && why.contains("mo-spawn resume"),
            "{why}"
        );
    }
    assert!(stage.world.path("demo.txt").exists(), "what was done is kept");
    let third = server.call(3, "dispatch_task", &json!({"title": "t", "prompt": "#say x"}));
    assert_eq!(third["status"], "over-budget", "{third:#}");
    server.leave();
    stage.nothing_is_left();
}

#[test]
fn an_account_of_which_nothing_is_known_has_one_run_until_that_has_told() {
    let stage = Stage::new();
    let _provider = accounts_of(&stage, &["one"]);
    let mut server = Server::start(&stage);
    let mut number = 10;
    let mut status = |server: &mut Server, title: &str| {
        number += 2;
        let rows = server.call(number, "list_tasks", &json!({"state": "open"}));
        let row =
            rows["tasks"].as_array().and_then(|rows| rows.iter().find(|row| row["title"] == title).cloned());
        row.map(|row| server.call(number + 1, "task_status", &json!({"id": row["id"]}))).unwrap_or_default()
    };
    let task = |title: &str, plan: &str| {
        let prompt =
            format!("{plan}#bash touch {title}; until [ -e {title}-open ]; do sleep 0.1; done\n#say {title}");
        json!({"title": title, "prompt": prompt, "permission_mode": "bypassPermissions"})
    };
    // Its answers say nothing of a plan.
    server.begin(1, "dispatch_task", &task("first", ""));
    wait_until("the first to work", || stage.world.path("first").exists());
    server.begin(2, "dispatch_task", &task("second", "#plan five_hour 0.1 4000000000\n"));
    wait_until("the second to wait, and why", || {
        let told = status(&mut server, "second");
        told["waiting_for"].as_str().is_some_and(|why| why.contains("one run until that has told"))
    });
    assert!(!stage.world.path("second").exists());
    stage.world.write("first-open", "");
    assert_eq!(server.answer(1)["report"], "first");
    // Its turn comes, and its first answer tells: whoever waits need not wait for its end.
    wait_until("the second to work", || stage.world.path("second").exists());
    server.begin(3, "dispatch_task", &task("third", ""));
    wait_until("the third to work beside it", || stage.world.path("third").exists());
    stage.world.write("second-open", "");
    stage.world.write("third-open", "");
    assert_eq!(
        (&server.answer(2)["report"], &server.answer(3)["report"]),
        (&json!("second"), &json!("third"))
    );
    server.leave();
    stage.nothing_is_left();
}
