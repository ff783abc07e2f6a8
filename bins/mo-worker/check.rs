//! Proves a worker live: one real answer per mapped tier, through mo-spawn, in the worker's own environment.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use shared::api_error::Trouble;
use shared::args::{Flag, Matches};
use shared::clock::rfc3339;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::lock::{self, Lock};
use shared::name::Name;
use shared::redact::{redact, typed as typed_shown};
use shared::secret::Secret;
use shared::tier::Tier;
use shared::worker::{Check, Key, Mapped, Profile, TierCheck, Worker};
use shared::world::World;
use shared::{accounts, child_env, claude, json_text};

use crate::cancel::Cancel;
use crate::round_trip::{self, Answer};
use crate::{endpoint, login, reply, seed};

/// The flags of `check`.
pub const FLAGS: &[Flag] = &[
    Flag { long: "timeout", value: "SECONDS", about: "the longest a tier may take (default 120)" },
    Flag { long: "json", value: "", about: "as one JSON document" },
];

/// A local model that is not loaded yet takes this long.
const PATIENCE: u64 = 120;

/// Checks the worker and stores the result.
pub fn run(world: &World, name: &Name, matches: &Matches) -> Result<Exit> {
    let patience = matches.value("timeout").map_or(Ok(PATIENCE), seconds).map(Duration::from_secs)?;
    let worker = Worker::load(&world.paths, name)?;
    if matches!(worker.key(), Key::Missing) {
        return Err(Error::new(Exit::Key, format!("worker `{name}` has no key"))
            .hint(format!("store it with `mo-key {name}`")));
    }
    refuse_nesting(world)?;
    accounts::refuse(&world.paths, &worker)?;
    login::refuse_out(world, &worker)?;
    seed(world, &worker)?;
    let program = claude::find(world)?;
    let version = version(&program)?;
    let cancel = Cancel::watch()?;
    let detour = worker.base_url().and_then(endpoint::detour);
    let mut answers = BTreeMap::new();
    for (tier, mapped) in tiers(&worker)? {
        cancel.refuse()?;
        if let Some(words) = &detour {
            answers.insert(tier, (mapped, Answer::Detour(words.clone()), Duration::ZERO));
            continue;
        }
        if world.terminal.stderr {
            world.say.note(&format!("{name}: asking {tier} ({}) …", mapped.model));
        }
        let start = Instant::now();
        let answer = round_trip::ask(world, &worker, tier, patience, &cancel)?;
        answers.insert(tier, (mapped, answer, start.elapsed()));
    }
    let check = Check {
        at: rfc3339(world.clock.now()),
        claude_version: Some(version),
        base_url: worker.base_url().map(str::to_owned),
        tiers: answers
            .iter()
            .map(|(tier, (mapped, answer, took))| (*tier, entry(mapped, answer, *took)))
            .collect(),
    };
    cancel.refuse()?;
    store(world, name, &check)?;
    if matches.has("json") {
        world.say.line(&json_text::pretty(&check)?)?;
    } else {
        tell(world, &worker, &program, &answers)?;
    }
    Ok(answers.values().find_map(|(_, answer, _)| answer.exit()).unwrap_or(Exit::Done))
}

fn refuse_nesting(world: &World) -> Result<()> {
    if child_env::depth(&world.env) == 0 {
        return Ok(());
    }
    Err(Error::new(
        Exit::CouldNot,
        "this is already inside a worker: workers start no workers, not even to check one",
    )
    .hint("check it from your own session or terminal"))
}

fn seed(world: &World, worker: &Worker) -> Result<()> {
    // An account's directory is Claude Code's own.
    if worker.is_account() {
        return Ok(());
    }
    let _lock = Lock::acquire(&world.paths.workers_lock()?, lock::PATIENCE)?;
    seed::plant(worker.profile.config_dir.as_ref().unwrap_or(&worker.directory))
}

fn version(program: &Path) -> Result<String> {
    let answer = reply::of(program, "--version")?;
    claude::version_in(&answer).map(str::to_owned).ok_or_else(|| {
        Error::new(Exit::Config, "this does not say which version of Claude Code it is:").at(program)
    })
}

fn seconds(typed: &str) -> Result<u64> {
    typed.parse().ok().filter(|number| (1..=3600).contains(number)).ok_or_else(|| {
        Error::new(
            Exit::Usage,
            format!("--timeout `{}` is no number of seconds from 1 to 3600", typed_shown(typed)),
        )
    })
}

/// The tiers to ask: the mapped ones; an account has them all, and one answer proves it.
fn tiers(worker: &Worker) -> Result<Vec<(Tier, Mapped)>> {
    let tiers = &worker.profile.tiers;
    if !tiers.is_empty() {
        return Ok(tiers.iter().map(|(tier, mapped)| (*tier, mapped.clone())).collect());
    }
    if worker.is_account() {
        let tier = worker.profile.default_tier.unwrap_or(Tier::Sonnet);
        return Ok(vec![(tier, Mapped { model: tier.name().to_owned(), ..Mapped::default() })]);
    }
    Err(Error::new(Exit::Config, format!("worker `{}` has no model for any tier", worker.name))
        .hint("set ANTHROPIC_DEFAULT_SONNET_MODEL in its settings.json"))
}

fn entry(mapped: &Mapped, answer: &Answer, took: Duration) -> TierCheck {
    TierCheck {
        ok: matches!(answer, Answer::Right),
        kind: answer.kind().to_owned(),
        model: mapped.model.clone(),
        ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    }
}

/// The profile may have changed meanwhile: only the check is put in.
fn store(world: &World, name: &Name, check: &Check) -> Result<()> {
    let _lock = Lock::acquire(&world.paths.workers_lock()?, lock::PATIENCE)?;
    let worker = Worker::load(&world.paths, name)?;
    let profile =
        Profile { version: 1, name: name.to_string(), last_check: Some(check.clone()), ..worker.profile };
    profile.write(&worker.directory)
}

fn tell(
    world: &World,
    worker: &Worker,
    program: &Path,
    answers: &BTreeMap<Tier, (Mapped, Answer, Duration)>,
) -> Result<()> {
    let mut troubles: Vec<(Trouble, &str)> = Vec::new();
    let stored = match worker.key() {
        Key::Stored(key) => Some(key),
        _ => None,
    };
    for (tier, (mapped, answer, took)) in answers {
        let model = shared::flatten::flatten(&mapped.model, 80);
        let known = [mapped.model.as_str(), worker.base_url().unwrap_or_default()];
        let safe = |said: &str| redact(said, stored.as_ref().map(Secret::reveal), &known);
        world.say.line(&format!("{tier} ({model}): {} ({:.1} s)", answer.text(safe), took.as_secs_f64()))?;
        if let Answer::Refused(trouble, _) = answer
            && !troubles.iter().any(|(told, _)| told == trouble)
        {
            troubles.push((*trouble, &mapped.model));
        }
    }
    for (trouble, model) in troubles {
        world.say.hint(&trouble.what_next(worker.name.as_str(), Some(model)));
    }
    if answers.values().any(|(_, answer, _)| matches!(answer, Answer::Detour(_))) {
        world.say.hint(
            "Claude Code would follow, and may hand the key to that host: if you trust it, make the worker with the URL it sends to",
        );
    }
    if answers.values().any(|(_, answer, _)| matches!(answer, Answer::Silent(_))) {
        world.say.hint(&format!(
            "`{} --version` and `mo-worker doctor` show whether Claude Code is too old or broken",
            program.display()
        ));
    }
    Ok(())
}
