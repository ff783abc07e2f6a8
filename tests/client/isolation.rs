//! Two workers at once: each key is seen at its own endpoint only, and nothing is mixed up.

use serde_json::json;
use support::Provider;

use crate::stage::{MODEL, Stage};

const KEYS: [&str; 2] = ["first1.secret-of-the-first", "second2.secret-of-the-second"];

#[test]
fn two_workers_at_once_send_each_key_to_its_own_endpoint() {
    let stage = Stage::new();
    let providers = KEYS.map(|key| Provider::setup().keys([key]).models([MODEL]).start());
    let names = ["one", "two"];
    for ((name, provider), key) in names.iter().zip(&providers).zip(KEYS) {
        stage.worker(name, provider, key);
    }
    let running = names.map(|name| {
        // Neither ends before both are at work.
        let meet = "touch met-$MO_WORKER; until [ -e met-one ] && [ -e met-two ]; do sleep 0.05; done; env";
        let prompt = format!("#bash {meet}\n#say done");
        stage.spawn(name).args(["-p", &prompt, "--permission-mode", "bypassPermissions"]).spawn()
    });
    for (place, process) in running.into_iter().enumerate() {
        process.wait().ok().stdout_is("done\n");
        let asked = providers[place].asked();
        assert!(asked.len() >= 2);
        assert!(asked.iter().all(|request| request.key.as_deref() == Some(KEYS[place])));
        // The other's key is nowhere in what this provider was sent, the worker's whole environment included.
        let other = KEYS[1 - place];
        for request in providers[place].requests() {
            assert!(!request.body.to_string().contains(other), "the other key reached {}", names[place]);
            assert!(!request.headers.iter().any(|(_, value)| value.contains(other)));
        }
    }
    let records = stage.records();
    assert_eq!(records.len(), 2);
    for record in &records {
        let place = usize::from(record["worker"] == "two");
        assert_eq!(
            record["usage"],
            json!({MODEL: stage.accounted(&providers[place].served())}),
            "{record:#}"
        );
        assert!(!KEYS.iter().any(|key| record.to_string().contains(key)));
    }
}
