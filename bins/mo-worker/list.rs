//! All workers, one a line; a broken one is named with its file and line and hides nothing.

use serde::Serialize;
use shared::error::Result;
use shared::exit::Exit;
use shared::flatten::flatten;
use shared::json_text;
use shared::roster::{self, Entry};
use shared::table;
use shared::worker::Worker;
use shared::world::World;

use crate::shown;
use crate::standing::Standing;

#[derive(Serialize)]
struct Document {
    version: u32,
    workers: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    state: &'static str,
    kind: Option<&'static str>,
    preferred: bool,
    plan: Option<String>,
    preset: Option<String>,
    base_url: Option<String>,
    default_tier: Option<&'static str>,
    tiers: std::collections::BTreeMap<&'static str, String>,
    last_good_check: Option<String>,
    error: Option<String>,
}

/// Prints the list.
pub fn run(world: &World, json: bool) -> Result<Exit> {
    let roster = roster::read(&world.paths)?;
    let workers: Vec<_> = roster.iter().map(|entry| entry.worker.as_ref().ok()).collect();
    let standings = Standing::of_all(world, &workers);
    let told = || roster.iter().zip(&standings);
    if json {
        let workers = told().map(|(entry, standing)| row(entry, standing)).collect();
        world.say.line(&json_text::pretty(&Document { version: 1, workers })?)?;
        return Ok(Exit::Done);
    }
    if roster.is_empty() {
        world.say.note("there are no workers yet");
        world.say.hint("`mo-worker create glm --preset zai` makes one; `mo-preset list` shows the providers");
        return Ok(Exit::Done);
    }
    let mut rows = vec![["NAME", "STATE", "ENDPOINT", "TIERS (* default)"].map(str::to_owned).to_vec()];
    rows.extend(told().map(|(entry, standing)| match &entry.worker {
        Ok(worker) => {
            vec![entry.name.clone(), standing.text(worker), shown::endpoint(worker), shown::tiers(worker)]
        }
        Err(error) => vec![flatten(&entry.name, 64), "broken".to_owned(), flatten(&error.to_string(), 200)],
    }));
    world.say.out(&table::columns(&rows, world.colour()))?;
    Ok(Exit::Done)
}

fn row(entry: &Entry, standing: &Standing) -> Row {
    let worker = entry.worker.as_ref();
    let of = |pick: fn(&Worker) -> Option<String>| worker.ok().and_then(pick);
    Row {
        name: entry.name.clone(),
        state: worker.map_or("broken", |worker| standing.word(worker)),
        kind: worker.ok().map(|worker| worker.profile.kind.name()),
        preferred: worker.is_ok_and(|worker| worker.profile.preferred),
        plan: match standing {
            Standing::Account(login) => login.plan.clone(),
            _ => None,
        },
        preset: of(|worker| worker.profile.preset.clone()),
        base_url: of(|worker| worker.base_url().map(str::to_owned)),
        default_tier: worker
            .ok()
            .and_then(|worker| worker.profile.default_tier)
            .map(shared::tier::Tier::name),
        tiers: worker
            .map(|worker| {
                worker
                    .profile
                    .tiers
                    .iter()
                    .map(|(tier, mapped)| (tier.name(), mapped.model.clone()))
                    .collect()
            })
            .unwrap_or_default(),
        last_good_check: of(|worker| match worker.state() {
            shared::worker::State::Live(at) => Some(at),
            _ => None,
        }),
        error: worker.err().map(ToString::to_string),
    }
}
