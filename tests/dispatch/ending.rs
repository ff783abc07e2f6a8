//! The end of a session, however it comes: nothing of it is left, but for what was detached, and what became of it is told.

use serde_json::{Value, json};
use support::{wait_for, wait_until};

use crate::client::Client;
use crate::house::House;

fn begun(house: &House, count: usize) {
    wait_until("the workers to run", || {
        house.log().iter().filter(|line| line.starts_with('+')).count() == count
    });
}

fn records(house: &House) -> Vec<Value> {
    let mut client = Client::ready(&house.world);
    let rows = client.data("list_tasks", json!({}))["tasks"].as_array().expect("tasks").clone();
    client.leave().ok();
    rows
}

#[test]
fn a_session_that_ends_leaves_no_worker() {
    for how in ["eof", "int", "term"] {
        let house = House::with(&["glm"]);
        house.limit("glm", 2);
        let mut client = Client::ready(&house.world);
        let tasks: Vec<Value> =
            (0..3).map(|number| json!({"title": format!("{number}"), "prompt": "#hang"})).collect();
        client.begin("dispatch_tasks", &json!({"tasks": tasks}));
        begun(&house, 2);
        match how {
            "eof" => {}
            "int" => client.server.signal(2),
            _ => client.server.signal(15),
        }
        if how == "eof" {
            client.leave().ok();
        } else {
            client.server.wait().ok();
        }
        house.nothing_is_left();
        let rows = records(&house);
        assert!(rows.len() == 3 && rows.iter().all(|row| row["status"] == "cancelled"), "{how}: {rows:#?}");
        assert_eq!(
            house.log().iter().filter(|line| line.starts_with('+')).count(),
            2,
            "{how}: what waited never began"
        );
    }
}

#[test]
fn a_server_that_is_killed_leaves_no_worker_and_its_tasks_are_told_as_what_they_are() {
    let house = House::with(&["glm"]);
    house.limit("glm", 1);
    let mut client = Client::ready(&house.world);
    client.begin("dispatch_task", &json!({"title": "ran", "prompt": "#hang"}));
    begun(&house, 1);
    client.begin("dispatch_task", &json!({"title": "waited", "prompt": "#say x"}));
    wait_until("both to be on record", || records(&house).len() == 2);
    client.server.kill();
    // mo-spawn notices that its caller has gone.
    house.nothing_is_left();
    let rows = records(&house);
    let row = |title: &str| rows.iter().find(|row| row["title"] == title).expect("a row");
    assert_eq!(row("ran")["status"], "cancelled", "{rows:#?}");
    assert_eq!(row("waited")["state"], "lost", "it never began, and nobody is left to begin it: {rows:#?}");
}

#[test]
fn everything_killed_at_once_is_told_as_lost_and_nobody_is_signalled_by_number() {
    let house = House::with(&["glm"]);
    let mut client = Client::ready(&house.world);
    client.begin("dispatch_task", &json!({"title": "t", "prompt": "#hang"}));
    begun(&house, 1);
    let row = wait_for("its record", || records(&house).into_iter().find(|row| row["state"] == "running"));
    let id = row["id"].as_str().expect("an id").to_owned();
    house.world.power_cut();
    house.nothing_is_left();
    let rows = records(&house);
    assert_eq!(rows[0]["state"], "lost", "{rows:#?}");
    // A process that was given the same number by chance is another one: the record's start time is not its own.
    let stranger = house.world.command("/bin/sleep").arg("600").spawn();
    let file = house
        .world
        .files()
        .into_iter()
        .find(|path| path.file_name().is_some_and(|name| *name == *format!("{id}.json")))
        .expect("its record");
    let mut record: Value = serde_json::from_slice(&house.world.bytes(&file)).expect("JSON");
    record["pid"] = json!(stranger.id());
    record["supervisor"]["pid"] = json!(stranger.id());
    record["status"] = json!("running");
    house.world.write(&file, record.to_string());
    let mut client = Client::ready(&house.world);
    assert_eq!(client.data("task_status", json!({"id": id}))["state"], "lost");
    client.call("task_cancel", json!({"id": id}));
    client.leave().ok();
    let mut stranger = stranger;
    assert!(stranger.is_alive(), "somebody else's process was signalled");
}

#[test]
fn two_sessions_share_the_workers_limits() {
    let house = House::with(&["glm", "kimi"]);
    house.limit("glm", 2);
    house.limit("kimi", 1);
    let tasks: Vec<Value> =
        (0..6).map(|number| json!({"title": format!("{number}"), "prompt": "#say x"})).collect();
    let mut sessions: Vec<Client> = (0..2).map(|_| Client::ready(&house.world)).collect();
    let calls: Vec<u64> =
        sessions.iter_mut().map(|client| client.begin("dispatch_tasks", &json!({"tasks": tasks}))).collect();
    for (client, call) in sessions.iter().zip(&calls) {
        let counts = client.result(*call)["structuredContent"]["counts"].clone();
        assert_eq!(counts, json!({"done": 6}));
    }
    assert!(house.most_at_once("glm") <= 2 && house.most_at_once("kimi") <= 1, "{:?}", house.log());
    for client in sessions {
        client.leave().ok();
    }
    house.nothing_is_left();
}
