//! Two hundred tasks through eight workers, with failures of every kind: each ends exactly once, nobody is above its
//! limit, nothing is left.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::client::Client;
use crate::house::House;

#[test]
fn two_hundred_tasks_through_eight_workers_each_end_exactly_once() {
    let names = ["w0", "w1", "w2", "w3", "w4", "w5", "w6", "w7"];
    let house = House::with(&names);
    for (number, name) in names.iter().enumerate() {
        house.limit(name, 1 + (number as u32) % 4);
    }
    let mut client = Client::ready(&house.world);
    // A mixture that is the same every time, and has no pattern that the order of the workers would meet.
    let mut seed = 0x2545_f491_u32;
    let mut roll = || {
        seed ^= seed << 13;
        seed ^= seed >> 17;
        seed ^= seed << 5;
        seed % 10
    };
    let mut wanted: BTreeMap<&str, usize> = BTreeMap::new();
    let mut calls = Vec::new();
    for _ in 0..8 {
        let tasks: Vec<Value> = (0..25)
            .map(|number| {
                let (prompt, status) = match roll() {
                    0 => ("#exit", "failed"),
                    1 => ("#crash", "failed"),
                    _ => ("#say fine", "done"),
                };
                *wanted.entry(status).or_default() += 1;
                json!({"title": format!("t{number}"), "prompt": prompt})
            })
            .collect();
        calls.push(client.begin("dispatch_tasks", &json!({"tasks": tasks, "max_parallel": 32})));
    }
    let mut ids = BTreeSet::new();
    let mut ended: BTreeMap<String, usize> = BTreeMap::new();
    for call in calls {
        let result = client.result(call);
        let tasks = result["structuredContent"]["tasks"].as_array().expect("tasks").clone();
        assert_eq!(tasks.len(), 25);
        for task in tasks {
            assert!(ids.insert(task["id"].as_str().expect("an id").to_owned()), "ended twice: {task}");
            *ended.entry(task["status"].as_str().expect("a status").to_owned()).or_default() += 1;
        }
    }
    assert_eq!(ids.len(), 200);
    let wanted: BTreeMap<String, usize> =
        wanted.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
    assert_eq!(ended, wanted);
    for (number, name) in names.iter().enumerate() {
        let most = house.most_at_once(name);
        assert!((1..=1 + number % 4).contains(&most), "{name}: {most}");
    }
    assert_eq!(house.log().iter().filter(|line| line.starts_with('+')).count(), 200, "each ran once");
    client.leave().ok();
    house.nothing_is_left();
}
