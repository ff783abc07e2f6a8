//! What may cost money: the settings that open a guard, and the runs that are stopped.

use serde_json::json;
use support::wait_until;

use crate::client::Client;
use crate::house::House;

#[test]
fn a_settings_file_with_a_mistake_dispatches_nothing_and_names_the_line() {
    let house = House::with(&["glm"]);
    house.settings("{\"version\": 1,\n \"overage\": true}");
    let mut client = Client::ready(&house.world);
    let result = client.call("dispatch_task", json!({"title": "t", "prompt": "#say x"}));
    assert_eq!(result["structuredContent"]["error"]["kind"], "settings", "{result:#}");
    let why = result["structuredContent"]["error"]["text"].as_str().expect("a reason");
    assert!(why.contains("config.json:2: `overage`"), "{why}");
    let workers = client.data("list_workers", json!({}));
    assert!(
        workers["mistake"].as_str().is_some_and(|mistake| mistake.contains("config.json:2")),
        "{workers:#}"
    );
    assert_eq!(workers["guards"], json!({"frontier": "block", "overage": "block"}));
    client.leave().ok();
    assert!(house.log().is_empty(), "nothing ran");
}

#[test]
fn when_the_days_money_is_spent_nothing_begins() {
    let house = House::with(&["glm"]);
    house.settings("{\"daily_usd\": 0}");
    let mut client = Client::ready(&house.world);
    let result = client.call("dispatch_task", json!({"title": "t", "prompt": "#say x"}));
    assert_eq!(result["structuredContent"]["status"], "over-budget", "{result:#}");
    client.leave().ok();
    assert!(house.log().is_empty(), "nothing ran");
}

#[test]
fn what_other_sessions_have_at_work_counts_for_the_days_cap() {
    let house = House::with(&["glm", "kimi"]);
    // A message of the miniature costs 0.015.
    house.world.write(
        ".claude-workers/prices.json",
        json!({"version": 1, "models": {"m-1": {"input": 1000, "output": 1000}}}).to_string(),
    );
    house.settings("{\"daily_usd\": 0.02}");
    let today = |client: &mut Client| client.data("list_workers", json!({}))["today_usd"].as_f64();
    let mut first = Client::ready(&house.world);
    let call = first.begin("dispatch_task", &json!({"title": "t", "prompt": "#gate open", "worker": "glm"}));
    let mut second = Client::ready(&house.world);
    wait_until("the other session to know", || {
        today(&mut second).is_some_and(|usd| (usd - 0.015).abs() < 1e-9)
    });
    let said = second.data("dispatch_task", json!({"title": "t", "prompt": "#say x", "worker": "kimi"}));
    assert_eq!(
        (&said["status"], &said["error"]["kind"]),
        (&json!("over-budget"), &json!("budget")),
        "{said:#}"
    );
    house.open("open");
    assert_eq!(
        first.result(call)["structuredContent"]["status"],
        "over-budget",
        "its next message is past it"
    );
    for client in [first, second] {
        client.leave().ok();
    }
    house.nothing_is_left();
}
