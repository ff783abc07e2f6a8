//! What is kept between sessions: tasks that run stay in reach whatever is cleared, a workspace is one however
//! it is called, and a new session goes on where the last one left off.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};
use support::wait_until;

use crate::client::Client;
use crate::house::House;

fn begun(house: &House, count: usize) {
    wait_until("the workers to run", || {
        house.log().iter().filter(|line| line.starts_with('+')).count() == count
    });
}

/// Whether this file is the record of the task of this title.
fn is_of(house: &House, path: &Path, title: &str) -> bool {
    let is_record =
        path.extension().is_some_and(|end| end == "json") && path.starts_with(".claude-workers/.dispatch");
    is_record && house.world.read(path).contains(&format!("\"{title}\""))
}

fn titles(rows: &Value) -> Vec<String> {
    let rows = rows["tasks"].as_array().expect("tasks");
    rows.iter().map(|row| row["title"].as_str().expect("a title").to_owned()).collect()
}

#[test]
fn a_clear_forgets_what_has_ended_and_what_runs_stays_in_reach() {
    let house = House::with(&["glm"]);
    let mut client = Client::ready(&house.world);
    client.data("dispatch_task", json!({"title": "over", "prompt": "#say x"}));
    let call = client.begin("dispatch_task", &json!({"title": "at work", "prompt": "#hang"}));
    begun(&house, 2);
    // More than enough, so that nothing is kept for its number; and nothing for its age.
    let later = house.world.path(".claude-workers/.dispatch/2099-01");
    std::fs::create_dir(&later).expect("a month");
    for number in 0..5_000 {
        std::fs::write(later.join(format!("d-{number:026}.json")), "{}").expect("a record");
    }
    house.settings("{\"keep_days\": 1}");
    let files = house.world.files();
    let over = files.iter().find(|path| is_of(&house, path, "over")).expect("its record");
    let mut old: Value = serde_json::from_str(&house.world.read(over)).expect("JSON");
    old["ended_at"] = json!("2020-01-01T00:00:00.000Z");
    house.world.write(over, old.to_string());
    let clear = house.world.command(env!("CARGO_BIN_EXE_mo-spawn")).args(["ps", "--clear"]);
    clear.run().ok().stderr_has("forgot 1 dispatch");
    std::fs::remove_dir_all(&later).expect("it goes");
    let rename = house.world.command(env!("CARGO_BIN_EXE_mo-worker")).args(["rename", "glm", "other"]);
    rename.run().code(75);
    let rows = client.data("list_tasks", json!({}));
    assert_eq!(titles(&rows), ["at work"], "{rows:#}");
    assert_eq!(rows["tasks"][0]["state"], "running");
    client.data("task_cancel", json!({"id": rows["tasks"][0]["id"]}));
    assert_eq!(client.result(call)["structuredContent"]["status"], "cancelled");
    client.leave().ok();
    house.nothing_is_left();
}

#[test]
fn a_workspace_is_one_by_whatever_path_and_its_neighbour_is_another() {
    let house = House::with(&["glm"]);
    for directory in ["place", "place-two"] {
        std::fs::create_dir(house.world.path(directory)).expect("a directory");
    }
    symlink(house.world.path("place"), house.world.path("link")).expect("a link");
    let session = |directory: &str| {
        let run = house.world.command(env!("CARGO_BIN_EXE_mo-dispatch")).cwd(house.world.path(directory));
        let mut client = Client::of(run);
        client.greet();
        client
    };
    let (mut first, mut neighbour, mut linked) = (session("place"), session("place-two"), session("link"));
    let call = first.begin("dispatch_task", &json!({"title": "t", "prompt": "#hang"}));
    begun(&house, 1);
    assert_eq!(titles(&linked.data("list_tasks", json!({"state": "open"}))), ["t"]);
    // Its path begins with the same letters, and is another.
    assert!(titles(&neighbour.data("list_tasks", json!({}))).is_empty());
    assert_eq!(titles(&neighbour.data("list_tasks", json!({"scope": "all"}))), ["t"]);
    assert_eq!(neighbour.data("task_cancel", json!({"all": true}))["tasks"], json!([]));
    let ended = linked.data("task_cancel", json!({"all": true}));
    assert_eq!(ended["tasks"][0]["status"], "cancelled", "{ended:#}");
    assert_eq!(first.result(call)["structuredContent"]["status"], "cancelled");
    for client in [first, neighbour, linked] {
        client.leave().ok();
    }
    house.nothing_is_left();
}

#[test]
fn a_new_session_goes_on_where_the_last_one_left_off() {
    let house = House::with(&["a", "b", "c"]);
    let given: Vec<String> = (0..4)
        .map(|_| {
            let mut client = Client::ready(&house.world);
            let said = client.data("dispatch_task", json!({"title": "t", "prompt": "#say x"}));
            client.leave().ok();
            said["worker"].as_str().expect("a worker").to_owned()
        })
        .collect();
    assert_eq!(given, ["a", "b", "c", "a"], "each in turn, though every session is new");
}

#[test]
fn what_is_kept_of_a_task_is_for_its_owner_alone() {
    let house = House::with(&["glm"]);
    let mut client = Client::ready(&house.world);
    let task = json!({"title": "t", "prompt": "#say x", "system_prompt": "be short"});
    client.data("dispatch_task", task);
    client.leave().ok();
    let kept: Vec<_> = house
        .world
        .files()
        .into_iter()
        .filter(|path| path.starts_with(".claude-workers/.dispatch"))
        .collect();
    for kind in ["json", "prompt", "events", "task", "system"] {
        assert!(kept.iter().any(|path| path.extension().is_some_and(|end| end == kind)), "{kind}: {kept:?}");
    }
    for path in &kept {
        // Links show where a record is; what they lead to counts.
        assert_eq!(house.world.mode(path) & 0o077, 0, "{}", path.display());
    }
}
