//! `list_workers`: who there is, what each can do now, and what it may cost.

use jiff::Timestamp;
use serde_json::{Value, json};
use shared::dispatch_config::DispatchConfig;
use shared::flatten::flatten;
use shared::usage::{Freshness, Reading};
use tokio::time::Instant;

use crate::schedule::candidate::Wish;
use crate::schedule::choose::judge;
use crate::schedule::guards::Guards;
use crate::tools::{Call, Said};
use crate::work::leases::Leases;
use crate::work::picture::{self, Seen};
use crate::work::{run, spent};

/// Tells it; accounts of which nothing is known are asked first.
pub async fn run(call: Call) -> Said {
    let hub = &call.hub;
    let now = hub.world.clock.now();
    let look =
        || Leases::open(&hub.world.paths).and_then(|leases| picture::take(&hub.world.paths, &leases, now));
    let unknown: Vec<String> = match look() {
        Ok(seen) => {
            seen.iter().filter(|one| one.is_unknown(now)).map(|one| one.candidate.name.clone()).collect()
        }
        Err(error) => return Said::refused(&error.to_string()),
    };
    for name in &unknown {
        hub.state().asked.insert(name.clone(), Instant::now());
        run::usage(hub, name).await;
    }
    let seen = match look() {
        Ok(seen) => seen,
        Err(error) => return Said::refused(&error.to_string()),
    };
    let (config, mistake) = match DispatchConfig::load(&hub.world.paths) {
        Ok(config) => (config, None),
        Err(error) => (DispatchConfig::default(), Some(error.to_string())),
    };
    let guards = Guards::from(&config);
    let today = spent::today(hub, now);
    let rows: Vec<Value> = seen.iter().map(|one| row(one, guards, now)).collect();
    let mut text: String = seen.iter().map(|one| line(one, guards, now)).collect();
    if text.is_empty() {
        text.push_str("no workers: `mo-worker create` makes one\n");
    }
    let cap = config.daily_usd.map(|cap| format!(" of ${cap:.2}")).unwrap_or_default();
    text.push_str(&format!(
        "guards: frontier {}, overage {}; today cost ${today:.4}{cap}\n",
        config.frontier.name(),
        config.overage.name()
    ));
    if let Some(mistake) = &mistake {
        text.push_str(&format!("nothing is dispatched: {mistake}\n"));
    }
    let data = json!({
        "workers": rows,
        "guards": {"frontier": config.frontier.name(), "overage": config.overage.name()},
        "today_usd": today,
        "daily_usd": config.daily_usd,
        "mistake": mistake,
    });
    Said::new(data, text)
}

/// Why it would not be chosen now, where it would not.
fn why_not(seen: &Seen, guards: Guards, now: Timestamp) -> Option<String> {
    let wish = Wish::default();
    judge(&wish, &seen.candidate, guards, now).err().map(|reason| reason.to_string())
}

fn row(seen: &Seen, guards: Guards, now: Timestamp) -> Value {
    let one = &seen.candidate;
    let why_not = why_not(seen, guards, now);
    let mut row = json!({
        "name": one.name,
        "kind": one.kind.name(),
        "models": one.tiers.iter().map(|(tier, model)| (tier.name(), flatten(model, 120))).collect::<std::collections::BTreeMap<_, _>>(),
        "default_tier": one.default_tier.map(shared::tier::Tier::name),
        "preferred": one.preferred,
        "running": one.running,
        "max_parallel": one.limit,
        "eligible": why_not.is_none(),
        "checked": !one.unproven,
    });
    let mut add = |name: &str, value: Value| {
        if let Some(members) = row.as_object_mut().filter(|_| !value.is_null()) {
            members.insert(name.to_owned(), value);
        }
    };
    add("why_not", json!(why_not));
    add("cooling_until", json!(one.cooling_until.map(|at| at.to_string())));
    if let Some(reading) = &one.reading {
        add("usage", usage(reading, now));
    }
    row
}

fn usage(reading: &Reading, now: Timestamp) -> Value {
    let windows: Vec<Value> = reading
        .known(now)
        .map(|window| {
            json!({
                "name": window.name,
                "percent": window.percent,
                "resets_at": window.resets_at,
                "age_seconds": window.at.age(now),
                "stale": window.freshness(now) != Freshness::Fresh,
            })
        })
        .collect();
    json!({
        "plan": reading.plan,
        "windows": windows,
        "overage": reading.overage,
        "error": reading.error.as_deref().map(|error| flatten(error, 200)),
    })
}

fn line(seen: &Seen, guards: Guards, now: Timestamp) -> String {
    let one = &seen.candidate;
    let star = if one.preferred { " (preferred)" } else { "" };
    let models: Vec<String> =
        one.tiers.iter().map(|(tier, model)| format!("{tier}={}", flatten(model, 60))).collect();
    let limit = one.limit.map(|limit| format!(" of {limit}")).unwrap_or_default();
    let free = || {
        let unproven = if one.unproven { ", but no check proved it: `mo-worker check NAME`" } else { "" };
        format!("free{}", unproven.replace("NAME", &one.name))
    };
    let state = why_not(seen, guards, now).map_or_else(free, |why| format!("not now: {why}"));
    let mut line = format!(
        "{}{star} [{}] {}: runs {}{limit}; {state}\n",
        one.name,
        one.kind.name(),
        models.join(" "),
        one.running
    );
    for window in one.reading.iter().flat_map(|reading| reading.known(now)) {
        let percent = window.percent.map_or_else(|| "?".to_owned(), |percent| format!("{percent:.0}%"));
        let reset = window.resets_at.map(|at| format!(", resets {at}")).unwrap_or_default();
        let age = match window.freshness(now) {
            Freshness::Fresh => String::new(),
            _ => format!(", read {} s ago", window.at.age(now)),
        };
        line.push_str(&format!("  {} {percent}{reset}{age}\n", window.name));
    }
    if one.reading.as_ref().is_some_and(|reading| reading.overage.is_on()) {
        line.push_str("  work past the plan is billed\n");
    }
    line
}
