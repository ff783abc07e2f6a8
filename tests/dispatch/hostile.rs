//! Workers whose Claude Code ends at once, hears nothing, or never stops talking: the server and the others go on.

use serde_json::{Value, json};

use crate::client::Client;
use crate::house::{House, MINIATURE};

/// What the three do instead of working.
const WRONG: &str = r"
case ${1-} in --version) echo '2.1.332 (Claude Code)'; exit;; esac
case $MO_WORKER in
gone) exit 3;;
deaf) exec <&-; sleep 0.3; exit 4;;
loud) head -c 52428800 /dev/zero | tr '\\0' 'x'; echo; exit 5;;
esac
";

#[test]
fn whatever_a_worker_does_the_others_and_the_server_go_on() {
    let house = House::with(&["deaf", "glm", "gone", "loud"]);
    house.world.fake("claude", &format!("{WRONG}{MINIATURE}"));
    let mut client = Client::ready(&house.world);
    let task = |worker: &str| {
        // More than a pipe holds: whoever does not read it breaks the pipe.
        let long = if worker == "glm" { String::new() } else { "long ".repeat(40_000) };
        json!({"title": worker, "worker": worker, "prompt": format!("#say fine\n{long}")})
    };
    let tasks: Vec<Value> = ["gone", "deaf", "loud", "glm", "gone", "glm"].map(task).into();
    let result = client.call("dispatch_tasks", json!({"tasks": tasks}));
    let ended = result["structuredContent"]["tasks"].as_array().expect("tasks");
    let told: Vec<_> = ended.iter().map(|task| (task["worker"].as_str(), task["status"].as_str())).collect();
    for (worker, status) in &told {
        let expected = if *worker == Some("glm") { "done" } else { "failed" };
        assert_eq!(*status, Some(expected), "{told:?}");
    }
    assert_eq!(told.len(), 6);
    let after =
        client.call("dispatch_task", json!({"title": "after", "worker": "glm", "prompt": "#say still here"}));
    assert_eq!(after["structuredContent"]["report"], "still here");
    client.leave().ok();
    house.nothing_is_left();
}
