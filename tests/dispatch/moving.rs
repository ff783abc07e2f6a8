//! Tasks that move on: a worker that refuses rests until its own reset, another one goes on, and all of it is told.

use serde_json::{Value, json};
use support::wait_until;

use crate::client::Client;
use crate::house::House;

/// The reset that the miniature names.
const RESET: &str = "2096-10-02T07:06:40Z";

fn worker<'a>(workers: &'a Value, name: &str) -> &'a Value {
    let rows = workers["workers"].as_array().expect("workers");
    rows.iter().find(|row| row["name"] == name).expect("a row")
}

#[test]
fn a_refused_plan_rests_until_its_reset_and_the_task_moves_on() {
    let house = House::with(&["a", "b"]);
    house.set("a", "preferred", "true");
    house.world.write("quota", "a");
    let mut client = Client::ready(&house.world);
    let result = client.call("dispatch_task", json!({"title": "t", "prompt": "#quota\n#say fine"}));
    let data = &result["structuredContent"];
    assert_eq!(
        (&data["status"], &data["worker"], &data["report"]),
        (&json!("done"), &json!("b"), &json!("fine")),
        "{data:#}"
    );
    let attempts = data["attempts"].as_array().expect("attempts");
    assert_eq!(attempts.len(), 2, "{data:#}");
    assert_eq!((&attempts[0]["worker"], &attempts[0]["status"]), (&json!("a"), &json!("quota")));
    assert_eq!(attempts[1]["went_on_with_its_history"], false, "another provider begins anew: {data:#}");
    // It is one task, found by its first id, also by another session.
    let id = data["id"].as_str().expect("an id").to_owned();
    let workers = client.data("list_workers", json!({}));
    assert_eq!(worker(&workers, "a")["cooling_until"], RESET, "{workers:#}");
    assert_eq!(worker(&workers, "a")["eligible"], false);
    client.leave().ok();
    let mut later = Client::ready(&house.world);
    let found = later.data("task_result", json!({"id": id}));
    assert_eq!(
        (&found["id"], &found["worker"], &found["report"]),
        (&json!(id), &json!("b"), &json!("fine")),
        "{found:#}"
    );
    let rows = later.data("list_tasks", json!({}));
    assert_eq!(rows["tasks"].as_array().map(Vec::len), Some(1), "{rows:#}");
    // The next task goes past the resting one, preferred or not.
    let next = later.data("dispatch_task", json!({"title": "t", "prompt": "#say next"}));
    assert_eq!(next["worker"], "b");
    later.leave().ok();
    house.nothing_is_left();
}

#[test]
fn when_everybody_refuses_the_task_ends_as_what_it_was() {
    let house = House::with(&["a", "b"]);
    house.world.write("quota", "a b");
    let mut client = Client::ready(&house.world);
    let result = client.call("dispatch_task", json!({"title": "t", "prompt": "#quota"}));
    let data = &result["structuredContent"];
    assert_eq!((&data["status"], &result["isError"]), (&json!("quota"), &json!(true)), "{data:#}");
    assert_eq!(data["attempts"].as_array().map(Vec::len), Some(2), "{data:#}");
    let why = data["error"]["text"].as_str().expect("a reason");
    assert!(why.contains("no worker can do it") && why.contains("failed this task already"), "{why}");
    // A named worker is not replaced.
    let named = client.data("dispatch_task", json!({"title": "t", "prompt": "#quota", "worker": "a"}));
    assert_eq!((&named["status"], &named["worker"]), (&json!("quota"), &json!("a")), "{named:#}");
    client.leave().ok();
    house.nothing_is_left();
}

#[test]
fn a_run_that_begins_to_be_billed_is_stopped_and_moves_on() {
    let house = House::with(&["a", "b"]);
    house.set("a", "preferred", "true");
    house.world.write("quota", "a");
    let mut client = Client::ready(&house.world);
    let result =
        client.call("dispatch_task", json!({"title": "t", "prompt": "#overage\n#gate never\n#say for free"}));
    let data = &result["structuredContent"];
    assert_eq!((&data["status"], &data["worker"]), (&json!("done"), &json!("b")), "{data:#}");
    let first = &data["attempts"][0];
    assert_eq!((&first["worker"], &first["status"]), (&json!("a"), &json!("quota")), "{data:#}");
    assert!(first["reason"].as_str().is_some_and(|why| why.contains("would be billed")), "{first:#}");
    wait_until("the stopped one to be gone", || {
        house.log().iter().filter(|line| line.starts_with("- a ")).count() == 1
    });
    client.leave().ok();
    house.nothing_is_left();
}

#[test]
fn where_the_user_allows_it_a_billed_run_goes_on() {
    let house = House::with(&["a"]);
    house.world.write("quota", "a");
    house.settings("{\"overage\": \"allow\"}");
    let mut client = Client::ready(&house.world);
    let call = client
        .begin("dispatch_task", &json!({"title": "t", "prompt": "#overage\n#gate open\n#say at a price"}));
    // What it says after the event was heard after it: whatever was to stop it has been told to.
    wait_until("the event to have been heard", || {
        client.data("task_messages", json!({}))["messages"][0]["text"] == "billed"
    });
    house.open("open");
    let data = client.result(call)["structuredContent"].clone();
    assert_eq!((&data["status"], &data["report"]), (&json!("done"), &json!("at a price")), "{data:#}");
    client.leave().ok();
    house.nothing_is_left();
}

#[test]
fn a_task_that_is_stopped_from_outside_is_cancelled_and_nobody_is_blamed() {
    let house = House::with(&["a", "b"]);
    let mut client = Client::ready(&house.world);
    let call = client.begin("dispatch_task", &json!({"title": "t", "prompt": "#hang"}));
    wait_until("it to run", || !house.log().is_empty());
    let rows = client.data("list_tasks", json!({"state": "open"}));
    let id = rows["tasks"][0]["id"].as_str().expect("an id");
    house.world.command(env!("CARGO_BIN_EXE_mo-spawn")).args(["stop", id]).run().ok();
    let data = client.result(call)["structuredContent"].clone();
    assert_eq!((&data["status"], &data["attempts"]), (&json!("cancelled"), &Value::Null), "{data:#}");
    let workers = client.data("list_workers", json!({}));
    for name in ["a", "b"] {
        let row = worker(&workers, name);
        assert_eq!((&row["eligible"], &row["cooling_until"]), (&json!(true), &Value::Null), "{row:#}");
    }
    assert_eq!(house.log().iter().filter(|line| line.starts_with('+')).count(), 1, "it did not move on");
    client.leave().ok();
    house.nothing_is_left();
}

#[test]
fn between_two_workers_a_cancel_is_the_end() {
    let house = House::with(&["a", "b"]);
    house.limit("b", 1);
    house.world.write("quota", "a");
    let mut client = Client::ready(&house.world);
    let busy =
        client.begin("dispatch_task", &json!({"title": "busy", "prompt": "#gate open", "worker": "b"}));
    wait_until("one to run", || !house.log().is_empty());
    // The first refuses it, and the second has no place.
    let call = client.begin("dispatch_task", &json!({"title": "t", "prompt": "#quota"}));
    let mut id = Value::Null;
    wait_until("it to wait between the two", || {
        let rows = client.data("list_tasks", json!({}))["tasks"].as_array().cloned().unwrap_or_default();
        id = rows.iter().find(|row| row["title"] == "t").map(|row| row["id"].clone()).unwrap_or_default();
        let status = if id.is_null() { Value::Null } else { client.data("task_status", json!({"id": id})) };
        status["state"] == "queued" && status["attempts"].as_array().is_some_and(|tries| tries.len() == 1)
    });
    let ended = client.data("task_cancel", json!({"id": id}));
    assert_eq!(ended["tasks"][0]["status"], "cancelled", "{ended:#}");
    let data = client.result(call)["structuredContent"].clone();
    assert_eq!(
        (&data["status"], &data["error"]["kind"]),
        (&json!("cancelled"), &json!("cancelled")),
        "{data:#}"
    );
    house.open("open");
    assert_eq!(client.result(busy)["structuredContent"]["status"], "done");
    client.leave().ok();
    house.nothing_is_left();
    assert_eq!(house.log().iter().filter(|line| line.starts_with("+ b")).count(), 1, "{:?}", house.log());
}
