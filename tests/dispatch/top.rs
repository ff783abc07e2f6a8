//! `mo-dispatch top`: what it tells, once and live, and how it leaves the terminal.

use serde_json::{Value, json};
use support::{Run, World, wait_until};

use crate::house::House;

fn top(world: &World, words: &[&str]) -> Run {
    world.command(env!("CARGO_BIN_EXE_mo-dispatch")).arg("top").args(words.iter().copied())
}

fn picture(world: &World) -> Value {
    top(world, &["--json"]).run().ok().json()
}

/// Now and so many seconds later, as it stands in files.
fn at(seconds: i64) -> String {
    let now = std::time::UNIX_EPOCH.elapsed().expect("a clock after 1970").as_secs();
    let then = jiff::Timestamp::from_second(now.cast_signed() + seconds).expect("a time");
    format!("{then:.3}")
}

/// An account whose plan is known, cooling or not.
fn account(house: &House, cooling: Option<&str>) {
    let world = &house.world;
    let worker = |words: &[&str]| world.command(env!("CARGO_BIN_EXE_mo-worker")).args(words).run().ok();
    worker(&["create", "work", "--account"]);
    worker(&["accounts", "on"]);
    let window = |name: &str, percent: f64, seen: i64| json!({"name": name, "model": name.strip_prefix("seven_day_"), "percent": percent, "resets_at": at(7200), "at": at(seen)});
    let cooling = cooling.map(|why| json!({"until": at(600), "why": why}));
    let known = json!({"version": 1, "worker": "work", "cooling": cooling, "reading": {"at": at(0), "overage": "enabled",
        "windows": [window("five_hour", 50.0, 0), window("seven_day_opus", 100.0, -900)]}});
    world.write(".claude-workers/.dispatch/usage/work.json", known.to_string());
}

#[test]
fn the_picture_holds_workers_plans_tasks_and_money() {
    let house = House::with(&["glm"]);
    account(&house, Some("quota\u{1b}[2J"));
    let spawn = house.world.command(env!("CARGO_BIN_EXE_mo-spawn"));
    let running =
        spawn.args(["glm", "--task", "-", "--title", "a title\u{1b}[2J\u{202e}"]).stdin("#hang").spawn();
    wait_until("the task to be told", || picture(&house.world)["tasks"][0]["turn"] == 1);
    let seen = picture(&house.world);
    let task = &seen["tasks"][0];
    assert_eq!(
        (&task["worker"], &task["status"], &task["title"]),
        (&json!("glm"), &json!("running"), &json!("a title [2J"))
    );
    let rows = seen["workers"].as_array().expect("workers");
    assert_eq!((&rows[0]["name"], &rows[0]["running"]), (&json!("glm"), &json!(1)), "{seen:#}");
    let work = &rows[1];
    assert_eq!(
        (&work["state"], &work["why"], &work["overage"]),
        (&json!("cooling"), &json!("quota [2J"), &json!("enabled"))
    );
    let windows: Vec<_> = work["windows"]
        .as_array()
        .expect("windows")
        .iter()
        .map(|one| (&one["label"], &one["stale"]))
        .collect();
    assert_eq!(windows, [(&json!("5 h"), &json!(false)), (&json!("7 d opus"), &json!(true))], "{work:#}");

    let page = top(&house.world, &[]).run().ok().text();
    for part in ["glm", "cooling", "######......", "50%", "in 2.0 h", "a title [2J", "today: $0.00"] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(!page.contains('\u{1b}'), "{page}");

    running.kill();
    wait_until("the record to be lost or closed", || {
        let tasks = picture(&house.world);
        tasks["tasks"].as_array().is_none_or(|tasks| tasks.iter().all(|task| task["status"] == "lost"))
    });
}

#[test]
fn a_live_page_follows_and_leaves_the_terminal_as_it_was() {
    let program = env!("CARGO_BIN_EXE_mo-dispatch");
    let command = format!("stty -a > before; '{program}' top; echo code $?; stty -a > after");
    for key in ["q", "\u{3}"] {
        let house = House::with(&["glm"]);
        let world = &house.world;
        let words = if cfg!(target_os = "linux") {
            ["-qfec", &command, "/dev/null"].map(str::to_owned).to_vec()
        } else {
            ["-q", "/dev/null", "/bin/sh", "-c", &command].map(str::to_owned).to_vec()
        };
        let mut running = world.command("script").args(words).var("TERM", "xterm").stdin_held_open().spawn();
        running.wait_for_stdout("q ends");
        account(&house, None);
        running.wait_for_stdout("overage ON");
        running.write(key.as_bytes());
        let text = running.wait().ok().stdout_has("code 0").text();
        let (entered, left) = (text.find("\u{1b}[?1049h"), text.rfind("\u{1b}[?1049l"));
        assert!(entered.is_some() && entered < left && text.rfind("\u{1b}[?25h") > text.rfind("\u{1b}[?25l"));
        assert_eq!(world.read("before"), world.read("after"));
    }
}

#[test]
fn without_anything_it_says_what_to_do() {
    let world = World::new();
    top(&world, &[]).run().ok().stdout_has("no workers yet").stdout_has("nothing is at work");
    top(&world, &["--jsno"]).run().code(64);
}
