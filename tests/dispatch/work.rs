//! Tasks at work: given to workers, followed, steered, ended.

use serde_json::{Value, json};
use support::{wait_for, wait_until};

use crate::client::Client;
use crate::house::House;

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text")
}

#[test]
fn a_task_brings_its_words_as_data_and_as_text() {
    let house = House::with(&["glm"]);
    let mut client = Client::ready(&house.world);
    let result = client.call("dispatch_task", json!({"title": "t\u{1b}[2J", "prompt": "#say all good"}));
    let data = &result["structuredContent"];
    assert_eq!((&data["status"], &data["worker"]), (&json!("done"), &json!("glm")), "{result:#}");
    assert_eq!((&data["report"], &data["title"]), (&json!("all good"), &json!("t [2J")));
    assert_eq!(data["fresh_tokens"], 15, "{data:#}");
    assert_eq!(result["isError"], false);
    assert!(text(&result).contains("all good") && text(&result).contains("done by glm"), "{}", text(&result));
    let id = data["id"].as_str().expect("an id");
    let record: Value =
        serde_json::from_slice(&std::fs::read(data["record"].as_str().expect("a path")).expect("it"))
            .expect("JSON");
    assert_eq!((&record["id"], &record["tool_use_id"]), (&json!(id), &json!("toolu_2")), "{record:#}");
    assert_eq!(client.data("task_status", json!({"id": id}))["state"], "ended");
    assert_eq!(client.data("task_result", json!({"id": id}))["report"], "all good");
    client.leave().ok();
    house.nothing_is_left();
}

#[test]
fn a_batch_spreads_and_one_failure_is_not_all() {
    let house = House::with(&["one", "three", "two"]);
    house.set("one", "preferred", "true");
    let mut client = Client::ready(&house.world);
    let tasks: Vec<Value> = (0..6)
        .map(|number| {
            let prompt =
                if number == 3 { "#exit".to_owned() } else { format!("#gate open\n#say task {number}") };
            json!({"title": format!("task {number}"), "prompt": prompt})
        })
        .collect();
    let id = client.begin("dispatch_tasks", &json!({"tasks": tasks}));
    wait_until("all to have begun", || house.log().iter().filter(|line| line.starts_with('+')).count() == 6);
    // What has ended is told while the others work.
    wait_until("the first end to be told", || {
        let told = client.progress(id);
        told.iter().any(|line| line.contains("1 of 6 ended") && line.contains("task 3: failed"))
    });
    house.open("open");
    let result = client.result(id);
    let data = &result["structuredContent"];
    assert_eq!(data["counts"], json!({"done": 5, "failed": 1}), "{result:#}");
    assert_eq!(result["isError"], false, "five went well");
    for worker in ["one", "two", "three"] {
        let given = house.log().iter().filter(|line| line.starts_with(&format!("+ {worker} "))).count();
        assert_eq!(given, 2, "{worker}: {:?}", house.log());
    }
    let told = client.progress(id);
    assert!(told.first().is_some_and(|line| line.contains("0 of 6 ended")), "{told:?}");
    let tasks = data["tasks"].as_array().expect("tasks");
    assert_eq!(tasks[4]["report"], "task 4", "in the order in which they were asked for");
    assert!(tasks[3]["error"]["text"].as_str().is_some_and(|why| !why.is_empty()), "{}", tasks[3]);
    client.leave().ok();
    house.nothing_is_left();
}

#[test]
fn a_model_that_no_worker_has_is_refused_by_its_name() {
    let house = House::with(&["glm"]);
    let mut client = Client::ready(&house.world);
    let said =
        client.data("dispatch_task", json!({"title": "t", "prompt": "#say x", "model": "claude-nobody-1"}));
    assert_eq!(
        (&said["status"], &said["error"]["kind"]),
        (&json!("failed"), &json!("no-worker")),
        "{said:#}"
    );
    let why = said["error"]["text"].as_str().expect("a reason");
    assert!(why.contains("does not know the model claude-nobody-1"), "{why}");
    client.leave().ok();
    assert!(house.log().is_empty(), "nothing ran with another");
}

#[test]
fn a_task_waits_for_others_and_for_a_place() {
    let house = House::with(&["glm"]);
    house.limit("glm", 1);
    let mut client = Client::ready(&house.world);
    let tasks = json!([
        {"title": "last", "prompt": "#say third", "after": ["#2", "#3"]},
        {"title": "first", "prompt": "#gate open\n#say first"},
        {"title": "second", "prompt": "#say second"},
        {"title": "never", "prompt": "#say never", "after": ["#5"]},
        {"title": "breaks", "prompt": "#exit"},
    ]);
    let id = client.begin("dispatch_tasks", &json!({"tasks": tasks}));
    wait_until("the first to run", || !house.log().is_empty());
    let open = client.data("list_tasks", json!({"state": "open"}));
    let rows = open["tasks"].as_array().expect("tasks");
    assert_eq!(rows.len(), 5, "{open:#}");
    let row = |title: &str| rows.iter().find(|row| row["title"] == title).expect("a row");
    assert_eq!(row("first")["state"], "running", "{open:#}");
    assert!(row("second")["now"].as_str().is_some_and(|why| why.contains("at its limit of 1")), "{open:#}");
    assert!(row("last")["now"].as_str().is_some_and(|why| why.contains("waits for d-")), "{open:#}");
    house.open("open");
    let data = client.result(id)["structuredContent"].clone();
    assert_eq!(data["counts"], json!({"done": 3, "cancelled": 1, "failed": 1}), "{data:#}");
    assert_eq!(data["tasks"][3]["error"]["kind"], "after");
    assert_eq!(house.most_at_once("glm"), 1);
    let ended = |at: usize| -> String {
        let path = data["tasks"][at]["record"].as_str().expect("a path");
        let record: Value = serde_json::from_slice(&std::fs::read(path).expect("it")).expect("JSON");
        record["ended_at"].as_str().expect("a time").to_owned()
    };
    assert!(ended(1) <= ended(2) && ended(2) <= ended(0), "in their order");
    client.leave().ok();
    house.nothing_is_left();
}

#[test]
fn a_cancelled_call_ends_its_workers_and_only_them() {
    let house = House::with(&["glm"]);
    let mut client = Client::ready(&house.world);
    let kept = client.begin("dispatch_task", &json!({"title": "kept", "prompt": "#gate open\n#say kept"}));
    let gone = client.begin(
        "dispatch_tasks",
        &json!({"tasks": [{"title": "a", "prompt": "#hang"}, {"title": "b", "prompt": "#hang"}], "max_parallel": 1}),
    );
    wait_until("two to run", || house.log().iter().filter(|line| line.starts_with('+')).count() == 2);
    client.cancel(gone);
    wait_until("one to be stopped", || house.log().iter().filter(|line| line.starts_with('-')).count() == 1);
    let rows = wait_for("both to be cancelled", || {
        let listed = client.data("list_tasks", json!({"state": "ended"}));
        listed["tasks"].as_array().filter(|rows| rows.len() == 2).cloned()
    });
    assert!(rows.iter().all(|row| row["status"] == "cancelled"), "{rows:#?}");
    assert!(client.answered(gone).is_none(), "a cancelled request gets no answer");
    house.open("open");
    assert_eq!(client.result(kept)["structuredContent"]["report"], "kept");
    client.leave().ok();
    house.nothing_is_left();
}

#[test]
fn task_cancel_waits_for_the_end_and_all_means_this_workspace() {
    let house = House::with(&["glm"]);
    let mut client = Client::ready(&house.world);
    let calls: Vec<u64> = (0..3)
        .map(|number| {
            client.begin("dispatch_task", &json!({"title": format!("t{number}"), "prompt": "#hang"}))
        })
        .collect();
    wait_until("three to run", || house.log().len() == 3);
    let rows = client.data("list_tasks", json!({"state": "open"}));
    let id = rows["tasks"][0]["id"].as_str().expect("an id").to_owned();
    let one = client.call("task_cancel", json!({"id": id}));
    assert_eq!(one["structuredContent"]["tasks"][0]["status"], "cancelled", "{one:#}");
    assert_eq!(house.log().iter().filter(|line| line.starts_with('-')).count(), 1, "it is waited for");
    let all = client.data("task_cancel", json!({"all": true}));
    assert_eq!(all["tasks"].as_array().map(Vec::len), Some(2), "{all:#}");
    for call in calls {
        let result = client.result(call);
        assert_eq!(
            (&result["isError"], &result["structuredContent"]["status"]),
            (&json!(true), &json!("cancelled"))
        );
    }
    let again = client.data("task_cancel", json!({"all": true}));
    assert_eq!(again["tasks"], json!([]));
    client.leave().ok();
    house.nothing_is_left();
}

#[test]
fn a_running_worker_takes_messages_and_is_heard() {
    let house = House::with(&["glm"]);
    let mut client = Client::ready(&house.world);
    let call = client.begin("dispatch_task", &json!({"title": "t", "prompt": "#gate open\n#say first"}));
    let messages = wait_for("a word of the worker", || {
        let said = client.data("task_messages", json!({}));
        said["messages"].as_array().filter(|messages| !messages.is_empty()).cloned()
    });
    assert_eq!(
        (&messages[0]["from"], &messages[0]["text"]),
        (&json!("worker"), &json!("waiting")),
        "{messages:#?}"
    );
    let id = messages[0]["id"].as_str().expect("an id").to_owned();
    let status = client.data("task_status", json!({"id": id}));
    assert_eq!((&status["state"], &status["worker"]), (&json!("running"), &json!("glm")), "{status:#}");
    let told = client.begin("task_message", &json!({"id": id, "text": "#say second"}));
    // It ends its turn when it has heard it and not before: the message has to be on its way first.
    wait_until("the message to be taken", || {
        let said = client.data("task_messages", json!({}));
        said["messages"].as_array().is_some_and(|all| all.iter().any(|one| one["from"] == "caller"))
    });
    house.open("open");
    let told = client.result(told);
    assert_eq!(
        (&told["isError"], &told["structuredContent"]["delivered"]),
        (&json!(false), &json!(true)),
        "{told:#}"
    );
    assert_eq!(client.result(call)["structuredContent"]["report"], "second");
    let late = client.call("task_message", json!({"id": id, "text": "x"}));
    assert!(text(&late).contains("has ended"), "{late:#}");
    client.leave().ok();
    house.nothing_is_left();
}
