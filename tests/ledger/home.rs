//! A home to count in: the library's world over a directory, and what the ledger says of it as JSON.

use serde_json::{Value, json};
use shared::clock::Clock;
use shared::env::Env;
use shared::ledger::publish::{self, Published, Sum};
use shared::ledger::usage::Total;
use shared::ledger::{Budget, Ledger, Outcome, update};
use shared::paths::Paths;
use shared::say::Say;
use shared::terminal::Terminal;
use shared::world::World;
use std::collections::BTreeMap;
use std::path::Path;

/// The library's view of a home directory.
pub fn world(home: &Path) -> World {
    let home = home.to_str().expect("a home that is text");
    let env: Env =
        [("HOME", home), ("MODEL_ORCHESTRATION_NOW", "2026-12-01T12:00:00Z")].into_iter().collect();
    World {
        clock: Clock::of(&env).expect("a clock"),
        paths: Paths::of(&env),
        terminal: Terminal::detect(),
        say: Say::new("test"),
        env,
    }
}

/// Brings a home's ledger up to date.
pub fn updated(world: &World) -> Outcome {
    let outcome = update(world, &Budget::WHOLE).expect("an update");
    assert!(!outcome.busy, "nobody else holds the lock");
    outcome
}

/// All that is counted, added up from the facts one by one.
pub fn counted(world: &World) -> Value {
    let ledger = Ledger::open(world).expect("a ledger");
    let mut totals = Total::default();
    let mut no_id = Total::default();
    let mut by: BTreeMap<&str, BTreeMap<String, Total>> = BTreeMap::new();
    for fact in ledger.facts() {
        let fact = fact.expect("a whole record");
        if fact.without_id {
            no_id.add(fact.usage);
            continue;
        }
        totals.add(fact.usage);
        let day = fact.at.div_euclid(86_400_000).to_string();
        for (name, key) in [
            ("by_session", &*fact.session),
            ("by_worker", &*fact.worker),
            ("by_model", &*fact.model),
            ("by_project", &*fact.project),
            ("by_day", day.as_str()),
            ("by_manager", fact.manager.as_deref().unwrap_or_default()),
        ] {
            by.entry(name).or_default().entry(key.to_owned()).or_default().add(fact.usage);
        }
    }
    assert_eq!(ledger.book().totals, totals, "the kept totals differ from the sum of the facts");
    assert_eq!(ledger.book().no_id, no_id);
    let workers = by.get("by_worker").cloned().unwrap_or_default();
    let kept =
        ledger.book().workers.keys().map(|worker| (worker.clone(), ledger.book().worker(worker))).collect();
    assert_eq!(workers, kept, "the kept workers differ from the sum of the facts");
    let mut all = json!({"totals": Sum::of(totals, None), "no_id": Sum::of(no_id, None)});
    for (name, sums) in by {
        all[name] = sums.into_iter().map(|(key, total)| (key, json!(total.usage.fresh()))).collect();
    }
    all
}

/// What hooks and the status line read.
pub fn published(world: &World) -> Published {
    publish::read(&world.paths.usage().expect("a root")).expect("ledger.json")
}
