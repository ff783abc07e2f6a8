//! What may cost money: the settings that open a guard, and the runs that are stopped.

use serde_json::json;

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
