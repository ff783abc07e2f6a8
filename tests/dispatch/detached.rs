//! Tasks that outlive their session: nobody watches them, and they wait, move on and end as others do.

use serde_json::{Value, json};
use support::wait_until;

use crate::client::Client;
use crate::house::House;

fn begun(house: &House, count: usize) {
    wait_until("the workers to run", || {
        house.log().iter().filter(|line| line.starts_with('+')).count() == count
    });
}

fn detached(client: &mut Client, prompt: &str) -> (String, Value) {
    let said = client.data("dispatch_task", json!({"title": "t", "prompt": prompt, "detach": true}));
    assert_eq!(said["detached"], true, "{said:#}");
    (said["id"].as_str().expect("an id").to_owned(), said["status"].clone())
}

#[test]
fn a_detached_task_moves_on_when_its_session_has_long_gone() {
    let house = House::with(&["a", "b"]);
    house.world.write("quota", "a");
    let mut client = Client::ready(&house.world);
    let (id, status) = detached(&mut client, "#quota #gate open\n#say fine");
    assert_eq!(status, "running");
    let row = client.data("task_status", json!({"id": id}));
    assert_eq!((&row["state"], &row["worker"]), (&json!("adopted"), &json!("a")), "{row:#}");
    client.leave().ok();
    begun(&house, 1);
    house.open("open");
    let mut later = Client::ready(&house.world);
    // What the first came to is not its end, at no moment.
    let said = later.data("task_result", json!({"id": id, "wait": true}));
    assert_eq!(
        (&said["status"], &said["worker"], &said["report"]),
        (&json!("done"), &json!("b"), &json!("fine")),
        "{said:#}"
    );
    let attempts: Vec<_> = said["attempts"]
        .as_array()
        .expect("attempts")
        .iter()
        .map(|one| (&one["worker"], &one["status"]))
        .collect();
    assert_eq!(attempts, [(&json!("a"), &json!("quota")), (&json!("b"), &json!("done"))]);
    later.leave().ok();
    house.nothing_is_left();
}

#[test]
fn a_detached_task_that_waits_is_ended_from_another_session() {
    let house = House::with(&["glm"]);
    house.limit("glm", 1);
    let mut holder = Client::ready(&house.world);
    let busy = holder.begin("dispatch_task", &json!({"title": "busy", "prompt": "#gate open"}));
    begun(&house, 1);
    let mut client = Client::ready(&house.world);
    let (id, status) = detached(&mut client, "#say never");
    assert_eq!(status, "queued", "it waits for its place by itself");
    client.leave().ok();
    let mut later = Client::ready(&house.world);
    assert_eq!(later.data("task_status", json!({"id": id}))["state"], "queued");
    let ended = later.data("task_cancel", json!({"id": id}));
    assert_eq!(ended["tasks"][0]["status"], "cancelled", "{ended:#}");
    house.open("open");
    assert_eq!(holder.result(busy)["structuredContent"]["status"], "done");
    for client in [holder, later] {
        client.leave().ok();
    }
    house.nothing_is_left();
    assert_eq!(house.log().iter().filter(|line| line.starts_with('+')).count(), 1, "it never began");
}

#[test]
fn a_detached_task_that_cannot_begin_is_told_at_once() {
    let house = House::with(&["glm"]);
    let mut client = Client::ready(&house.world);
    for (member, value, why) in [("worker", "nobody", "there is no worker"), ("role", "no-such-role", "role")]
    {
        let task = json!({"title": "t", "prompt": "#say x", "detach": true, member: value});
        let said = client.data("dispatch_task", task);
        assert_eq!(said["status"], "failed", "{said:#}");
        assert!(said["error"]["text"].as_str().is_some_and(|text| text.contains(why)), "{said:#}");
    }
    client.leave().ok();
    house.nothing_is_left();
}

#[test]
fn a_detached_task_whose_holder_is_killed_leaves_no_worker() {
    let house = House::with(&["glm"]);
    let mut client = Client::ready(&house.world);
    let (id, _) = detached(&mut client, "#hang");
    begun(&house, 1);
    let holders = house.world.processes().into_iter().filter(|(_, line)| line.contains("mo-dispatch alone"));
    let pids: Vec<String> = holders.map(|(pid, _)| pid.to_string()).collect();
    assert_eq!(pids.len(), 1, "{:#?}", house.world.processes());
    std::process::Command::new("kill").arg("-KILL").args(&pids).output().expect("kill starts");
    wait_until("its worker to be ended", || {
        client.data("task_status", json!({"id": id}))["status"] == "cancelled"
    });
    client.leave().ok();
    house.nothing_is_left();
}
